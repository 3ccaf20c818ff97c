"""The group view: progress by verdict, money, the pass rate with its coverage, and the table of runs."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.money import display_usd, nano_from_usd
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupStatus
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.statistics.queueing import forecast
from nodus_tui.view_state.campaigns import can_forecast, group_title, group_why, seconds_left, status_of
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, line_width, muted, strong
from nodus_tui.view_state.figures import clock_text, forecast_text, reward_text, short_usd
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.folding import group_after, run_after
from nodus_tui.view_state.group_load import load_of
from nodus_tui.view_state.group_pace import Pace, pace_forms
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.labelled_bars import LABEL, BarPart, LabelledBar, bar_lines
from nodus_tui.view_state.money import money_parts
from nodus_tui.view_state.pass_rates import honesty_marks, pass_rate_words
from nodus_tui.view_state.questions import Questions
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.run_columns import RUN_COLUMNS, run_status, searchable_run, waiting_at_own_caps
from nodus_tui.view_state.wrapping import clipped

_MANY = 500
"""Runs from which on the forecast is made once a second, and not with every frame."""


class GroupState:
    """One group with its runs. Events that come while the snapshot is on its way are kept and folded after it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.group: AgentGroup | None = None
        self.rows: Rows[AgentRun] = Rows(RUN_COLUMNS, sort="case", searchable=searchable_run, asks=("state", "verdict", "cost"))
        self.loaded = False
        self.gone = False
        self.cursor = -1
        self.phases: Counter[RunPhase] = Counter()
        self.past: dict[str, AgentRun] = {}
        """Runs whose case another attempt took over."""
        self.with_past = False
        """Whether those are among the rows too."""
        self.newest: str | None = None
        """The run that began or changed its phase last, while somebody looks."""
        self.pace = Pace()
        self._successors: dict[str, str] = {}
        self._questions = Questions()
        self._early: list[Event] = []
        """What came before the first snapshot, or while one is on its way."""
        self._foreseen: tuple[int, tuple[float | None, bool]] | None = None
        """The forecast of one second, where there are many runs: it looks at each."""

    def load(self, snapshot: Snapshot, asked: int | None = None) -> None:
        """Take the snapshot instead of what was known, then the events that overtook it; not where a newer one is there already."""
        if not self._questions.answered(asked if asked is not None else self._questions.ask()):
            self._let_go_of_early()
            return
        self.rows.clear()
        self.past.clear()
        self.phases.clear()
        self.pace.clear()
        self._successors.clear()
        self.group = next((group for group in snapshot.groups if group.name == self.name), None)
        self.gone = self.group is None
        for run in snapshot.runs:
            if run.spec.group == self.name:
                self._take(run)
        self.cursor = snapshot.cursor
        self.loaded = True
        for event in self._early:
            self._fold(event)
        self._let_go_of_early()

    def await_snapshot(self) -> int:
        """A new snapshot is asked for: keep what comes meanwhile. What is known stays true until then; gives the question's number."""
        return self._questions.ask()

    def no_snapshot(self, asked: int) -> None:
        """It was not given."""
        self._questions.ended(asked)
        self._let_go_of_early()

    def _let_go_of_early(self) -> None:
        if not self._questions.open:
            self._early = []

    def fold(self, event: Event) -> bool:
        """Take one event; says whether anything here changed."""
        of_group = event.kind == "AgentGroup" and event.name == self.name
        of_run = event.kind == "AgentRun" and (event.group == self.name or self.run(event.name) is not None)
        if not of_group and not of_run:
            return False
        if not self.loaded or self._questions.open:
            self._early.append(event)
        return self.loaded and self._fold(event)

    def _fold(self, event: Event) -> bool:
        if event.cursor <= self.cursor:
            return False
        if event.kind == "AgentGroup":
            self.group = group_after(self.group, event)
            self.gone = self.group is None
            return True
        known = self.run(event.name)
        run = run_after(known, event)
        if run is None:
            self._forget(event.name)
        else:
            self._take(run)
            if run_status(run).current and (known is None or run_status(known).phase is not run_status(run).phase):
                self.newest = run.name
        return True

    def run(self, name: str) -> AgentRun | None:
        """A run of this group by name, current or not."""
        return self.rows.find(name) or self.past.get(name)

    def _take(self, run: AgentRun) -> None:
        self._forget_count(run.name)
        self.pace.take(run)
        if run.spec.predecessor is not None:
            self._successors[run.spec.predecessor] = run.name
        if run_status(run).current:
            self.past.pop(run.name, None)
            self.rows.put(run.name, run)
            self.phases[run_status(run).phase] += 1
        else:
            self.past[run.name] = run
            if self.with_past:
                self.rows.put(run.name, run)
            else:
                self.rows.remove(run.name)

    def show_past(self, *, shown: bool) -> None:
        """Have earlier attempts among the rows, or only those that stand for their cases."""
        self.with_past = shown
        for name, run in self.past.items():
            if shown:
                self.rows.put(name, run)
            else:
                self.rows.remove(name)

    def current(self) -> Iterator[AgentRun]:
        """The runs that stand for their cases, whatever the rows are."""
        return (run for run in self.rows.items() if run_status(run).current)

    def _forget_count(self, name: str) -> None:
        known = self.rows.find(name)
        if known is not None and run_status(known).current:
            self.phases[run_status(known).phase] -= 1

    def _forget(self, name: str) -> None:
        self._forget_count(name)
        self.pace.forget(name)
        self.rows.remove(name)
        self.past.pop(name, None)

    def successor(self, name: str) -> AgentRun | None:
        """The run that took this one's place."""
        follower = self._successors.get(name)
        return self.run(follower) if follower is not None else None

    def filter(self, chosen: Filter | None) -> None:
        """Show the runs that a filter keeps, or all."""
        self.rows.filter(chosen)

    def moving(self) -> bool:
        """Whether figures of time here change by themselves."""
        return self.group is not None and not status_of(self.group).phase.at_rest

    def left_words(self, now: datetime) -> Line:
        """`~4m left` by forecast, the same that what-if says of its present maxActive; `stalls in ~4m` where cases are left then: runs
        wait at their own caps, or the group's has no room. Empty where nothing is foreseen.
        """
        if self.group is None or not can_forecast(status_of(self.group)):
            return ()
        left, stalls = self._foresee(self.group, now)
        if left is None:
            return ()
        return line(Span(f"stalls in {forecast_text(left)}", Tone.WARN) if stalls else Span(f"{forecast_text(left)} left", Tone.MARK))

    def _foresee(self, group: AgentGroup, now: datetime) -> tuple[float | None, bool]:
        """Seconds until nothing goes any more, and whether something is left then."""
        status = status_of(group)
        if not self.loaded or status.mean_run_seconds is None:
            return seconds_left(group, now), False
        second = int(now.timestamp())
        if self._foreseen is None or self._foreseen[0] != second or len(self.rows) < _MANY:
            found = forecast(load_of(group, self.rows.items(), now))
            self._foreseen = (second, (found.seconds, bool(found.stranded or self.phases[RunPhase.WAITING])))
        return self._foreseen[1]

    def unfinished(self) -> int:
        """Runs that have not ended."""
        return sum(count for phase, count in self.phases.items() if not phase.ended)

    def waiting_at_own_caps(self) -> tuple[AgentRun, ...]:
        """The runs that a higher cap of their own lets go on, in order of their cases."""
        return waiting_at_own_caps(self.rows.items())

    def head(self, width: int, now: datetime, *, roomy: bool = False, low: bool = False, key: KeyNamer = own_key) -> tuple[Line, ...]:
        """The lines above the run table; in a `low` terminal those that change, each in one."""
        if self.group is None:
            return ()
        status = status_of(self.group)
        marks = honesty_marks(simulated=status.simulated, notional=status.notional_price, weaker_grader=bool(status.weaker_grader))
        facts = joined((marks, _ending(self.group, now), group_title(self.group)))
        cases, paid = self._bars(self.group, width)
        lines = [cases[0], paid[-1]] if low else [*clipped((facts,), width, 2 if roomy else 1), *cases, *paid]
        rate = [line(strong(pass_rate_words(status)))]
        if status.mean_reward is not None:
            rate.append(line(muted(f"mean reward {reward_text(status.mean_reward)}")))
        lines.append((muted("pass".ljust(LABEL)), *joined(rate)))
        if not low and (roomy or status.phase is GroupPhase.RUNNING):
            lines += self._pace_lines(status, width, now)
        if status.message or status.phase is GroupPhase.INTERRUPTED:
            lines.append(group_why(self.group, key))
        return tuple(lines)

    def _pace_lines(self, status: AgentGroupStatus, width: int, now: datetime) -> tuple[Line, ...]:
        """What it spends in a minute, what it comes to and when it ends, in one line."""
        forms = pace_forms(self.pace, status, self.left_words(now), now)
        fitting = next((form for form in forms if line_width(form) <= width - LABEL), forms[-1])
        return ((muted("pace".ljust(LABEL)), *fitting),) if fitting else ()

    def _bars(self, group: AgentGroup, width: int) -> tuple[tuple[Line, ...], ...]:
        """The lines of the cases by verdict and by state, and those of the money of the cap: spent | reserved | left."""
        parts = tuple(part for part in self._progress_parts(status_of(group)) if part.amount > 0)
        return bar_lines((LabelledBar("cases", parts), _money_bar(group)), width)

    def _progress_parts(self, status: AgentGroupStatus) -> tuple[BarPart, ...]:
        verdicts = status.verdicts
        scored = {verdict.value for verdict in Verdict if verdict.scored}
        answered = verdicts.get(Reason.ANSWERED.value, 0)
        unscored = sum(count for name, count in verdicts.items() if name not in scored) - answered
        waiting = self.phases[RunPhase.WAITING]
        pending = max(0, status.pending - status.going - waiting)
        correct, incorrect = verdicts.get(Verdict.CORRECT.value, 0), verdicts.get(Verdict.INCORRECT.value, 0)
        return (
            BarPart(correct, Tone.GOOD, "█", f"{correct} correct", f"{correct} right"),
            BarPart(incorrect, Tone.BAD, "▓", f"{incorrect} incorrect", f"{incorrect} wrong"),
            _counted(verdicts.get(Verdict.INVALID_OUTPUT.value, 0), Tone.WARN, "▒", "invalid"),
            _counted(answered, Tone.GOOD, "█", "answered"),
            _counted(unscored, Tone.BAD, "!", "unscored"),
            _counted(status.going, Tone.INFO, "►", "going"),
            _counted(waiting, Tone.WARN, "‖", "waiting"),
            _counted(pending, Tone.MUTED, "⋅", "pending"),
        )


