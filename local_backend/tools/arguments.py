"""Reads what a model wrote as a tool's arguments into typed arguments, or says to the model what is wrong with them. Pure.

Tolerant where nothing can be misunderstood: numbers and flags written as texts, whole numbers written as `3.0`, null for an argument
left out, line breaks inside JSON strings, and an object that was encoded twice. Unknown names are refused, for a guess might do
something else than was meant.
"""

import json
import math
import re
from collections.abc import Mapping

from msgspec import Struct
from pydantic import JsonValue

from local_backend.tools.definitions import TOOL_FIELDS, FieldKind, ToolField
from nodus_tui.contract.resources.agent import ToolName
from nodus_tui.contract.wording import quoted

LONGEST_PATH = 4096
"""Bytes; what the kernel takes."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WHOLE = re.compile(r"\+?[0-9]{1,15}(?:\.0*)?")
_LARGEST_WHOLE = 10**15
_MOST_NAMES = 5


class ArgumentsError(Exception):
    """The arguments cannot be used. The text is for the model: what is wrong, and what is expected."""


class BashArguments(Struct, frozen=True):
    """Run a command."""

    command: str
    timeout_seconds: float | None = None


class ReadArguments(Struct, frozen=True):
    """Read lines of a file."""

    path: str
    first_line: int = 1
    lines: int | None = None


class WriteArguments(Struct, frozen=True):
    """Write a file."""

    path: str
    content: str


class EditArguments(Struct, frozen=True):
    """Replace a text in a file."""

    path: str
    old: str
    new: str
    all: bool = False


class SubmitArguments(Struct, frozen=True):
    """Hand in the answer."""

    answer: str


Arguments = BashArguments | ReadArguments | WriteArguments | EditArguments | SubmitArguments


def read_arguments(tool: ToolName, text: str) -> Arguments:
    """The typed arguments of a call. Raises ArgumentsError with a text for the model."""
    fields = TOOL_FIELDS[tool]
    given = _object(tool, text)
    _refuse_unknown(tool, fields, given)
    values = _Values(tool, fields, given)
    match tool:
        case "bash":
            return BashArguments(values.text("command"), values.seconds("timeoutSeconds"))
        case "read":
            return ReadArguments(values.text("path"), values.whole("firstLine") or 1, values.whole("lines"))
        case "write":
            return WriteArguments(values.text("path"), values.text("content"))
        case "edit":
            return EditArguments(values.text("path"), values.text("old"), values.text("new"), values.flag("all"))
        case "submit":
            return SubmitArguments(values.text("answer"))


def _object(tool: ToolName, text: str) -> dict[str, JsonValue]:
    value = _json(tool, text) if text.strip() else {}
    if isinstance(value, str):  # Encoded twice, as some models do.
        value = _json(tool, value)
    if not isinstance(value, dict):
        raise ArgumentsError(f"The arguments are {_kind_of(value)}, not a JSON object. {_expected(tool)}")
    return value


def _json(tool: ToolName, text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text, strict=False)
    except RecursionError as error:
        raise ArgumentsError(f"The arguments are nested too deeply. {_expected(tool)}") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ArgumentsError(f"The arguments are not valid JSON: {error.msg} at {where}. {_expected(tool)}") from error
    except ValueError as error:  # A number with thousands of digits.
        raise ArgumentsError(f"The arguments hold a number that is far too long. {_expected(tool)}") from error
    return value


def _refuse_unknown(tool: ToolName, fields: tuple[ToolField, ...], given: Mapping[str, JsonValue]) -> None:
    known = {field.name for field in fields}
    unknown = [name for name in given if name not in known]
    if not unknown:
        return
    faults = [f"{_unknown(tool, fields, name)}." for name in unknown[:_MOST_NAMES]]
    if len(unknown) > _MOST_NAMES:
        faults.append(f"{len(unknown) - _MOST_NAMES} more are unknown.")
    raise ArgumentsError(f"{' '.join(faults)} Nothing was done. {_expected(tool)}")


def _unknown(tool: ToolName, fields: tuple[ToolField, ...], name: str) -> str:
    folded = name.casefold()
    for field in fields:
        if folded in {other.casefold() for other in (field.name, *field.also_known_as)}:
            return f"{quoted(name)} is not an argument of {tool}; its name is `{field.name}`"
    return f"{quoted(name)} is not an argument of {tool}"


class _Values(Struct, frozen=True):
    """The arguments of one call, given by name once their kind is checked."""

    tool: ToolName
    fields: tuple[ToolField, ...]
    given: Mapping[str, JsonValue]

    def text(self, name: str) -> str:
        field, value = self._value(name)
        if not isinstance(value, str):
            raise self._wrong(field, value)
        if _SURROGATE.search(value):
            raise ArgumentsError(f"`{name}` holds half a surrogate pair, which is no character. Nothing was done.")
        if "\0" in value and field.kind != "data":
            raise ArgumentsError(f"`{name}` holds a NUL character, which no {field.kind if field.kind == 'path' else 'command'} can have.")
        if field.kind == "path":
            _check_path(value)
        return value

    def whole(self, name: str) -> int | None:
        field, value = self._value(name)
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            value = int(value.strip().partition(".")[0])
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < _LARGEST_WHOLE:
            raise self._wrong(field, value)
        return value

    def seconds(self, name: str) -> float | None:
        field, value = self._value(name)
        if value is None:
            return None
        try:
            number = float("nan") if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
        except (ValueError, OverflowError):
            number = float("nan")
        if not (math.isfinite(number) and number > 0):
            raise self._wrong(field, value)
        return number

    def flag(self, name: str) -> bool:
        field, value = self._value(name)
        if isinstance(value, str) and value.strip().casefold() in {"true", "false"}:
            value = value.strip().casefold() == "true"
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self._wrong(field, value)
        return value

    def _value(self, name: str) -> tuple[ToolField, JsonValue]:
        field = next(field for field in self.fields if field.name == name)
        value = self.given.get(name)
        if value is None and field.required:
            raise ArgumentsError(f"`{name}` is missing. {_expected(self.tool)}")
        return field, value

    def _wrong(self, field: ToolField, value: JsonValue) -> ArgumentsError:
        return ArgumentsError(f"`{field.name}` is {_kind_of(value)}; it must be {_KIND_WORDS[field.kind]}. {_expected(self.tool)}")


def _check_path(path: str) -> None:
    if not path:
        raise ArgumentsError("`path` is empty; it must name a file.")
    if path == "~" or path.startswith("~/"):
        raise ArgumentsError("`~` is not expanded in a path; write the folder's whole path.")
    if len(path.encode()) > LONGEST_PATH:
        raise ArgumentsError(f"`path` is longer than {LONGEST_PATH:,} bytes.")


_KIND_WORDS: Mapping[FieldKind, str] = {
    "text": "a text",
    "path": "a text",
    "data": "a text",
    "whole": "a whole number from 1 up",
    "seconds": "a number of seconds above 0",
    "flag": "true or false",
}


def _expected(tool: ToolName) -> str:
    parts = [f'"{field.name}": {_KIND_WORDS[field.kind]}{"" if field.required else " (optional)"}' for field in TOOL_FIELDS[tool]]
    return f"{tool} expects {{{', '.join(parts)}}}."


def _kind_of(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            text = str(value) if isinstance(value, float) or abs(value) < _LARGEST_WHOLE else "far too large"
            return f"the number {text}" if text[0] in "-0123456789" else f"a number that is {text}"
        case str():
            return f"the text {quoted(value)}"
        case list():
            return "a list"
        case _:
            return "an object"
