"""The timeline of a group: a row for each run, with what it did when on one axis of the wall clock. Rows follow the group's own state."""

from collections.abc import Iterable
from datetime import datetime

from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.view_state.cells import Line, Span, joined, line, muted, plain, safe_line, strong
from nodus_tui.view_state.columns import UNIMPORTANT, Column
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.run_columns import run_status, searchable_run, task_line, verdict_line
from nodus_tui.view_state.run_story import STORY_SIGNS, end_sign, story, story_words
from nodus_tui.view_state.time_window import TimeWindow
from nodus_tui.view_state.words import run_sign

TIME_COLUMN = "time"
_LEAST_TIME, _WANTED_TIME = 24, 50
_GROWS = 1000


class TimeColumn(Column[AgentRun], frozen=True):
    """The column that is the timeline itself: it shows as much as it is wide."""

    window: TimeWindow | None = None

    def measured(self, item: AgentRun, now: datetime, width: int) -> tuple[Line, int]:
        """The run's story within the window, which takes all that there is."""
        return safe_line(self.window.cells(story(item, now), width, end_sign(item))) if self.window is not None else (), width


def _task(run: AgentRun) -> str:
    return plain(task_line(run))


def _task_cell(run: AgentRun, _now: datetime) -> Line:
    named, *mark = task_line(run)
    return (strong(named.text), *mark)


def _place(run: AgentRun) -> float:
    """By cases, and the attempts at each in their order."""
    return run.spec.case + run.spec.attempt / 1000


def _started(run: AgentRun) -> float | None:
    started = run_status(run).started_at
    return None if started is None else started.timestamp()


def timeline_columns(window: TimeWindow) -> tuple[Column[AgentRun], ...]:
    """Who, how it stands, and the timeline."""
    return (
        Column("case", "CASE", 5, lambda run, _now: line(muted(str(run.spec.case))), _place, right=True, priority=1),
        Column("task", "TASK", 12, _task_cell, _task, prefer=28, grow=60, least=12, middle=True),
        Column(
            "started",
            "STATE",
            13,
            lambda run, _now: run_sign(run_status(run).phase, run_status(run).reason).spans(),
            _started,
            priority=UNIMPORTANT,
        ),
        TimeColumn(
            TIME_COLUMN,
            "",
            _LEAST_TIME,
            lambda run, now: line(story_words(run, now)),
            _place,
            prefer=_WANTED_TIME,
            grow=_GROWS,
            figures=True,
            fills=True,
            window=window,
        ),
    )


class TimelineState:
    """The timeline of one group."""

    def __init__(self, group: GroupState) -> None:
        self.group = group
        self.window = TimeWindow()
        self.rows: Rows[AgentRun] = Rows(
            timeline_columns(self.window), sort="case", searchable=searchable_run, asks=("state", "verdict", "cost")
        )

    @property
    def loaded(self) -> bool:
        """Whether the runs are known."""
        return self.group.loaded

    def filter(self, chosen: Filter | None) -> None:
        """Show the runs that a filter keeps, or all."""
        self.rows.filter(chosen)

    def moving(self) -> bool:
        """Whether what goes grows with the time alone."""
        return self.group.moving() and any(not run_status(run).phase.ended for run in self.rows.items())

    def refresh(self) -> None:
        """Take what the group's state has become, earlier attempts included."""
        here = set()
        for run in self._runs():
            here.add(run.name)
            if self.rows.find(run.name) is not run:
                self.rows.put(run.name, run)
        for name in [name for name in self.rows.keys() if name not in here]:  # noqa: SIM118 - Rows is no dict
            self.rows.remove(name)

    def _runs(self) -> Iterable[AgentRun]:
        yield from self.group.current()
        yield from self.group.past.values()

    def settle(self, width: int, now: datetime) -> None:
        """Let the window show what it is to show, in so many cells."""
        first, last = None, None
        going = False
        for run in self.rows.items():
            status = run_status(run)
            going = going or not status.phase.ended
            first = status.created_at if first is None else min(first, status.created_at)
            if status.ended_at is not None:
                last = status.ended_at if last is None else max(last, status.ended_at)
        if first is not None:
            moving = going and self.group.moving()
            self.window.settle(first, now if moving else max(last or first, *self._rests(first)), width, going=moving)

    def _rests(self, first: datetime) -> tuple[datetime, ...]:
        """The last thing that is known of a group at rest."""
        return (first, *(run_status(run).stretches[-1].since for run in self.rows.items() if run_status(run).stretches))


def middle_of(run: AgentRun, now: datetime) -> datetime:
    """The middle of what a run did, its waiting for the start left out where it has started."""
    parts = story(run, now)
    at_work = parts[1:] or parts
    return at_work[0].begin + (at_work[-1].end - at_work[0].begin) / 2


def legend(width: int) -> Line:
    """What the signs mean; as many as fit, and all of them where the width is 80."""
    spans = joined([line(Span(f"{sign.glyph} {sign.word}", sign.tone)) for sign in STORY_SIGNS.values()], "  ")
    short = joined([line(Span(f"{sign.glyph}{sign.word}", sign.tone)) for sign in STORY_SIGNS.values()], " ")
    return spans if sum(len(span.text) for span in spans) <= width else short


def run_line(run: AgentRun, now: datetime) -> Line:
    """The selected run: how it ended, and how long it did what."""
    status = run_status(run)
    verdict = verdict_line(status) if status.phase.ended else run_sign(status.phase, status.reason).spans()
    return joined([line(strong(_task(run))), verdict, line(story_words(run, now)), line(muted(run.name))])
