"""Two groups beside each other, task by task: how they differ with its error, and the tasks that came out differently. Pure."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.results import CaseResult, GroupResults, PairedDifference
from nodus_tui.statistics.comparing import compared_groups, means_of_group
from nodus_tui.statistics.format import rate_text_of
from nodus_tui.values import replace
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.figures import NOTHING, short_usd
from nodus_tui.view_state.filter_fields import Searchable
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.money import usd_cell_forms
from nodus_tui.view_state.pass_rates import pass_rate_cell
from nodus_tui.view_state.result_cases import SEVERAL_SIGNS, sign_of
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.sweep_comparing import difference_lines


class Answers(Struct, frozen=True):
    """What one group answered to a task; no cases where it was not asked."""

    cases: tuple[CaseResult, ...] = ()
    mean: float | None = None
    """Of the answers that count; None where none does."""

    @property
    def telling(self) -> CaseResult | None:
        """The answer to look at first: one that counts and is wrong, else the first."""
        wrong = (case for case in self.cases if case.verdict is not None and case.verdict is not Verdict.CORRECT)
        return next(wrong, self.cases[0] if self.cases else None)

    @property
    def cost(self) -> Decimal:
        """What counts against the caps of its runs, in US dollars."""
        return sum((case.cost_usd for case in self.cases), Decimal(0))


class ComparedTask(Struct, frozen=True):
    """One task in both groups."""

    task_id: str
    sides: tuple[Answers, Answers]
    chosen: int | None = None
    """The side that keys mean, in the row that is selected."""

    @property
    def difference(self) -> float | None:
        """First − second, as a fraction; None where one of them has no answer that counts."""
        first, second = (side.mean for side in self.sides)
        return None if first is None or second is None else first - second

    @property
    def differs(self) -> bool:
        """Whether both answered, and not equally well."""
        return bool(self.difference)


def _answer_spans(task: ComparedTask, which: int, *, short: bool = False) -> Line:
    """`✓ Correct`, or `✓ 2/3 correct` of repetitions; between brackets where keys mean it."""
    side = task.sides[which]
    counted = [case for case in side.cases if case.verdict is not None]
    if not side.cases:
        words: Line = (NOTHING,)
    elif len(side.cases) == 1:
        words = sign_of(side.cases[0].verdict, side.cases[0].state, side.cases[0].reason)[1].spans()
    else:
        correct = sum(case.verdict is Verdict.CORRECT for case in counted)
        glyph, tone = _verdict_of_several(correct, len(counted))
        missing = len(side.cases) - len(counted)
        words = line(Span(f"{glyph} {correct}/{len(counted)}", tone))
        if not short:
            words = line(*words, muted(f", {missing} missing") if missing else Span(" correct", tone))
    left, right = ("[", "]") if which == task.chosen else (" ", " ")
    return line(Span(left, Tone.KEY), *words, Span(right, Tone.KEY))


def _verdict_of_several(correct: int, counted: int) -> tuple[str, Tone]:
    """The sign of several answers to one task: all right, none right, or partly."""
    if not counted:
        return "–", Tone.MUTED
    sign = SEVERAL_SIGNS["all" if correct == counted else "some" if correct else "none"]
    return sign.glyph, sign.tone


def _cost_forms(side: Answers) -> tuple[Line, ...]:
    return usd_cell_forms(side.cost) if side.cases else (line(NOTHING),)


def _difference(task: ComparedTask, _now: datetime) -> Line:
    difference = task.difference
    if difference is None:
        return line(NOTHING)
    tone = Tone.MUTED if not difference else Tone.GOOD if difference > 0 else Tone.BAD
    return line(Span(f"{100 * difference:+.0f}" if difference else "0", tone))


def _side(which: int, title: str) -> Column[ComparedTask]:
    return Column(
        ("first", "second")[which],
        title,
        14,
        lambda task, _now: _answer_spans(task, which),
        lambda task: task.sides[which].mean,
        grow=16,
        shorter=lambda task, _now: (_answer_spans(task, which, short=True),),
    )


def _cost(which: int, title: str) -> Column[ComparedTask]:
    return Column(
        ("cost1", "cost2")[which],
        title,
        8,
        lambda task, _now: _cost_forms(task.sides[which])[0],
        lambda task: task.sides[which].cost if task.sides[which].cases else None,
        right=True,
        shorter=lambda task, _now: _cost_forms(task.sides[which])[1:],
        priority=2 + which,
        measure=Measure.MONEY,
    )


COMPARED_COLUMNS: tuple[Column[ComparedTask], ...] = (
    Column("task", "TASK", 12, lambda task, _now: line(task.task_id), lambda task: task.task_id, grow=28, least=6, middle=True),
    _side(0, "FIRST"),
    _side(1, "SECOND"),
    Column("points", "POINTS", 6, _difference, lambda task: task.difference, right=True, about="first − second, in points"),
    _cost(0, "COST 1"),
    _cost(1, "COST 2"),
)


class ComparisonState:
    """Two groups, as the backend last told their results."""

    def __init__(self, first: str, second: str) -> None:
        self.names = first, second
        self.results: tuple[GroupResults, GroupResults] | None = None
        self.difference: PairedDifference | None = None
        self.rows: Rows[ComparedTask] = Rows(
            COMPARED_COLUMNS, sort="task", searchable=searchable_compared, asks=("state", "verdict", "cost")
        )
        self.all_tasks = False
        """Whether tasks that came out equally are rows, too."""
        self.chosen = 0
        self.selected: str | None = None
        self._filter: Filter | None = None
        self._keep()

    @property
    def loaded(self) -> bool:
        """Whether the results of both are known."""
        return self.results is not None

    def load(self, first: GroupResults, second: GroupResults) -> None:
        """Take the results of both instead of what was known."""
        self.results = first, second
        self.difference = compared_groups(first, second)
        sides = _answers(first), _answers(second)
        tasks = dict.fromkeys((*sides[0], *sides[1]))
        for gone in [task for task in self.rows.keys() if task not in tasks]:  # noqa: SIM118 - Rows is no mapping
            self.rows.remove(gone)
        for task in tasks:
            chosen = self.chosen if task == self.selected else None
            row = ComparedTask(task, (sides[0].get(task, Answers()), sides[1].get(task, Answers())), chosen)
            if row != self.rows.find(task):
                self.rows.put(task, row)

    def select(self, task: str | None, chosen: int) -> None:
        """Mark the side that keys mean."""
        before, self.selected, self.chosen = self.selected, task, chosen
        for each in {before, task}:
            known = self.rows.find(each) if each is not None else None
            if known is not None:
                self.rows.put(known.task_id, replace(known, chosen=chosen if each == task else None))

    def filter(self, chosen: Filter | None) -> None:
        """Show the tasks of which some answer passes a filter."""
        self._filter = chosen
        self._keep()

    def show_all(self, *, wanted: bool) -> None:
        """Show all tasks, or only those that came out differently."""
        self.all_tasks = wanted
        self._keep()

    def _keep(self) -> None:
        chosen = self._filter if self._filter is not None and self._filter.conditions else None

        def keep(task: ComparedTask) -> bool:
            if not (self.all_tasks or task.differs):
                return False
            return chosen is None or any(chosen.keeps(_searchable(case), task) for side in task.sides for case in side.cases)

        self.rows.keep_only(keep)

    def moving(self) -> bool:
        """Nothing here changes with the time alone."""
        return False

    def head(self, *, low: bool = False) -> tuple[Line, ...]:
        """Both groups, and how they differ; in a `low` terminal the difference alone."""
        if self.results is None or self.difference is None:
            return ()
        differs = difference_lines(self.difference)
        if low:
            return differs[:2]
        first, second = self.results
        return (_group_line("first", first), _group_line("second", second), *differs)


def _group_line(word: str, results: GroupResults) -> Line:
    rate = rate_text_of(results)
    return (muted(word.ljust(8)), *joined((line(strong(results.group)), line(rate), line(short_usd(results.cost.model_usd)))))


def _answers(results: GroupResults) -> dict[str, Answers]:
    means = means_of_group(results)
    cases: dict[str, list[CaseResult]] = defaultdict(list)
    for case in results.results:
        cases[case.task_id].append(case)
    return {task: Answers(tuple(each), means.get(task)) for task, each in cases.items()}


def _searchable(case: CaseResult) -> Searchable:
    return Searchable(
        texts=(case.task_id, case.run, case.message),
        states=(case.state.value, *((case.reason.value,) if case.reason else ())),
        verdict=case.verdict.value if case.verdict else "",
        cost=case.cost_usd,
    )


def searchable_compared(task: ComparedTask) -> Searchable:
    """What the filter looks at in the first answer; a task stays where some answer passes."""
    return _searchable(next(case for side in task.sides for case in side.cases))


def compared_lines(task: ComparedTask, names: tuple[str, str], choose: Line) -> tuple[Line, ...]:
    """A task in words: what each group answered, and which run Enter opens; `choose` says how the other one is chosen."""
    lines = []
    for which, (name, side) in enumerate(zip(names, task.sides, strict=True)):
        case = side.telling
        facts = [line(strong(name))]
        if case is None:
            facts.append(line(muted("was not asked this task")))
        else:
            sign = sign_of(case.verdict, case.state, case.reason)[1]
            why = case.message or (case.reason.value if case.reason is not None and case.verdict is None else "")
            facts += [sign.spans(), line(muted(case.run)), line(why)]
        lines.append((Span("▌ " if which == task.chosen else "  ", Tone.KEY), *joined(facts), *(choose if which == task.chosen else ())))
    return tuple(lines)


def _asked(group: AgentGroup) -> str:
    evaluation = group.spec.evaluation
    if evaluation is None:
        return "graded by the caller"
    shard = f", shard {evaluation.shard.index}/{evaluation.shard.of}" if evaluation.shard is not None else ""
    return f"{evaluation.environment} {evaluation.split}, seed {evaluation.seed}{shard}"


GROUP_CHOICE_COLUMNS: tuple[Column[AgentGroup], ...] = (
    Column("name", "GROUP", 16, lambda group, _now: line(strong(group.name)), lambda group: group.name, grow=24, least=8, middle=True),
    Column(
        "rate",
        "PASS ±95% SCORED",
        18,
        lambda group, _now: pass_rate_cell(status_of(group)),
        lambda group: status_of(group).pass_rate,
        grow=6,
    ),
    Column("asked", "ASKED", 16, lambda group, _now: line(muted(_asked(group))), _asked, grow=40, middle=True),
)
"""Of the list from which a group is chosen to be compared."""


def comparable_groups(groups: Iterable[AgentGroup], name: str, typed: str = "") -> list[AgentGroup]:
    """The groups that may be compared with one of that name, those that were asked the same first, whose words have what was typed."""
    every = list(groups)
    asked = next((_asked(group) for group in every if group.name == name), "")
    words = typed.casefold().split()
    found = [group for group in every if group.name != name and group.spec.evaluation is not None]
    kept = [group for group in found if all(word in f"{group.name} {_asked(group)}".casefold() for word in words)]
    return sorted(kept, key=lambda group: (_asked(group) != asked, -status_of(group).created_at.timestamp()))
