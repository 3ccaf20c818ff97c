"""All environments: those that come with the backend and those that were applied, how each is graded, who uses it, its last gold check."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from nodus_tui.contract.backend_info import BackendInfo, EnvironmentFact
from nodus_tui.contract.environment_check import GoldCase, GoldRecord
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.environment import Environment, GraderBase, ProgramGrader, PytestGrader
from nodus_tui.contract.wording import quoted
from nodus_tui.values import replace
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.figures import NOTHING, age_text
from nodus_tui.view_state.filtering import Filter, Searchable
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.rows import Rows

SPLITS = ("train", "test")
PROBLEM_WORDS = {
    "ReferenceFails": "the reference solution fails",
    "EmptyPasses": "the empty answer passes",
    "NoReference": "it has no reference solution",
    "GraderFails": "the grader itself fails",
}
_KINDS = {"catalogue": "generator", "reasoning-gym": "generator", "file": "task file", "folder": "task folders"}
_NOW_SECONDS = 60
_WEAKER = "weaker: its tests run as the same user as what the agent wrote, which could read them and forge their outcome"


class Check(Struct, frozen=True):
    """A gold check that goes on, from this console."""

    done: int = 0
    faults: tuple[GoldCase, ...] = ()
    total: int | None = None
    """How many tasks it is going to look at, where that is known."""


class EnvironmentRow(Struct, frozen=True):
    """One environment, whoever brought it."""

    name: str
    version: str
    kind: str
    """`generator`, `task file` or `task folders`."""
    source: str
    """`catalogue`, `reasoning-gym`, or what a user's own lies in."""
    splits: tuple[str, ...]
    tasks: Mapping[str, int]
    """By split; empty where there is no end, or where that is not known."""
    endless: bool
    grader: str
    """In a few words; empty where the backend does not say."""
    strength: str
    """What the grader can be trusted with, as a sentence; empty where nobody need know more."""
    weaker: bool
    in_sandbox: bool
    description: str = ""
    problem: str = ""
    """Why it cannot be used here."""
    digest: str = ""
    groups: tuple[str, ...] = ()
    """The names of the groups that use it, the newest last."""
    checked: GoldRecord | None = None
    check: Check | None = None

    @property
    def reference(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    @property
    def stale(self) -> bool:
        """Whether the last check was of other tasks, or of another grader."""
        if self.checked is None:
            return False
        return self.checked.environment != self.reference or bool(
            self.digest and self.checked.digest and self.checked.digest != self.digest
        )


def of_catalogue(fact: EnvironmentFact) -> EnvironmentRow:
    """One that comes with the backend."""
    return EnvironmentRow(
        fact.name,
        fact.version,
        _KINDS.get(fact.source, fact.source),
        fact.source,
        fact.splits,
        {} if fact.tasks is None else dict.fromkeys(fact.splits, fact.tasks),
        fact.tasks is None,
        fact.grader,
        _IN_SANDBOX if fact.in_sandbox else _BY_WORDS,
        weaker=False,
        in_sandbox=fact.in_sandbox,
        description=fact.description,
        problem=fact.problem,
    )


_BY_WORDS = "strong: the answers stay in a process of their own, which reads the reply and runs nothing of it"
_IN_SANDBOX = "strong: it judges in a fresh sandbox without a network, as a user that the judged code cannot become"


def of_workspace(environment: Environment) -> EnvironmentRow:
    """One that was applied."""
    spec, status, grader = environment.spec, environment.status, environment.spec.grader
    tasks = dict(status.tasks) if status is not None else {}
    folder = spec.folder is not None
    in_sandbox = folder or isinstance(grader, ProgramGrader | PytestGrader)
    strength = _WEAKER if folder else _IN_SANDBOX if in_sandbox else _BY_WORDS
    if folder and spec.tests_network:
        strength += "; and they may reach the network"
    return EnvironmentRow(
        environment.name,
        spec.version,
        "task folders" if folder else "task file",
        "folder" if folder else "file",
        tuple(split for split in SPLITS if tasks.get(split)),
        tasks,
        endless=False,
        grader="each task's own tests" if folder else _grader_words(environment),
        strength=strength,
        weaker=folder,
        in_sandbox=in_sandbox,
        description=spec.description,
        digest=status.digest if status is not None else "",
    )


def _grader_words(environment: Environment) -> str:
    grader = environment.spec.grader
    if isinstance(grader, PytestGrader):
        return f"pytest, hidden tests; reward: {grader.reward}"
    if isinstance(grader, ProgramGrader):
        return f"program: {' '.join(grader.command)}"
    if isinstance(grader, GraderBase):
        pattern = grader.answer_pattern
        return str(getattr(grader, "type", "")) + (f", the answer found by {quoted(pattern)}" if pattern else "")
    return ""


def tasks_text(row: EnvironmentRow) -> str:
    """`500 × 2`, `12 test`, `no end`."""
    if row.endless:
        return "no end"
    counts = [(split, count) for split, count in row.tasks.items() if count]
    if not counts:
        return "?"
    if len(counts) > 1 and len({count for _, count in counts}) == 1:
        return f"{len(counts)} × {counts[0][1]:,}"
    return ", ".join(f"{count:,} {split}" for split, count in counts)


def check_span(row: EnvironmentRow, now: datetime) -> Span:
    """How the last gold check came out, or how far one is that goes on."""
    if row.check is not None:
        faults = f", {len(row.check.faults)} at fault" if row.check.faults else ""
        of = f"/{row.check.total}" if row.check.total is not None else ""
        return Span(f"… {row.check.done}{of} checked{faults}", Tone.INFO)
    if row.checked is None:
        return NOTHING
    if row.stale:
        return Span(f"~ {_ago(row.checked, now)}, of another version", Tone.MARK)
    if row.checked.problems:
        return Span(f"! {row.checked.problems} of {row.checked.tasks} at fault", Tone.BAD)
    return Span(f"✓ {row.checked.tasks} sound {_ago(row.checked, now)}", Tone.GOOD)


def _ago(record: GoldRecord, now: datetime) -> str:
    """Coarse from the first, so that a table at rest stays at rest."""
    return "just now" if (now - record.checked_at).total_seconds() < _NOW_SECONDS else f"{age_text(record.checked_at, now)} ago"


def _name_cell(row: EnvironmentRow, _now: datetime) -> Line:
    return line(Span("! ", Tone.BAD) if row.problem else "", strong(row.name))


def _grader_cell(row: EnvironmentRow, _now: datetime) -> Line:
    return line(Span("weaker ", Tone.MARK) if row.weaker else "", muted(row.grader))


def _groups_cell(row: EnvironmentRow, _now: datetime) -> Line:
    return line(str(len(row.groups))) if row.groups else line(NOTHING)


ENVIRONMENT_COLUMNS: tuple[Column[EnvironmentRow], ...] = (
    Column("name", "ENVIRONMENT", 24, _name_cell, lambda row: row.name, grow=24, middle=True, least=14, measure=Measure.TEXT),
    Column("version", "VERSION", 8, lambda row, _now: line(muted(row.version)), lambda row: row.version, priority=4),
    Column("kind", "KIND", 12, lambda row, _now: line(row.kind), lambda row: row.kind, priority=2, measure=Measure.TEXT),
    Column(
        "tasks",
        "TASKS",
        9,
        lambda row, _now: line(tasks_text(row)),
        lambda row: None if row.endless else sum(row.tasks.values()),
        priority=1,
        right=True,
        measure=Measure.COUNT,
    ),
    Column("grader", "GRADER", 16, _grader_cell, lambda row: row.grader, priority=5, grow=40, measure=Measure.TEXT),
    Column(
        "sandbox",
        "SANDBOX",
        7,
        lambda row, _now: line("needed") if row.in_sandbox else line(NOTHING),
        lambda row: "needed" if row.in_sandbox else "",
        priority=3,
        measure=Measure.TEXT,
    ),
    Column("groups", "GROUPS", 6, _groups_cell, lambda row: len(row.groups), priority=3, right=True, measure=Measure.COUNT),
    Column(
        "check",
        "GOLD CHECK",
        18,
        lambda row, now: line(check_span(row, now)),
        lambda row: row.checked.checked_at.timestamp() if row.checked is not None else None,
        grow=14,
    ),
)


class EnvironmentsState:
    """The environments as rows: folded from one look after another, and from the checks that this console runs."""

    def __init__(self) -> None:
        self.rows: Rows[EnvironmentRow] = Rows(ENVIRONMENT_COLUMNS, searchable=_searchable, asks=("state",))
        self.loaded = False
        self.problem = ""
        """Why the last look gave nothing; empty where it gave something."""

    def take(self, info: BackendInfo, applied: Sequence[Environment], groups: Iterable[AgentGroup]) -> None:
        """A look arrived: the workspace's own come first."""
        self.loaded, self.problem = True, ""
        checks = {record.environment.rpartition("@")[0]: record for record in info.gold_checks}
        using: dict[str, list[str]] = {}
        for group in groups:
            if group.spec.evaluation is not None:
                using.setdefault(group.spec.evaluation.environment, []).append(group.name)
        rows = [*(of_workspace(each) for each in applied), *(of_catalogue(each) for each in info.environments)]
        names = {row.name for row in rows}
        for gone in set(self.rows.keys()) - names:
            self.rows.remove(gone)
        for row in rows:
            known = self.rows.find(row.name)
            self.rows.put(
                row.name,
                replace(
                    row,
                    groups=tuple(using.get(row.reference, ())),
                    checked=checks.get(row.name),
                    check=known.check if known is not None else None,
                ),
            )

    def fail(self, problem: str) -> None:
        """A look gave nothing: what is known stays."""
        self.problem = problem

    def checking(self, name: str, check: Check | None) -> None:
        """A check of one goes on, or has ended."""
        row = self.rows.find(name)
        if row is not None:
            self.rows.put(name, replace(row, check=check))

    def filter(self, chosen: Filter | None) -> None:
        """Show the rows that a filter keeps, or all."""
        self.rows.filter(chosen)

    def moving(self) -> bool:
        """Whether something in the rows changes with the time alone: the age of a check."""
        return any(row.checked is not None for row in self.rows.items())

    def summary(self) -> Line:
        """How many there are, and what asks for something; nothing before they are known."""
        if not self.loaded:
            return ()
        rows = tuple(self.rows.items())
        own = sum(row.source in {"file", "folder"} for row in rows)
        faulty = sum(row.checked is not None and not row.stale and row.checked.problems > 0 for row in rows)
        unusable = sum(bool(row.problem) for row in rows)
        return joined(
            (
                line(muted(f"{own} of the workspace, {len(rows) - own} of the catalogue")),
                line(Span(f"! {unusable} not usable here", Tone.WARN)) if unusable else (),
                line(Span(f"! {faulty} with faults", Tone.BAD)) if faulty else (),
            )
        )


def _searchable(row: EnvironmentRow) -> Searchable:
    states = ("unusable",) if row.problem else ("usable",)
    return Searchable((row.name, row.description, *row.groups), states)


def environment_facts(row: EnvironmentRow, now: datetime, key: KeyNamer = own_key) -> tuple[Line, ...]:
    """One in words: what it is, how it is graded and how far that can be trusted, who uses it, its last check and its faults."""
    count = "as many tasks as are asked for" if row.endless else f"{tasks_text(row)} tasks"
    splits = f"split{'s' if len(row.splits) > 1 else ''} {', '.join(row.splits)}" if row.splits else ""
    if len(row.splits) == 1 and row.splits[0] in count.split():
        splits = ""  # The count names it.
    what = joined((line(strong(row.reference)), line(row.kind), line(muted(splits)), line(muted(count))))
    lines: list[Line] = [what]
    if row.problem:
        lines.append(line(Span(f"! It cannot be used here: {row.problem}", Tone.BAD)))
    lines += check_lines(row, now, key)
    sandbox = "judging needs sandboxes" if row.in_sandbox else "judging needs no sandbox"
    lines.append(joined((line(muted("graded by "), row.grader or "what the backend does not say"), line(muted(sandbox)))))
    lines.append(line(Span(f"~ {row.strength}", Tone.MARK) if row.weaker else muted(row.strength)))
    more = len(row.groups) - 3
    named = ", ".join(row.groups[-3:]) + (f" and {more} more" if more > 0 else "")
    lines.append(line(muted("used by "), named) if row.groups else line(muted("no group uses this version")))
    return (*lines, line(muted(row.description))) if row.description else tuple(lines)


def _of(record: GoldRecord) -> str:
    """Of which tasks a check was."""
    of = f" of {record.split}" if record.split else ""
    return of + (f", the first {record.limit} of {'it' if record.split else 'each split'}" if record.limit else "")


def check_lines(row: EnvironmentRow, now: datetime, key: KeyNamer = own_key) -> tuple[Line, ...]:
    """The last gold check, or the one that goes on, with the tasks at fault. The key is empty for who may start none."""
    faults: Sequence[GoldCase]
    if row.check is not None:
        faults = row.check.faults
        ends = f"; {key('gold_check')} ends it" if key("gold_check") else ""
        head = line(muted("gold check: "), check_span(row, now), muted(ends))
    elif (record := row.checked) is not None:
        faults = record.faults
        head = line(muted("gold check: "), check_span(row, now), muted(_of(record)))
    elif not key("gold_check"):
        return (line(muted("never checked")),)
    else:
        does = " puts reference solutions and empty answers through its grader"
        return (line(muted("never checked: "), Span(key("gold_check"), Tone.KEY, "do('gold_check')"), muted(does)),)
    told = [fault_line(case) for case in faults]
    return (head, *told)


def fault_line(case: GoldCase) -> Line:
    """`! test/sum-3: the reference solution fails: …`."""
    why = PROBLEM_WORDS.get(case.problem, case.problem)
    return line(
        Span("! ", Tone.BAD), strong(f"{case.split}/{case.task_id}"), f": {why}", muted(f": {case.message}" if case.message else "")
    )
