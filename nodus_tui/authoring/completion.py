"""What can be written where the cursor stands: names of fields that are not there yet, values, names of what the workspace has. Pure."""

import re
from collections.abc import Iterable

from msgspec import Struct

from nodus_tui.authoring.fields import Field, field_at, fields_at, values_at
from nodus_tui.authoring.outline import Outline, Place

_STEP = 2
"""Cells of one level of indentation."""
_REST_OF_NAME = re.compile(r"[^:,\[\]{}#]*:(?=\s|\Z)")


class Names(Struct, frozen=True):
    """What can be named in a spec, as the workspace knows it."""

    agents: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    """As name@version."""
    models: tuple[str, ...] = ()
    """Families of the catalogue."""
    hardware: tuple[str, ...] = ()


NO_NAMES = Names()


class Proposal(Struct, frozen=True):
    """One thing that can be written."""

    word: str
    """As it is listed."""
    insert: str
    """What takes the place of what is typed of it."""
    help: str


def proposals(outline: Outline, place: Place, names: Names = NO_NAMES) -> tuple[Proposal, ...]:
    """What can be written at a place, the best first: what begins with what is typed, then what holds it."""
    kind = outline.kind(place.document)
    if place.slot == "none":
        return ()
    found: list[Proposal] = []
    if place.slot == "name":
        taken = outline.siblings(place.document, place.path) - {place.prefix.strip().rstrip(":")}
        found += [_of_field(field, place) for field in fields_at(kind, place.path) if field.name not in taken]
    if place.slot == "value" or (place.path and isinstance(place.path[-1], int)):
        field = field_at(kind, place.path)
        found += [Proposal(each, _quoted(each, field), "") for each in _values(outline, kind, place, names)]
    return _matching(found, place.prefix)


def help_at(outline: Outline, row: int, column: int) -> tuple[str, Field | None]:
    """The path of the field under a place, as people write it, and the field; none in comments and where no field is known."""
    place = outline.place(row, column)
    path = place.path
    if place.slot == "name":
        # In the midst of a name, also between brackets: the field is known once the name and its colon are read.
        text = outline.lines[row] if row < len(outline.lines) else ""
        rest = _REST_OF_NAME.match(text, column)
        typed = place.prefix.strip()
        path = outline.place(row, rest.end()).path if rest is not None else (*path, typed) if typed else path
    return _path_words(path), field_at(outline.kind(place.document), path)


def _path_words(path: tuple[str | int, ...]) -> str:
    words = ""
    for step in path:
        words += f"[{step}]" if isinstance(step, int) else f".{step}" if words else step
    return words


def _of_field(field: Field, place: Place) -> Proposal:
    deeper = " " * (place.indent + _STEP)
    if place.flow or field.shape == "value":
        insert = f"{field.name}: "
    elif field.shape == "list":
        insert = f"{field.name}:\n{deeper}- "
    else:
        insert = f"{field.name}:\n{deeper}"
    needed = "must be there; " if field.needed else ""
    return Proposal(field.name, insert, f"{needed}{field.form}{'. ' if field.form and field.help else ''}{field.help}")


def _values(outline: Outline, kind: str, place: Place, names: Names) -> tuple[str, ...]:
    named = [step for step in place.path if isinstance(step, str)]
    last = named[-1] if named else ""
    here = {
        "agent": (*outline.names("Agent"), *names.agents),
        "agents": (*outline.names("Agent"), *names.agents),
        "environment": (*_own_environments(outline), *names.environments),
        "families": names.models,
        "family": names.models,
        "models": names.models,
        "hardware": names.hardware,
    }.get(last, ())
    return tuple(dict.fromkeys((*here, *values_at(kind, place.path))))


def _own_environments(outline: Outline) -> Iterable[str]:
    for index in range(len(outline.starts)):
        if outline.kind(index) == "Environment":
            name, version = outline.value(index, "metadata", "name"), outline.value(index, "spec", "version")
            if name and version:
                yield f"{name}@{version}"


def _quoted(value: str, field: Field | None) -> str:
    """Money is a text, and a number would be none without its quotes."""
    return f'"{value}"' if field is not None and "in quotes" in field.form else value


def _matching(found: list[Proposal], prefix: str) -> tuple[Proposal, ...]:
    typed = prefix.strip("\"'").casefold()
    begin = [each for each in found if each.word.casefold().startswith(typed)]
    hold = [each for each in found if typed and typed in each.word.casefold() and each not in begin]
    # What is typed wholly needs no completing.
    return tuple(each for each in (*begin, *hold) if each.insert.rstrip() != prefix)
