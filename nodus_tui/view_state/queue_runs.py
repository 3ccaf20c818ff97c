"""The runs that have not ended, by group: in line, going, and by what they wait for, each in order.

They are kept so with every event, so that whoever asks for the next ones need not look at all of them. An event is kept as it came, and
merged into its run when somebody asks for that run.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import Reason, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunStatus
from nodus_tui.statistics.queueing import GroupLoad, RunLoad
from nodus_tui.view_state.folding import run_after
from nodus_tui.view_state.group_load import Order, group_load, order_of, run_load
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.waiting import in_line, waits


class KnownRun:
    """A run, and what events told of it since it was last looked at."""

    __slots__ = ("_late", "_load", "_run", "order", "phase", "reason")

    def __init__(self, run: AgentRun) -> None:
        status = run_status(run)
        self._run = run
        self._late: dict[str, Any] = {}
        self._load: RunLoad | None = None
        self.order: Order = order_of(run)
        self.phase: RunPhase = status.phase
        self.reason: Reason | None = status.reason

    def take(self, event: Event) -> None:
        """One more change."""
        if event.metadata or event.spec:
            self._run = run_after(self.run, event) or self._run
            self.order = order_of(self._run)
        else:
            self._late.update(event.status)
        self._load = None
        phase = event.status.get("phase")
        if isinstance(phase, str):
            self.phase = RunPhase(phase)
        if "reason" in event.status:
            reason = event.status["reason"]
            self.reason = Reason(reason) if isinstance(reason, str) else None

    @property
    def run(self) -> AgentRun:
        """The run as it is now."""
        if self._late:
            known = run_status(self._run).to_document()
            self._run = self._run.model_copy(update={"status": AgentRunStatus.model_validate({**known, **self._late})})
            self._late = {}
        return self._run

    @property
    def waits_for(self) -> str:
        """What it waits for, as far as runs that wait for the same are told together; empty for one that does not wait."""
        return f"{self.phase.value}/{self.reason or ''}" if waits(self.phase, self.reason) else ""

    def load(self, now: datetime) -> RunLoad:
        """What a forecast goes by."""
        if self.phase.going:
            return run_load(self.run, now)  # Its time in the slot grows.
        if self._load is None:
            self._load = run_load(self.run, now)
        return self._load


class GroupRuns:
    """The runs of one group that have not ended."""

    def __init__(self) -> None:
        self._runs: dict[str, KnownRun] = {}
        self._going: set[str] = set()
        self.line: list[Order] = []
        """Those that start by themselves, the next one first."""
        self.waiting: dict[str, list[Order]] = {}
        """Those that wait, by what they wait for, each in their order."""

    def __contains__(self, name: str) -> bool:
        return name in self._runs

    def run(self, name: str) -> AgentRun:
        """A run by its name. Raises KeyError for one that is not there."""
        return self._runs[name].run

    def put(self, runs: Iterable[AgentRun]) -> None:
        """Take these runs in."""
        for run in runs:
            self.remove(run.name)
            known = self._runs[run.name] = KnownRun(run)
            self._enter(known)

    def take(self, event: Event) -> None:
        """A change of a run that is here."""
        known = self._runs[event.name]
        if event.metadata or event.spec or "phase" in event.status or "reason" in event.status:
            self._leave(known)
            known.take(event)
            self._enter(known)
        else:
            known.take(event)

    def remove(self, name: str) -> None:
        """It has ended, or another attempt took its case over; an unknown one is no fault."""
        known = self._runs.pop(name, None)
        if known is not None:
            self._leave(known)

    def _lists(self, known: KnownRun) -> Sequence[list[Order]]:
        wanted = known.waits_for
        lists = [self.waiting.setdefault(wanted, [])] if wanted else []
        return [*lists, self.line] if in_line(known.phase, known.reason) else lists

    def _enter(self, known: KnownRun) -> None:
        for each in self._lists(known):
            insort(each, known.order)
        if known.phase.going:
            self._going.add(known.order[2])

    def _leave(self, known: KnownRun) -> None:
        for each in self._lists(known):
            del each[bisect_left(each, known.order)]
        self._going.discard(known.order[2])
        if (wanted := known.waits_for) and not self.waiting[wanted]:
            del self.waiting[wanted]

    def place_in_line(self, order: Order) -> int | None:
        """How many start before a run; None for one that is not in line."""
        place = bisect_left(self.line, order)
        return place if place < len(self.line) and self.line[place] == order else None

    def load(self, group: AgentGroup, now: datetime) -> GroupLoad:
        """What the group has to do."""
        going = [self._runs[name].load(now) for name in sorted(self._going)]
        return group_load(group, going, [self._runs[order[2]].load(now) for order in self.line])
