"""Notices: what happened that a person waits for, told once each. Events in, sentences out; it knows no screen and reads no clock.

It is folded after the states whose rows it looks at. What was so before the console opened is no news: only a summary of it is told.
"""

from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.view_state.any_job import AnyJob, job_status
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.figures import NOTHING, clock_text
from nodus_tui.view_state.notice_words import (
    Happening,
    Notice,
    away_text,
    budget_happening,
    burst_happening,
    group_happening,
    job_happening,
    sweep_happening,
)
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.sweeps import sweep_status
from nodus_tui.view_state.words import Sign

MOST_KEPT = 200
"""Notices that are kept to be read again; older ones are forgotten."""
BURST = 5
BURST_SPAN = timedelta(minutes=1)
"""So many infrastructure failures within such a time are told, once for as long as they go on."""
_AWAY = Sign("●", "Away", Tone.INFO)
_BY_WEIGHT = (Tone.BAD, Tone.WARN)
"""What is told first of several; the others follow in the order in which they came."""


def _time(notice: Notice, now: datetime) -> Line:
    return line(muted(("≤ " if notice.at_latest else "") + clock_text(notice.at, now))) if notice.at is not None else line(NOTHING)


NOTICE_COLUMNS: tuple[Column[Notice], ...] = (
    Column("at", "TIME", 12, _time, lambda notice: notice.number),
    Column("what", "WHAT HAPPENED", 40, lambda notice, _now: notice.line(), lambda notice: notice.number, grow=400),
)


class FailureBurst:
    """Infrastructure failures of the last minute, by the time at which each happened."""

    def __init__(self) -> None:
        self._failed: deque[tuple[datetime, str]] = deque()
        self._told = False

    def add(self, at: datetime, group: str) -> int:
        """Count one more; gives how many there are now where that is to be told, else 0."""
        while self._failed and at - self._failed[0][0] > BURST_SPAN:
            self._failed.popleft()
        if not self._failed:
            self._told = False
        self._failed.append((at, group))
        if self._told or len(self._failed) < BURST:
            return 0
        self._told = True
        return len(self._failed)

    def groups(self) -> tuple[str, ...]:
        """Whose they are, each once."""
        return tuple(dict.fromkeys(group for _, group in self._failed if group))


