"""One row of the results: a task with the answers to it, one for each repetition; how each stands as a glyph and a letter. Pure."""

from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from nodus_tui.contract.phases import CaseState, Reason, Verdict, case_state
from nodus_tui.contract.resources.agent_group import Coverage
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.statistics.coverage import cost_each
from nodus_tui.statistics.pass_rate import TaskCount, summary_of_counts
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.figures import NOTHING, column_span_text, count_text, reward_text, shorter_reward_texts
from nodus_tui.view_state.filter_fields import Searchable
from nodus_tui.view_state.money import money_of, usd_cell_forms
from nodus_tui.view_state.pass_rates import pass_rate_cell, shorter_pass_rate_cells
from nodus_tui.view_state.run_columns import run_status, searchable_run, why_line
from nodus_tui.view_state.words import VERDICT_SIGNS, Sign

_COUNTS = {verdict: verdict is Verdict.CORRECT for verdict in Verdict if verdict.scored}
"""The verdicts that count, and whether they are right."""
_LETTERS = {Verdict.CORRECT: "C", Verdict.INCORRECT: "I", Verdict.INVALID_OUTPUT: "V", Verdict.INFRASTRUCTURE_FAILURE: "F"}
STATE_SIGNS = {
    CaseState.PENDING: ("P", Sign("○", "Pending", Tone.MUTED)),
    CaseState.RUNNING: ("R", Sign("►", "Running", Tone.INFO)),
    CaseState.WAITING: ("W", Sign("‖", "Waiting", Tone.WARN)),
    CaseState.UNSCORED: ("U", Sign("–", "Unscored", Tone.MUTED)),
    CaseState.ANSWERED: ("A", Sign("●", "Answered", Tone.GOOD)),
}
SEVERAL_SIGNS = {
    "all": Sign("✓", "all correct", Tone.GOOD),
    "some": Sign("±", "some correct", Tone.WARN),
    "none": Sign("✗", "none correct", Tone.BAD),
}
"""Of several answers to one task that count."""
_MANY = 8
"""Repetitions from which on the answers need not all be seen in the narrowest table: their counts take their place."""


class TaskRate(Struct, frozen=True):
    """The pass rate of one task over its repetitions."""

    pass_rate: float | None
    standard_error: float | None
    ci95: tuple[float, float] | None
    coverage: Coverage


class TaskCases(Struct, frozen=True):
    """One task and the runs that stand for its cases now. What they come to is counted once: a group may have ten thousand."""

    task_id: str
    runs: tuple[AgentRun, ...]
    """In order of their repetitions; never empty."""
    count: TaskCount
    """How many answers count, and how many of them are correct."""
    rewards: tuple[float, ...]
    """Of the answers that count."""
    missing: tuple[tuple[CaseState, Reason | None], ...]
    """How the others stand."""
    chosen: int | None = None
    """The place of the answer that keys mean, in the row that is selected."""

    @classmethod
    def of(cls, task_id: str, runs: tuple[AgentRun, ...], chosen: int | None = None) -> "TaskCases":
        """The row of a task with these runs."""
        rewards: list[float] = []
        missing: list[tuple[CaseState, Reason | None]] = []
        correct = 0
        for run in runs:
            status = run_status(run)
            right = _COUNTS.get(status.verdict) if status.verdict is not None else None
            if right is None:
                missing.append((case_state(status.phase, status.reason), status.reason))
            else:
                correct += right
                rewards.append(status.reward or 0.0)
        return cls(task_id, runs, TaskCount(len(rewards), correct), tuple(rewards), tuple(missing), chosen)

    @property
    def place(self) -> int:
        """Of its first case in the group."""
        return self.runs[0].spec.case

    @property
    def reward(self) -> float | None:
        """The mean of the answers that count."""
        return sum(self.rewards) / len(self.rewards) if self.rewards else None

    @property
    def cost(self) -> Decimal:
        """What counts against the caps of its runs, in US dollars."""
        return sum((run_status(run).cost_usd for run in self.runs), Decimal(0))

    @property
    def cost_of_correct(self) -> Decimal | None:
        """The same for each correct answer; None where there is none."""
        return cost_each(self.cost, self.count.correct)


