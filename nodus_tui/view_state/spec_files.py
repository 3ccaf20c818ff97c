"""The specs view: the files of a folder and the examples, what is in each, whether it is valid, and how it stands to what is applied."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from nodus_tui.contract.errors import Fault
from nodus_tui.contract.outcomes import AppliedDocument
from nodus_tui.values import replace
from nodus_tui.view_state.cells import Line, Span, Tone, hint, joined, line, muted, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.estimates import fault_lines
from nodus_tui.view_state.filtering import Filter, Searchable
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.rows import Rows

Standing = Literal["looking", "applied", "changed", "new", "partly", "refused", "faulty", "unreadable", "unknown"]

STANDING_SIGNS: dict[Standing, Span] = {
    "looking": Span("… looking", Tone.MUTED),
    "applied": Span("✓ applied", Tone.GOOD),
    "changed": Span("± changed", Tone.WARN),
    "new": Span("+ not applied", Tone.INFO),
    "partly": Span("± partly applied", Tone.WARN),
    "refused": Span("! refused here", Tone.WARN),
    "faulty": Span("! faults", Tone.BAD),
    "unreadable": Span("! unreadable", Tone.BAD),
    "unknown": Span("? not checked", Tone.WARN),
}
_ORDER = {
    standing: place
    for place, standing in enumerate(("faulty", "unreadable", "refused", "changed", "partly", "new", "unknown", "looking", "applied"))
}


class SpecRow(Struct, frozen=True):
    """One file."""

    path: str
    """Where it is; the key of its row."""
    shown: str
    example: bool = False
    identities: tuple[tuple[str, str], ...] = ()
    """Kind and name of each document that can be read."""
    faults: tuple[Fault, ...] = ()
    outcomes: tuple[AppliedDocument, ...] = ()
    """What applying it would do."""
    problem: str = ""
    """Why it cannot be read, or not be checked."""
    checked: bool = False
    readable: bool = True
    draft: bool = False
    """There is unsaved text of it."""

    @property
    def standing(self) -> Standing:
        """How it stands to the workspace."""
        if not self.checked or not self.readable:
            return "unreadable" if self.checked else "looking"
        if self.faults or self.problem:
            return "faulty" if self.faults else "unknown"
        found = {each.outcome for each in self.outcomes}
        if "refused" in found:
            return "refused"  # Of what is applied at once, all is refused.
        if found == {"created"}:
            return "new"
        if "changed" in found:
            return "changed"
        return "partly" if "created" in found else "applied"


def kinds_text(row: SpecRow) -> str:
    """`Agent, AgentGroup`; several of one kind with their number."""
    kinds = [kind for kind, _ in row.identities]
    return ", ".join(kind if kinds.count(kind) == 1 else f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def names_text(row: SpecRow) -> str:
    """The names of its documents, each once."""
    return ", ".join(dict.fromkeys(name for _, name in row.identities))


def _state_cell(row: SpecRow, _now: datetime) -> Line:
    if row.standing == "faulty":
        count = len(row.faults)
        return line(Span(f"! {count} fault{'' if count == 1 else 's'}", Tone.BAD))
    return line(STANDING_SIGNS[row.standing])


def _file_cell(row: SpecRow, _now: datetime) -> Line:
    return line(Span("draft ", Tone.WARN) if row.draft else "", strong(row.shown))


SPEC_COLUMNS: tuple[Column[SpecRow], ...] = (
    Column("file", "FILE", 30, _file_cell, lambda row: f"1{row.shown}" if row.example else f"0{row.shown}", grow=30, middle=True, least=12),
    Column("state", "STATE", 16, _state_cell, lambda row: _ORDER[row.standing]),
    Column("kinds", "KINDS", 18, lambda row, _now: line(kinds_text(row)), kinds_text, priority=1, grow=16, measure=Measure.TEXT),
    Column(
        "names",
        "NAMES",
        14,
        lambda row, _now: line(muted(names_text(row))),
        names_text,
        priority=2,
        grow=60,
        middle=True,
        measure=Measure.TEXT,
    ),
)


class SpecFiles:
    """The files as rows."""

    def __init__(self) -> None:
        self.rows: Rows[SpecRow] = Rows(SPEC_COLUMNS, sort="file", searchable=_searchable, asks=("state",))
        self.loaded = False

    def found(self, rows: Sequence[SpecRow]) -> None:
        """These are the files there; of one that was known, what is known stays until it is checked again."""
        new = {row.path for row in rows}
        for path in set(self.rows.keys()) - new:
            self.rows.remove(path)
        for row in rows:
            known = self.rows.find(row.path)
            self.rows.put(row.path, row if known is None else replace(known, draft=row.draft))
        self.loaded = True

    def put(self, row: SpecRow) -> None:
        """One of them was checked."""
        if self.rows.find(row.path) is not None:
            self.rows.put(row.path, row)

    def filter(self, chosen: Filter | None) -> None:
        """Show the rows that a filter keeps, or all."""
        self.rows.filter(chosen)

    def moving(self) -> bool:
        """Nothing in them changes with the time alone."""
        return False

    def summary(self) -> Line:
        """How many there are of each kind of standing that asks for something."""
        standings = [row.standing for row in self.rows.items()]
        parts = [line(muted(f"{len(standings)} file{'' if len(standings) == 1 else 's'}"))]
        told: tuple[tuple[Standing, str, Tone], ...] = (
            ("faulty", "with faults", Tone.BAD),
            ("unreadable", "unreadable", Tone.BAD),
            ("refused", "that apply refuses here", Tone.WARN),
            ("changed", "changed since applied", Tone.WARN),
        )
        for standing, words, tone in told:
            if count := standings.count(standing):
                parts.append(line(Span(f"{count} {words}", tone)))
        return joined(parts)


def _searchable(row: SpecRow) -> Searchable:
    # The word in the table, and the one of the standing: `faulty` for `! 2 faults`.
    words = (STANDING_SIGNS[row.standing].text.partition(" ")[2], row.standing, *(("draft",) if row.draft else ()))
    return Searchable((row.shown, kinds_text(row), names_text(row)), words)


def spec_facts(row: SpecRow, key: KeyNamer = own_key) -> Sequence[Line]:
    """The selected file in words."""
    example = line(muted("an example: edited, it is saved in your folder")) if row.example else ()
    # Here, since a narrow footer has no place for it.
    differs = row.standing in {"changed", "partly"}
    differences = hint(key("differences"), " shows the differences", "do('differences')") if differs else ()
    lines: list[Line] = [joined((line(strong(row.shown)), example, differences))]
    if row.draft:
        lines.append(line(Span(f"~ Text of it was not saved: {key('open')} offers it.", Tone.WARN)))
    if row.problem:
        lines.append(line(Span(f"! {row.problem}", Tone.BAD)))
    if row.faults:
        return (*lines, *fault_lines(row.faults[:3]))
    for each in row.outcomes:
        changes = "; ".join(f"{change.field}: {change.old or 'none'} → {change.new or 'none'}" for change in each.changes)
        if each.outcome == "refused":
            lines.append(line(Span(f"! {each.message}", Tone.WARN)))
            continue
        words = {"created": "not applied", "changed": "changed since it was applied", "unchanged": "as it is applied"}[each.outcome]
        lines.append(line(f"{each.kind} {each.name}: ", muted(words), muted(f" ({changes})" if changes else "")))
    return lines