class NoticesState:
    """All notices of this console, and which of them nobody has seen yet."""

    def __init__(self, groups: Rows[AgentGroup], jobs: Rows[AnyJob], sweeps: Rows[Sweep], budgets: Rows[Budget]) -> None:
        self._groups, self._jobs, self._sweeps, self._budgets = groups, jobs, sweeps, budgets
        self.rows: Rows[Notice] = Rows(NOTICE_COLUMNS, sort="at", descending=True)
        self.cursor = -1
        self.loaded = False
        self.looked_at: datetime | None = None
        """When the snapshot was asked for that `load` is given: what became so while nobody listened did before that."""
        self.unread = 0
        """Told since the list of all was last looked at."""
        self._phases: dict[tuple[str, str], str] = {}
        self._thresholds: dict[str, tuple[datetime | None, tuple[int, ...]]] = {}
        self._burst = FailureBurst()
        self._untold: list[Notice] = []
        self._unrung: list[Notice] = []
        self._count = 0

    def begin_anew(self) -> None:
        """The backend shows another time now: what is so there is no news."""
        self.loaded = False

    def load(self, snapshot: Snapshot) -> None:
        """Take what the other states were just told; what became so while nobody listened is told as well, but for the first time."""
        before, self._phases = self._phases, {}
        thresholds, self._thresholds = self._thresholds, {}
        for group in snapshot.groups:
            self._see("AgentGroup", group.name, None, before)
        for job in (*snapshot.jobs, *snapshot.training_jobs):
            self._see(job.kind, job.name, None, before)
        for sweep in snapshot.sweeps:
            self._see("Sweep", sweep.name, None, before)
        for budget in snapshot.budgets:
            self._see_budget(budget, None, thresholds)
        self.cursor = snapshot.cursor
        self.loaded = True

    def fold(self, event: Event) -> bool:
        """Take one event, which the states of all kinds have been told before; says whether it is to be told."""
        if event.cursor <= self.cursor:
            return False
        count = self._count
        if event.kind == "AgentRun":
            if event.status.get("verdict") == Verdict.INFRASTRUCTURE_FAILURE.value:
                self._failed(event)
        elif event.kind == "Budget":
            budget = self._budgets.find(event.name)
            if budget is None:
                self._thresholds.pop(event.name, None)
            else:
                self._see_budget(budget, event.at, self._thresholds)
        elif event.kind in {"AgentGroup", "Job", "TrainingJob", "Sweep"}:
            if event.change == "Deleted":
                self._phases.pop((event.kind, event.name), None)
            else:
                self._see(event.kind, event.name, event.at, self._phases)
        return self._count != count

    def _see(self, kind: str, name: str, at: datetime | None, before: dict[tuple[str, str], str]) -> None:
        phase, happening = self._state_of(kind, name)
        known = before.get((kind, name))
        self._phases[kind, name] = phase
        if self.loaded and phase != known and happening is not None:
            self._add(happening, at, kind, name)

    def _state_of(self, kind: str, name: str) -> tuple[str, Happening | None]:
        group = self._groups.find(name) if kind == "AgentGroup" else None
        if group is not None:
            return status_of(group).phase, group_happening(group)
        sweep = self._sweeps.find(name) if kind == "Sweep" else None
        if sweep is not None:
            return sweep_status(sweep).phase, sweep_happening(sweep)
        job = self._jobs.find(name) if kind in {"Job", "TrainingJob"} else None
        return ("", None) if job is None else (job_status(job).phase, job_happening(job))

    def _see_budget(self, budget: Budget, at: datetime | None, before: dict[str, tuple[datetime | None, tuple[int, ...]]]) -> None:
        if budget.status is None:
            return
        period, told = before.get(budget.name, (None, ()))
        now = (budget.status.period_started_at, budget.status.thresholds_told)
        reached = [percent for percent in now[1] if percent not in told or period != now[0]]
        self._thresholds[budget.name] = now
        if self.loaded and reached:
            self._add(budget_happening(budget, reached[-1]), at, "Budget", budget.name)

    def _failed(self, event: Event) -> None:
        count = self._burst.add(event.at, event.group)
        if count:
            groups = self._burst.groups()
            about = ("AgentGroup", groups[-1]) if groups else ("", "")
            self._add(burst_happening(count, groups, str(event.status.get("message", ""))), event.at, *about)

    def _add(self, happening: Happening, at: datetime | None, kind: str = "", name: str = "") -> Notice:
        when = at or self.looked_at
        late = at is None and when is not None
        notice = Notice(self._count, when, happening.sign.glyph, happening.sign.tone, happening.text, kind, name, late)
        self._count += 1
        self.unread += 1
        self.rows.put(str(notice.number), notice)
        self.rows.remove(str(notice.number - MOST_KEPT))
        self._untold.append(notice)
        self._unrung.append(notice)
        return notice

    def answered(self, happening: Happening, at: datetime, kind: str = "", name: str = "", *, told: bool = False) -> None:
        """What a person asked for some time ago has come to its outcome. One that was `told` already is only kept to be read again."""
        notice = self._add(happening, at, kind, name)
        if told:
            self.unread -= 1
            self._untold.remove(notice)
            self._unrung.remove(notice)

    def was_away(self, since: datetime, now: datetime) -> None:
        """Tell in one line what ended between two visits of a person."""
        text = away_text(self._groups.items(), self._jobs.items(), self._sweeps.items(), since=since, now=now)
        if text:
            self._unrung.remove(self._add(Happening(_AWAY, text), now))

    # Telling

    @property
    def waits(self) -> bool:
        """Whether something is still to be told."""
        return bool(self._untold)

    def take_told(self, key: str) -> Line:
        """What is to be told now, once: the weightiest sentence, and how many there are beside it under which key."""
        untold, self._untold = _weightiest_first(self._untold), []
        if not untold:
            return ()
        others = Span(f"  {key} shows {len(untold) - 1:,} more", Tone.KEY, "do('notices')") if len(untold) > 1 else ""
        return line(*untold[0].line(), others)

    def take_ring(self) -> str:
        """What a terminal's bell or notification is to say, once; empty for nothing."""
        unrung, self._unrung = _weightiest_first(self._unrung), []
        if not unrung:
            return ""
        return unrung[0].text + (f" (and {len(unrung) - 1} more)" if len(unrung) > 1 else "")

    def read(self) -> None:
        """A person looks at all of them."""
        self.unread = 0
        self._untold = []

    def words(self, key: str) -> Line:
        """For the head of every view: how many are unread, and the key that shows them; nothing where none is."""
        return line(Span(key, Tone.KEY, "do('notices')"), Span(f" {self.unread} new", Tone.MARK, "do('notices')")) if self.unread else ()


def _weightiest_first(notices: Iterable[Notice]) -> list[Notice]:
    return sorted(notices, key=lambda each: _BY_WEIGHT.index(each.tone) if each.tone in _BY_WEIGHT else len(_BY_WEIGHT))