def rate_of(task: TaskCases) -> TaskRate:
    """How often it is solved, with the error of so few answers: over the repetitions of one task each answer stands for itself."""
    count = task.count
    answers = (TaskCount(1, int(place < count.correct)) for place in range(count.answers))
    summary = summary_of_counts(answers, total=len(task.runs))
    return TaskRate(summary.pass_rate, summary.standard_error, summary.ci95, Coverage(scored=summary.scored, total=summary.total))


def sign_of(verdict: Verdict | None, state: CaseState, reason: Reason | None = None) -> tuple[str, Sign]:
    """How a case stands: a letter, and a sign with a word."""
    if state is CaseState.UNSCORED and reason is Reason.INFRASTRUCTURE_FAILURE:
        verdict = Verdict.INFRASTRUCTURE_FAILURE
    if verdict is not None:
        return _LETTERS[verdict], VERDICT_SIGNS[verdict]
    return STATE_SIGNS.get(state, STATE_SIGNS[CaseState.UNSCORED])


def case_sign(run: AgentRun) -> tuple[str, Sign]:
    """The same of a case that this run stands for."""
    status = run_status(run)
    return sign_of(status.verdict, case_state(status.phase, status.reason), status.reason)


def _answers(task: TaskCases, _now: datetime) -> Line:
    """`✓C[✗I]?V`: each answer, the chosen one between brackets."""
    spans: list[Span] = []
    for place, run in enumerate(task.runs):
        letter, sign = case_sign(run)
        before = "[" if place == task.chosen else "]" if place - 1 == task.chosen else " "
        spans += [Span(before, Tone.KEY), Span(f"{sign.glyph}{letter}", sign.tone)]
    return line(*spans, Span("]" if task.chosen == len(task.runs) - 1 else " ", Tone.KEY))


def _counted(task: TaskCases, _now: datetime) -> tuple[Line, ...]:
    """`5✓C 3✗I`: how many of each, for where they do not all fit."""
    counts: dict[str, tuple[int, Sign]] = {}
    for run in task.runs:
        letter, sign = case_sign(run)
        counts[letter] = counts.get(letter, (0, sign))[0] + 1, sign
    parts = [line(Span(f"{count}{sign.glyph}{letter}", sign.tone)) for letter, (count, sign) in counts.items()]
    return (joined(parts, " "), joined(parts[:2], " "))


def _verdict(task: TaskCases, _now: datetime) -> Line:
    return case_sign(task.runs[0])[1].spans()


def _order(task: TaskCases) -> int:
    """Correct first, then what is wrong, then what is missing."""
    order = "CIVFUARWP"
    return order.index(case_sign(task.runs[0])[0])


def _correct_cost(task: TaskCases) -> Line:
    cost = task.cost_of_correct
    return line(NOTHING) if cost is None else usd_cell_forms(cost)[0]


def _reward(task: TaskCases, _now: datetime) -> Line:
    return line(NOTHING if task.reward is None else reward_text(task.reward))


def _shorter_reward(task: TaskCases, _now: datetime) -> tuple[Line, ...]:
    return () if task.reward is None else tuple(line(text) for text in shorter_reward_texts(task.reward))


def _seconds(task: TaskCases) -> float | None:
    """Of the answers that have ended, together."""
    spans = [seconds for run in task.runs if (seconds := run_status(run).duration_seconds) is not None]
    return sum(spans) if spans else None


def _time(task: TaskCases, _now: datetime) -> Line:
    seconds = _seconds(task)
    return line(NOTHING if seconds is None else column_span_text(seconds))


def _tokens(task: TaskCases) -> tuple[int, int]:
    statuses = [run_status(run) for run in task.runs]
    return sum(status.input_tokens for status in statuses), sum(status.output_tokens for status in statuses)


def _tokens_cell(task: TaskCases, _now: datetime) -> Line:
    came, went = _tokens(task)
    return line(count_text(came), muted("+"), count_text(went)) if came or went else line(NOTHING)


