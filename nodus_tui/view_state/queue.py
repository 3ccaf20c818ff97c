"""The queue: everything that waits, across groups, jobs, Sandboxes and sweeps, sorted by who is next.

Of runs it keeps those that have not ended. An event is kept as it came and merged when a row needs it; rows are made again only for groups
of which something was told, so that ten thousand waiting runs cost what the changes of their groups cost. Runs of one group that wait for
the same are told in one row behind the first few; that row unfolds.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunStatus
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.view_state.any_job import AnyJob
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.folding import run_after
from nodus_tui.view_state.group_load import StartOrder, in_order, line_of
from nodus_tui.view_state.queue_columns import QUEUE_COLUMNS, searchable_waiter
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.waiting import (
    UNKNOWN,
    Waiter,
    bundle_of,
    in_line,
    run_waits,
    waiter_of_box,
    waiter_of_group,
    waiter_of_job,
    waiter_of_run,
    waiter_of_sweep,
)

LOOK_SECONDS = 5.0
"""How often forecasts are made anew, at most: they are told to the minute."""
FOLD_FROM = 6
"""More runs of one group than that which wait for the same are told in one row."""
FOLD_SHOWN = 3
"""The first of them, which are told by themselves all the same."""

_OTHERS = frozenset({"AgentGroup", "Job", "TrainingJob", "Sandbox", "Sweep"})


class _KnownRun:
    """A run, and what events told of it since it was last looked at."""

    __slots__ = ("_late", "_run")

    def __init__(self, run: AgentRun) -> None:
        self._run = run
        self._late: dict[str, Any] = {}

    def take(self, event: Event) -> None:
        """One more change."""
        if event.metadata or event.spec:
            self._run = run_after(self.run, event) or self._run
        else:
            self._late.update(event.status)

    @property
    def run(self) -> AgentRun:
        """The run as it is now."""
        if self._late:
            known = run_status(self._run).to_document()
            self._run = self._run.model_copy(update={"status": AgentRunStatus.model_validate({**known, **self._late})})
            self._late = {}
        return self._run


class QueueState:
    """What waits. The rows of other kinds are those of their own views' states."""

    def __init__(self, groups: Rows[AgentGroup], jobs: Rows[AnyJob], boxes: Rows[Sandbox], sweeps: Rows[Sweep]) -> None:
        self.rows: Rows[Waiter] = Rows(QUEUE_COLUMNS, sort="until", searchable=searchable_waiter)
        self.loaded = False
        self.only_group = ""
        """The group that is shown alone; empty for all."""
        self.unfolded: set[str] = set()
        """Bundles that are told run by run."""
        self.reasons: Counter[str] = Counter()
        """How many wait for what, all that is shown counted."""
        self._groups, self._jobs, self._boxes, self._sweeps = groups, jobs, boxes, sweeps
        self._runs: dict[str, dict[str, _KnownRun]] = {}
        self._group_of: dict[str, str] = {}
        self._early: list[Event] = []
        self._lines: dict[str, StartOrder] = {}
        self._waiters: dict[str, list[Waiter]] = {}
        self._stale: set[str] = set()
        """Groups of which something was told since their rows were made."""
        self._stale_others = True
        self._looked_at: datetime | None = None

    # What is known

    def load(self, runs: Iterable[AgentRun]) -> None:
        """Take the runs that have not ended instead of those that were known, then the events that came meanwhile."""
        self._runs.clear()
        self._group_of.clear()
        self._lines.clear()
        self._waiters.clear()
        for run in runs:
            self._take(run)
        self.loaded, self._stale_others = True, True
        early, self._early = self._early, []
        for event in early:
            self.fold(event)

    def await_runs(self) -> None:
        """They are asked for (again): keep what comes meanwhile."""
        self.loaded = False

    def fold(self, event: Event) -> bool:
        """Take one event; says whether anything here may have changed."""
        if event.kind in _OTHERS:
            self._stale_others = True
            if event.kind == "AgentGroup":
                self._stale.add(event.name)
            return self.loaded
        if event.kind != "AgentRun":
            return False
        if not self.loaded:
            self._early.append(event)
            return False
        return self._fold_run(event)

    def _fold_run(self, event: Event) -> bool:
        known = self._known(event.name)
        if known is None:
            run = run_after(None, event)
            if run is None or run_status(run).phase.ended:
                return False
            self._take(run)
            return True
        group = self._group_of[event.name]
        self._stale.add(group)
        phase = event.status.get("phase")
        gone = event.change == "Deleted" or event.status.get("current") is False
        if gone or (isinstance(phase, str) and RunPhase(phase).ended):
            del self._runs[group][event.name], self._group_of[event.name]
        else:
            known.take(event)
        return True

    def _known(self, name: str) -> _KnownRun | None:
        group = self._group_of.get(name)
        return self._runs[group][name] if group is not None else None

    def _take(self, run: AgentRun) -> None:
        group = run.spec.group or ""
        self._runs.setdefault(group, {})[run.name] = _KnownRun(run)
        self._group_of[run.name] = group
        self._stale.add(group)

    def runs_of(self, group: str) -> list[AgentRun]:
        """The runs of a group that have not ended."""
        return [known.run for known in self._runs.get(group, {}).values()]

    # What is chosen

    def filter(self, chosen: Filter | None) -> None:
        """Show the rows that a filter keeps, or all."""
        self.rows.filter(chosen)

    def narrow(self, group: str) -> None:
        """Show one group alone, or all again."""
        self.only_group, self._stale_others = group, True

    def turn(self, bundle: str) -> None:
        """Tell a bundle run by run, or in one row again."""
        self.unfolded ^= {bundle}
        self._stale.update(group for group in self._runs if bundle.startswith(f"{group}/"))

    def turn_all(self) -> None:
        """Unfold every bundle, or fold all that are unfolded."""
        if self.unfolded:
            self.unfolded.clear()
        else:
            self.unfolded = {each.bundle for waiters in self._waiters.values() for each in waiters if each.is_bundle}
        self._stale.update(self._runs)

    # The rows

    def moving(self) -> bool:
        """Nothing in the rows changes with each second: moments are told by the clock, forecasts when they are due."""
        return False

    def due(self, now: datetime) -> bool:
        """Whether forecasts are to be looked at again, for what was expected may not have come."""
        if self._looked_at is None or now - self._looked_at < timedelta(seconds=LOOK_SECONDS):
            return False
        return any(each.end.kind == "Forecast" for waiters in self._waiters.values() for each in waiters)

    def refresh(self, now: datetime) -> None:
        """Make the rows of what changed, and of forecasts that are old."""
        if not self.loaded:
            return
        if self.due(now):
            self._stale.update(self._lines)
            self._looked_at = now
        self._looked_at = self._looked_at or now
        if not self._stale and not self._stale_others:
            return
        for group in self._stale:
            self._waiters[group] = self._waiters_of(group, now)
        self._stale.clear()
        self._stale_others = False
        self._put(self._wanted())

    def _waiters_of(self, name: str, now: datetime) -> list[Waiter]:
        group = self._groups.find(name)
        if group is None or status_of(group).phase is GroupPhase.INTERRUPTED:
            return []  # The group has a row of its own.
        runs = in_order(run for run in self.runs_of(name) if run_waits(run))
        line = self._line(group, now) if any(in_line(run) for run in runs) else None
        places = line.place_of() if line is not None else {}
        stalled = status_of(group).phase is GroupPhase.STALLED
        by_reason: dict[str, list[Waiter]] = {}
        for run in runs:
            bundle = f"{name}/{run_status(run).phase.value}/{run_status(run).reason or ''}"
            start = line.starts.get(run.name, UNKNOWN) if line is not None else None
            ahead = places.get(run.name)
            by_reason.setdefault(bundle, []).append(waiter_of_run(run, stalled=stalled, start=start, ahead=ahead, bundle=bundle))
        return [each for bundle, waiters in by_reason.items() for each in self._folded(bundle, waiters)]

    def _folded(self, bundle: str, waiters: list[Waiter]) -> Sequence[Waiter]:
        if len(waiters) <= FOLD_FROM or bundle in self.unfolded:
            return waiters
        return [*waiters[:FOLD_SHOWN], bundle_of(waiters, FOLD_SHOWN)]

    def _line(self, group: AgentGroup, now: datetime) -> StartOrder:
        """The forecast of a group, made anew where it is old or knows other runs."""
        runs = self.runs_of(group.name)
        known = self._lines.get(group.name)
        waiting = {run.name for run in runs if in_line(run)}
        if known is None or now - known.made_at >= timedelta(seconds=LOOK_SECONDS) or not waiting.issubset(known.order):
            known = self._lines[group.name] = line_of(group, runs, now)
        elif len(waiting) != len(known.order):
            left = tuple(name for name in known.order if name in waiting)
            known = self._lines[group.name] = StartOrder(left, known.starts, known.made_at)
        return known

    def _wanted(self) -> Iterable[Waiter]:
        for group in self._groups.items():
            if self.only_group in ("", group.name):
                row = waiter_of_group(group)
                yield from (row,) if row is not None else self._waiters.get(group.name, ())
        if not self.only_group:
            rows = (
                *map(waiter_of_job, self._jobs.items()),
                *map(waiter_of_box, self._boxes.items()),
                *map(waiter_of_sweep, self._sweeps.items()),
            )
            yield from (row for row in rows if row is not None)

    def _put(self, wanted: Iterable[Waiter]) -> None:
        self.reasons.clear()
        here = set()
        for waiter in wanted:
            here.add(waiter.key)
            self.reasons[waiter.wants] += waiter.count
            if self.rows.find(waiter.key) != waiter:
                self.rows.put(waiter.key, waiter)
        for key in [key for key in self.rows.keys() if key not in here]:  # noqa: SIM118 - Rows is no dict
            self.rows.remove(key)
