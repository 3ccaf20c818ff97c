"""The results view: a group's tasks with the answers to them, kept true by the events of its runs, and what they come to together."""

from datetime import datetime

from msgspec import Struct

from nodus_tui.contract.events import Event
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.phases import CaseState
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.statistics.coverage import cost_each_words, unscored_words, why_unscored
from nodus_tui.statistics.format import interval_words, pass_rate_text
from nodus_tui.statistics.pass_rate import PassRateSummary, summary_of_counts
from nodus_tui.values import replace
from nodus_tui.view_state.campaigns import group_title, group_why, status_of
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.figures import clock_text, percent_text, reward_text, short_usd
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.pass_rates import honesty_marks
from nodus_tui.view_state.result_cases import TaskCases, result_columns, searchable_task
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.run_columns import run_status, searchable_run

_LABEL = 9
"""Cells of the labels before the figures, two spaces behind the longest."""


class Tally(Struct, frozen=True):
    """What the answers of a group come to together."""

    summary: PassRateSummary
    correct: int
    answered: int
    """Answers that the caller grades."""
    missing: dict[str, int]
    """Cases without a verdict that counts, by reason."""


class ResultsState:
    """The tasks of one group. Its runs are those of the group's state, which is told of each event before this one."""

    def __init__(self, group: GroupState, groups: Rows[AgentGroup]) -> None:
        self.group_state = group
        self._groups = groups
        self._repetitions = 0
        self._filter: Filter | None = None
        self.chosen = 0
        """The place of the answer that keys mean in the selected task."""
        self.selected: str | None = None
        """The task that is selected."""
        self._cases: dict[str, dict[int, AgentRun]] = {}
        self._tasks: dict[str, TaskCases] = {}
        self._where: dict[str, tuple[str, int]] = {}
        """Task and repetition of each current run."""
        self._tally: Tally | None = None
        self.rows: Rows[TaskCases] = Rows(result_columns(1), sort="case", searchable=searchable_task, asks=("state", "verdict", "cost"))
        self.reload()

    @property
    def name(self) -> str:
        """Of the group."""
        return self.group_state.name

    @property
    def group(self) -> AgentGroup | None:
        """The group as it stands; it is known before its runs are."""
        return self.group_state.group or self._groups.find(self.name)

    @property
    def loaded(self) -> bool:
        """Whether its runs are known."""
        return self.group_state.loaded

    @property
    def repetitions(self) -> int:
        """How often each task is answered."""
        evaluation = self.group.spec.evaluation if self.group is not None else None
        return evaluation.repetitions if evaluation is not None else 1

    # Becoming true

    def reload(self) -> None:
        """Take the runs of the group as they are now."""
        if self.repetitions != self._repetitions:
            self._repetitions = self.repetitions
            self.rows = Rows(result_columns(self._repetitions), sort="case", searchable=searchable_task, asks=("state", "verdict", "cost"))
            self.filter(self._filter)
        self.rows.clear()
        for held in (self._cases, self._tasks, self._where):
            held.clear()
        self._tally = None
        if not self.loaded:
            return
        for run in sorted(self.group_state.current(), key=lambda each: each.spec.case):
            self._take(run)
        self._tasks = {task: self._task(task) for task in self._cases}
        self.rows.fill(self._tasks)

    def fold(self, event: Event) -> bool:
        """Take one event that the group's state has been told of; says whether anything here changed."""
        if event.kind == "AgentGroup":
            return event.name == self.name
        if event.kind != "AgentRun" or not self.loaded:
            return False
        run = self.group_state.run(event.name)
        before = self._where.get(event.name)
        if run is None and before is None:
            return False
        touched = {before[0]} if before is not None else set[str]()
        if before is not None:
            self._forget(event.name, before)
        if run is not None and run_status(run).current:
            self._take(run)
            touched.add(run.spec.task_id or run.name)
        for task in touched:
            self._put(task)
        self._tally = None
        return bool(touched)

    def _take(self, run: AgentRun) -> None:
        task = run.spec.task_id or run.name
        self._cases.setdefault(task, {})[run.spec.repetition] = run
        self._where[run.name] = task, run.spec.repetition

    def _forget(self, name: str, where: tuple[str, int]) -> None:
        task, repetition = where
        del self._where[name]
        known = self._cases[task].get(repetition)
        # Another attempt may have taken the place already.
        if known is not None and known.name == name:
            del self._cases[task][repetition]

    def _put(self, task: str) -> None:
        if self._cases.get(task):
            self._tasks[task] = self._task(task)
            self.rows.put(task, self._tasks[task])
        else:
            self._cases.pop(task, None)
            self._tasks.pop(task, None)
            self.rows.remove(task)

    def _task(self, task: str) -> TaskCases:
        cases = self._cases[task]
        runs = tuple(cases[repetition] for repetition in sorted(cases)) if len(cases) > 1 else tuple(cases.values())
        chosen = min(self.chosen, len(runs) - 1) if task == self.selected and self._repetitions > 1 else None
        return TaskCases.of(task, runs, chosen)

    # What a person chose

    def filter(self, chosen: Filter | None) -> None:
        """Show the tasks of which some answer passes a filter, or all."""
        self._filter = chosen
        if chosen is None or not chosen.conditions:
            self.rows.keep_only(None)
        else:
            self.rows.keep_only(lambda task: any(chosen.keeps(searchable_run(run), task) for run in task.runs))

    def select(self, task: str | None, chosen: int) -> None:
        """Mark the answer that keys mean."""
        before, self.selected, self.chosen = self.selected, task, chosen
        for each in {before, task}:
            known = self.rows.find(each) if each is not None else None
            if known is not None:
                place = min(chosen, len(known.runs) - 1) if each == task and self._repetitions > 1 else None
                self.rows.put(known.task_id, replace(known, chosen=place))

    def moving(self) -> bool:
        """Nothing here changes with the time alone."""
        return False

    # What it comes to

    def tally(self) -> Tally:
        """What all answers come to, as the backend and the command line tell it."""
        if self._tally is None:
            tasks = list(self._tasks.values())
            missing = [each for task in tasks for each in task.missing]
            total = max(status_of(self.group).coverage.total if self.group is not None else 0, len(self._where))
            rewards = (reward for task in tasks for reward in task.rewards)
            self._tally = Tally(
                summary_of_counts((task.count for task in tasks), total=total, rewards=rewards),
                correct=sum(task.count.correct for task in tasks),
                answered=sum(state is CaseState.ANSWERED for state, _ in missing),
                missing=why_unscored(missing),
            )
        return self._tally

    def head(self, now: datetime, *, low: bool = False, key: KeyNamer = own_key) -> tuple[Line, ...]:
        """The lines above the table; in a `low` terminal those that change."""
        group = self.group
        if group is None:
            return ()
        status = status_of(group)
        marks = honesty_marks(simulated=status.simulated, notional=status.notional_price, weaker_grader=bool(status.weaker_grader))
        ended = line(muted(f"ended {clock_text(status.ended_at, now)}")) if status.ended_at is not None else ()
        facts = joined((marks, ended, group_title(group)))
        figures = self._figures(group)
        if low:
            return figures
        why = (group_why(group, key),) if status.message and not status.phase.ended else ()
        return (facts, *figures, self._cost(group), *why)

    def _figures(self, group: AgentGroup) -> tuple[Line, ...]:
        if group.spec.evaluation is None:
            return (_labelled("answers", line(strong(f"{self.tally().answered}/{group.spec.cases} answered; the caller grades"))),)
        if not self.loaded:
            return (_labelled("pass", line(muted("reading the runs…"))),)
        tally = self.tally()
        summary = tally.summary
        rate = pass_rate_text(
            pass_rate=summary.pass_rate,
            standard_error=summary.standard_error,
            ci95=summary.ci95,
            scored=summary.scored,
            total=summary.total,
            ended=status_of(group).phase.ended,
        )
        reward = line(muted(f"mean reward {reward_text(summary.mean_reward)}")) if summary.mean_reward is not None else ()
        lines = [_labelled("pass", joined((line(strong(rate)), reward)))]
        interval = interval_words(summary.ci95, summary.ci_method, summary.standard_error_method)
        if interval:
            lines.append(_labelled("95%", line(interval)))
        if tally.missing:
            count = line(strong(f"{summary.total - summary.scored:,}"), muted(_bounds(summary)), ": ")
            # Facts, so that no number is parted from what it counts.
            reasons = joined(line(Span(unscored_words({reason: of_it}), Tone.WARN)) for reason, of_it in tally.missing.items())
            lines.append(_labelled("missing", (*count, *reasons)))
        return tuple(lines)

    def _cost(self, group: AgentGroup) -> Line:
        money, tally = status_of(group).money, self.tally()
        each = cost_each_words(money.model_usd, scored=tally.summary.scored, correct=tally.correct)
        parts = (
            line(strong(short_usd(money.model_usd)), muted(f" of {display_usd(money.cap_usd)} on models")),
            line(each),
            line(Span(f"{short_usd(money.unconfirmed_usd)} unconfirmed", Tone.MARK)) if money.unconfirmed_usd else (),
            line(f"+ {short_usd(money.sandbox_usd)} sandboxes") if money.sandbox_usd else (),
        )
        return _labelled("cost", joined(parts))


def _labelled(label: str, words: Line) -> Line:
    return (muted(label.ljust(_LABEL)), *words)


def _bounds(summary: PassRateSummary) -> str:
    """Between which rates all would lie together, whatever the missing ones come to: they are no zeros."""
    if summary.worst is None or summary.best is None or not summary.scored:
        return ""
    return f" ({100 * summary.worst:.1f}–{percent_text(summary.best)} with them)"
