"""What can stand at a path of a kind: its fields, its values, and the help of each. Read from the schemas. Pure."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct

from nodus_tui.authoring.outline import Path
from nodus_tui.contract.durations import DURATION_PATTERN
from nodus_tui.contract.resources.registry import API_VERSIONS, KINDS
from nodus_tui.contract.schema import json_schema

KINDS_TO_WRITE = tuple(kind for kind in KINDS if kind != "AgentRun")
"""The kinds that people write: runs are made by groups."""
_OUTERMOST = {
    "apiVersion": "The version of the kind's fields.",
    "kind": "What the document makes.",
    "metadata": "What it is called and how it is found.",
    "spec": "What it is.",
}


class Field(Struct, frozen=True):
    """One field of a mapping."""

    name: str
    needed: bool
    """Whether it must be written."""
    form: str
    """What it takes, in a few words: `whole number 1 to 100, 10 unless said`."""
    shape: str
    """`mapping`, `list` or `value`."""
    help: str


def fields_at(kind: str, path: Path) -> tuple[Field, ...]:
    """The fields of the mapping at a path, those that must be written first; without a known kind those that every document has."""
    if kind not in KINDS_TO_WRITE:
        return tuple(
            Field(name, needed=True, form="", shape="mapping" if name in {"metadata", "spec"} else "value", help=text)
            for name, text in _OUTERMOST.items()
            if not path
        )
    found: dict[str, Field] = {}
    schema = _schema(kind)
    for node in _nodes(kind, path):
        for name, part in node.get("properties", {}).items():
            if name == "status" and not path:
                continue
            needed = name in node.get("required", ())
            found.setdefault(name, Field(name, needed, _form(schema, part), _shape(schema, part), _help(schema, part, path, name)))
    return tuple(sorted(found.values(), key=lambda field: not field.needed))


def field_at(kind: str, path: Path) -> Field | None:
    """The field at a path; an item of a list is told as its list."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    if not path:
        return None
    return next((field for field in fields_at(kind, path[:-1]) if field.name == path[-1]), None)


def values_at(kind: str, path: Path) -> tuple[str, ...]:
    """The values that a field can have, where they can be counted, or examples of them."""
    if path == ("kind",):
        return KINDS_TO_WRITE
    if path == ("apiVersion",):
        return (API_VERSIONS[kind],) if kind in API_VERSIONS else tuple(sorted(set(API_VERSIONS.values())))
    if kind not in KINDS_TO_WRITE:
        return ()
    found: list[str] = []
    for node in _nodes(kind, path):
        found += [_written(each) for each in node.get("enum", ())]
        found += [_written(node["const"])] if "const" in node else []
        found += ["true", "false"] if node.get("type") == "boolean" else []
        found += [_written(each) for each in node.get("examples", ())]
    return tuple(dict.fromkeys(found))


def is_mapping(kind: str, path: Path) -> bool:
    """Whether fields can stand at a path."""
    return bool(fields_at(kind, path))


@cache
def _schema(kind: str) -> dict[str, Any]:
    return json_schema(kind)


def _nodes(kind: str, path: Path) -> list[dict[str, Any]]:
    """Every form that what stands at a path can have."""
    schema = _schema(kind)
    nodes = list(_forms(schema, schema))
    for step in path:
        nodes = [form for node in nodes for inner in _inner(node, step) for form in _forms(schema, inner)]
    return nodes


def _inner(node: dict[str, Any], step: str | int) -> Iterator[dict[str, Any]]:
    if isinstance(step, int):
        if isinstance(node.get("items"), dict):
            yield node["items"]
    elif step in node.get("properties", {}):
        yield node["properties"][step]
    elif isinstance(node.get("additionalProperties"), dict):
        yield node["additionalProperties"]


def _forms(schema: dict[str, Any], node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node without its references and choices: one for each form."""
    if "$ref" in node:
        yield from _forms(schema, schema["$defs"][str(node["$ref"]).rpartition("/")[2]])
    choices = [*node.get("anyOf", ()), *node.get("oneOf", ())]
    for choice in choices:
        yield from _forms(schema, choice)
    if not choices and "$ref" not in node and node.get("type") != "null":
        yield node


def _shape(schema: dict[str, Any], node: dict[str, Any]) -> str:
    types = {form.get("type") for form in _forms(schema, node)}
    return "mapping" if "object" in types and "string" not in types else "list" if types == {"array"} else "value"


def _help(schema: dict[str, Any], node: dict[str, Any], path: Path, name: str) -> str:
    if not path and name in _OUTERMOST:
        return _OUTERMOST[name]
    own = node.get("description")
    if isinstance(own, str):
        return " ".join(own.split())
    described = (form["description"] for form in _forms(schema, node) if isinstance(form.get("description"), str))
    return " ".join(next(described, "").split())


def _form(schema: dict[str, Any], node: dict[str, Any]) -> str:
    words = " or ".join(dict.fromkeys(_words(schema, form) for form in _forms(schema, node)))
    default = node.get("default")
    if default not in (None, [], {}, "") and "const" not in node and not isinstance(default, dict | list):
        words = f"{words}, {_written(default)} unless said"
    return words


def _words(schema: dict[str, Any], form: dict[str, Any]) -> str:
    kind = form.get("type")
    if "const" in form:
        return _written(form["const"])
    if "enum" in form:
        return " | ".join(_written(each) for each in form["enum"])
    if kind in {"integer", "number"}:
        return f"{'whole number' if kind == 'integer' else 'number'}{_limits(form)}"
    if kind == "array":
        items = form.get("items")
        inner = " or ".join(dict.fromkeys(_words(schema, each) for each in _forms(schema, items))) if isinstance(items, dict) else "values"
        return f"list of {inner}"
    if kind == "string":
        return _text_words(form)
    return {"boolean": "true | false", "object": "fields"}.get(str(kind), "a value")


def _text_words(form: dict[str, Any]) -> str:
    if form.get("pattern") == DURATION_PATTERN:
        return "duration such as 30m"
    if "10}(\\.[0-9]{1,9}" in str(form.get("pattern")):
        return 'US dollars in quotes, such as "0.10"'
    return "text"


def _limits(form: dict[str, Any]) -> str:
    low, high = form.get("minimum"), form.get("maximum")
    above = form.get("exclusiveMinimum")
    start = f" above {_written(above)}" if above is not None else f" {_written(low)}" if low is not None else ""
    if high is None:
        return f"{start} or more" if low is not None else start
    return (
        f"{start} to {_written(high)}" if low is not None else f"{start}, at most {_written(high)}" if start else f" up to {_written(high)}"
    )


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