def _why(task: TaskCases, now: datetime) -> Line:
    """Why the first of its answers that is missing is missing."""
    return next((why for run in task.runs if (why := why_line(run, now))), ())


def _why_text(task: TaskCases) -> str:
    return " ".join(message for run in task.runs if (message := run_status(run).message))


def result_columns(repetitions: int) -> tuple[Column[TaskCases], ...]:
    """The columns of the results of a group in which each task is answered so often."""
    case = Column[TaskCases](
        "case", "CASE", 5, lambda task, _now: line(muted(str(task.place))), lambda task: task.place, right=True, priority=4
    )
    task = Column[TaskCases](
        "task", "TASK", 12, lambda task, _now: line(task.task_id), lambda task: task.task_id, grow=28, least=6, middle=True
    )
    verdict = Column[TaskCases]("verdict", "VERDICT", 12, _verdict, _order, least=10)
    if repetitions > 1:
        whole = 3 * repetitions + 1
        answers = Column[TaskCases](
            "answers",
            "ANSWERS",
            min(whole, 3 * _MANY + 1),
            _answers,
            lambda task: task.count.correct,
            grow=max(0, whole - 3 * _MANY - 1),
            shorter=_counted,
            least=12,
        )
        rate = Column[TaskCases](
            "rate",
            "RATE ±95% SCORED",
            17,
            lambda task, _now: pass_rate_cell(rate_of(task)),
            lambda task: rate_of(task).pass_rate,
            figures=True,
            grow=4,
            shorter=lambda task, _now: shorter_pass_rate_cells(rate_of(task)),
            measure=Measure.SHARE,
        )
        first: tuple[Column[TaskCases], ...] = (case, task, answers, rate)
    else:
        first = (case, task, verdict)
    return (
        *first,
        Column("reward", "REWARD", 6, _reward, lambda task: task.reward, grow=3, priority=3, right=True, shorter=_shorter_reward),
        Column(
            "cost",
            "COST",
            8,
            lambda task, _now: usd_cell_forms(task.cost)[0],
            lambda task: task.cost,
            right=True,
            shorter=lambda task, _now: usd_cell_forms(task.cost)[1:],
            measure=Measure.MONEY,
        ),
        *(
            (
                Column[TaskCases](
                    "each",
                    "/CORRECT",
                    8,
                    lambda task, _now: _correct_cost(task),
                    lambda task: task.cost_of_correct,
                    priority=2,
                    right=True,
                    measure=Measure.MONEY,
                ),
            )
            if repetitions > 1
            else ()
        ),
        Column("time", "TIME", 6, _time, _seconds, priority=5, right=True, measure=Measure.SECONDS),
        Column("tokens", "TOKENS", 9, _tokens_cell, lambda task: _tokens(task)[0], priority=6, right=True, measure=Measure.COUNT),
        Column("why", "WHY NOT SCORED", 15, _why, _why_text, prefer=23, grow=73, priority=1),
    )


def searchable_task(task: TaskCases) -> Searchable:
    """What the filter looks at in the first answer; a task stays where some answer passes."""
    return searchable_run(task.runs[0])


def case_lines(task: TaskCases, now: datetime, choose: Line) -> tuple[Line, ...]:
    """The answer that keys mean, in words, with its letter where the row has letters; `choose` says how another one is chosen."""
    place = min(task.chosen or 0, len(task.runs) - 1)
    run = task.runs[place]
    status, (letter, sign) = run_status(run), case_sign(run)
    cap = run.spec.max_cost_usd
    several = len(task.runs) > 1
    facts = joined(
        (
            line(muted("repetition "), strong(f"{run.spec.repetition}"), muted(f" of {len(task.runs)} "), *choose) if several else (),
            line(Span(f"{sign.glyph}{letter} {sign.word}", sign.tone)) if several else sign.spans(),
            line(f"reward {reward_text(status.reward)}") if status.reward is not None else (),
            money_of(status.cost_usd, cap, unconfirmed=bool(status.unconfirmed_usd)) if cap is not None else (),
            line(muted(run.name)),
        )
    )
    return facts, why_line(run, now)
