"""From what pydantic found to what the person who wrote the spec should read: plain sentences with names, values and limits."""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from nodus_tui.contract.spec_loading.bundle import path_text
from nodus_tui.contract.spec_loading.finding import Finding
from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.spec_loading.paths import Path
from nodus_tui.contract.spec_loading.scalars import SourceFloat
from nodus_tui.contract.spec_loading.shapes import Place, Shape, as_model, fields_by_name, locate
from nodus_tui.contract.wording import alternatives, escaped, quoted

_WRONG_TYPES = frozenset(
    {
        *("string_type", "int_type", "int_from_float", "float_type", "bool_type", "tuple_type", "list_type", "dict_type"),
        *("model_type", "model_attributes_type", "mapping_type", "int_parsing", "float_parsing", "bool_parsing"),
    }
)
_WORDS = {"None": "empty", "True": "true", "False": "false"}
_LONGEST_INTEGER = 400
"""Bits of an integer that a message repeats; turning a longer one into digits could cost or fail."""
_RANGES = frozenset({"greater_than", "greater_than_equal", "less_than", "less_than_equal"})


def shown(value: object) -> str:
    """A value as a message repeats it."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, SourceFloat):
        return value.text
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        return "a very long number"
    if isinstance(value, dict | tuple | list):
        return "a mapping of fields" if isinstance(value, dict) else "a list"
    return _WORDS.get(repr(value), escaped(str(value))[:60])


def findings(error: ValidationError, model: type[BaseModel]) -> list[Finding]:
    """All faults that the error tells, those of one union told once."""
    told: list[Finding] = []
    merged: set[Path] = set()
    details = error.errors(include_url=False)
    places = [locate(model, detail["loc"]) for detail in details]
    deeper = {path for place in places for path in place.unions if len(place.path) > len(path)}
    for detail, place in zip(details, places, strict=True):
        union = next(iter(place.unions), None)
        if union is None or place.path != union or (union not in deeper and detail["type"] in {"value_error", *_RANGES}):
            told.append(_finding(detail, place))
        elif union not in deeper and union not in merged:
            merged.add(union)
            told.append(_no_member(detail, place, place.unions[union]))
    return told


def _no_member(detail: ErrorDetails, place: Place, union: Shape) -> Finding:
    """The fault of a value that is none of what a union allows."""
    value = detail["input"]
    message = f"{_name(place.path)} is {shown(value)}; it must be {union.expected()}"
    return Finding(place.path, message, _nearest_choice(value, union.choices()))


def without_consequences(told: Sequence[Finding]) -> list[Finding]:
    """Leave out a missing field where an unknown one beside it is a misspelling of it."""
    meant = {(*each.path[:-1], each.suggestion) for each in told if each.at_key and each.suggestion}
    return [each for each in told if not (each.missing and each.path in meant)]


def _name(path: Path) -> str:
    """The last name of a path, with the indices after it."""
    names = [index for index, part in enumerate(path) if isinstance(part, str)]
    return path_text(path[names[-1] :]) if names else (path_text(path) or "the document")


def _finding(detail: ErrorDetails, place: Place) -> Finding:
    kind = detail["type"]
    if kind in _WRONG_TYPES:
        return _wrong_type(detail, place)
    if kind in _RANGES:
        return Finding(place.path, f"{_name(place.path)} is {shown(detail['input'])}; it must be {_range(place.shape)}")
    teller = _TELLERS.get(kind)
    return teller(detail, place) if teller else _as_told(detail, place)


def _as_told(detail: ErrorDetails, place: Place) -> Finding:
    """The sentence of a rule of our own."""
    message = detail["msg"].removeprefix("Value error, ")
    return Finding(place.path, message, at_key=place.is_key)


def _wrong_type(detail: ErrorDetails, place: Place) -> Finding:
    value = detail["input"]
    expected = place.shape.expected()
    message = f"{_name(place.path)} is {shown(value)}; it must be {expected}"
    suggestion = ""
    if expected == "text" and isinstance(value, int | float):
        suggestion = shown(value)
        message += ": put it in quotes"
    elif isinstance(value, str) and place.shape.annotation in {int, float, bool}:
        message += ", without quotes"
    return Finding(place.path, message, suggestion, at_key=place.is_key)


def _range(shape: Shape) -> str:
    low, high = shape.limits()
    if shape.above():
        return f"above {low}" + (f" and at most {high}" if high is not None else "")
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


def _missing(_detail: ErrorDetails, place: Place) -> Finding:
    return Finding(place.path, f"{_name(place.path)} is missing", missing=True)


def _unknown(_detail: ErrorDetails, place: Place) -> Finding:
    known = list(fields_by_name(place.parent)) if place.parent else []
    name = str(place.path[-1])
    suggestion = nearest(name, known)
    owner = path_text(place.path[:-1]) or "a document"
    message = f"{owner} has no field {quoted(name)}"
    if not suggestion:
        message += f"; {_owner_below(place, name) or 'it has ' + ', '.join(known)}"
    return Finding(place.path, message, suggestion, at_key=True)


def _owner_below(place: Place, name: str) -> str:
    """Which field beside an unknown one has a field of that name: it was written one level too high."""
    beside = fields_by_name(place.parent) if place.parent else {}
    owners = [
        field
        for field, info in beside.items()
        if any(name in fields_by_name(model) for model in map(as_model, Shape.of_field(info).members) if model)
    ]
    return f"it belongs into {alternatives(owners)}" if owners else ""


def _choice(detail: ErrorDetails, place: Place) -> Finding:
    value = detail["input"]
    choices = place.shape.choices()
    message = f"{_name(place.path)} is {shown(value)}; it must be {alternatives(choices)}"
    return Finding(place.path, message, _nearest_choice(value, choices))


def _nearest_choice(value: object, choices: Sequence[str]) -> str:
    return nearest(value, choices) if isinstance(value, str) else ""


def _tag(detail: ErrorDetails, place: Place) -> Finding:
    """The fault of the field that says which member of a union is meant."""
    field = place.shape.discriminator
    value = detail["input"]
    path = (*place.path, field)
    choices = place.shape.choices()
    if not isinstance(value, dict) or field not in value:
        return Finding(path, f"{field} is missing; it must be {alternatives(choices)}", missing=True)
    message = f"{field} is {shown(value[field])}; it must be {alternatives(choices)}"
    return Finding(path, message, _nearest_choice(value[field], choices))


def _short_text(_detail: ErrorDetails, place: Place) -> Finding:
    return Finding(place.path, f"{_name(place.path)} is empty; it needs some text", at_key=place.is_key)


def _long_text(detail: ErrorDetails, place: Place) -> Finding:
    limit = detail["ctx"]["max_length"]
    return Finding(
        place.path,
        f"{_name(place.path)} has {len(detail['input']):,} characters; it may have at most {limit:,}",
        at_key=place.is_key,
    )


def _count(detail: ErrorDetails, place: Place) -> Finding:
    context = detail["ctx"]
    limit = f"at least {context['min_length']:,}" if "min_length" in context else f"at most {context['max_length']:,}"
    return Finding(place.path, f"{_name(place.path)} has {len(detail['input']):,} entries; it must have {limit}")


def _pattern(detail: ErrorDetails, place: Place) -> Finding:
    return Finding(place.path, f"{_name(place.path)} is {shown(detail['input'])}; it must match {detail['ctx']['pattern']}")


def _money(detail: ErrorDetails, place: Place) -> Finding:
    value = detail["input"]
    message = f"{_name(place.path)} is {shown(value)}; {detail['msg']}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Finding(place.path, message, shown(value) if is_number else "")


def _duration(detail: ErrorDetails, place: Place) -> Finding:
    value = detail["input"]
    message = f"{_name(place.path)} is {shown(value)}; {detail['msg']}"
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return Finding(place.path, message, f"{shown(value)}s" if whole else "")


_TELLERS: dict[str, Callable[[Any, Place], Finding]] = {
    "missing": _missing,
    "extra_forbidden": _unknown,
    "literal_error": _choice,
    "union_tag_invalid": _tag,
    "union_tag_not_found": _tag,
    "string_too_short": _short_text,
    "string_too_long": _long_text,
    "too_short": _count,
    "too_long": _count,
    "string_pattern_mismatch": _pattern,
    "money_type": _money,
    "price_type": _money,
    "duration_type": _duration,
}