def _counted(count: int, tone: Tone, glyph: str, word: str) -> BarPart:
    return BarPart(count, tone, glyph, f"{count} {word}")


def _ending(group: AgentGroup, now: datetime) -> Line:
    status = status_of(group)
    if status.ended_at is not None:
        return line(muted(f"ended {clock_text(status.ended_at, now)}"))
    if status.deadline_at is not None and status.phase is not GroupPhase.INTERRUPTED:
        return line(muted(f"times out {clock_text(status.deadline_at, now)}"))
    return ()


def _money_bar(group: AgentGroup) -> LabelledBar:
    money = status_of(group).money
    amounts = money_parts(money)
    left = f"{short_usd(amounts.left)} left"
    return LabelledBar(
        "money",
        (
            BarPart(nano_from_usd(amounts.spent), Tone.INFO, "█", f"{short_usd(amounts.spent)} spent"),
            BarPart(nano_from_usd(amounts.reserved), Tone.WARN, "▒", f"{short_usd(amounts.reserved)} reserved"),
            BarPart(nano_from_usd(amounts.left), Tone.TRACK, "░", f"{left} of {display_usd(money.cap_usd)}", left, said=Tone.PLAIN),
        ),
        more=(
            line(Span(f"{short_usd(money.unconfirmed_usd)} unconfirmed", Tone.MARK)) if money.unconfirmed_usd else (),
            line(f"+ {short_usd(money.sandbox_usd)} sandboxes") if money.sandbox_usd else (),
        ),
    )
