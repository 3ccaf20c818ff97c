"""JSON Schema (draft 2020-12) of each kind and of the configuration file, so that editors complete and check what people write."""

from datetime import timedelta
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.configuration import Configuration
from nodus_tui.contract.durations import DURATION_PATTERN, duration_text
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.field_docs import field_docs
from nodus_tui.contract.resources.registry import API_VERSIONS, KINDS
from nodus_tui.contract.spec_loading.nearest import nearest

CONFIGURATION = "Configuration"
SCHEMA_NAMES = (*KINDS, CONFIGURATION)
"""What there is a schema of."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ISO_DURATION = TypeAdapter(timedelta)


def json_schema(kind: str) -> dict[str, Any]:
    """The schema of a kind's documents, or of the configuration file (`Configuration`).

    What it refuses the loader refuses too; rules over several fields are the loader's alone. Raises NodusError NotFound.
    """
    if kind not in SCHEMA_NAMES:
        raise NodusError.not_found("schema", kind, nearest(kind, SCHEMA_NAMES))
    model = KINDS.get(kind, Configuration)
    schema = model.model_json_schema(by_alias=True)
    version = API_VERSIONS.get(kind, "nodus.dev/v1")
    if kind != CONFIGURATION:
        schema["required"] = ["apiVersion", "kind", "metadata", "spec"]
        schema["properties"]["status"] = {"description": "Written by the backend; ignored in a spec file."}
    _drop_titles(schema)
    _write_durations(schema)
    schema["title"] = kind
    _describe(schema, model)
    for name, definition in schema.get("$defs", {}).items():
        if name in _models():
            _describe(definition, _models()[name])
    whole = {"$schema": _DIALECT, "$id": f"urn:{version.replace('/', ':')}:{kind}", **schema}
    whole["$defs"] = _used_definitions(whole)
    return whole


def _drop_titles(node: Any) -> None:
    """Take out the titles and the discriminator hints that pydantic adds: they repeat the names, and editors show them."""
    if isinstance(node, dict):
        if isinstance(node.get("title"), str):
            del node["title"]
        if isinstance(node.get("discriminator"), dict) and "mapping" in node["discriminator"]:
            del node["discriminator"]
        for part in node.values():
            _drop_titles(part)
    elif isinstance(node, list):
        for part in node:
            _drop_titles(part)


def _write_durations(node: Any) -> None:
    """Defaults of durations as they stand in a spec (`2m`): pydantic writes them as ISO 8601, which the loader refuses."""
    if isinstance(node, dict):
        default = node.get("default")
        durations = any(form.get("pattern") == DURATION_PATTERN for form in (node, *node.get("anyOf", ())))
        if durations and isinstance(default, str) and default.startswith("P"):
            node["default"] = duration_text(_ISO_DURATION.validate_python(default))
        for part in node.values():
            _write_durations(part)
    elif isinstance(node, list):
        for part in node:
            _write_durations(part)


@cache
def _models() -> dict[str, type[BaseModel]]:
    """Every contract type by the name that its definition has."""
    found: dict[str, type[BaseModel]] = {}
    waiting: list[type[BaseModel]] = [ContractModel]
    while waiting:
        model = waiting.pop()
        found[model.__name__] = model
        waiting += model.__subclasses__()
    return found


def _describe(definition: dict[str, Any], model: type[BaseModel]) -> None:
    """Put the sentences that stand under a model's fields into its schema."""
    for name, text in field_docs(model).items():
        alias = model.model_fields[name].alias or name
        definition["properties"][alias]["description"] = text


def _used_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """The definitions that something refers to: the status has gone, and with it what only it needed."""
    definitions: dict[str, Any] = schema.get("$defs", {})
    used: dict[str, Any] = {}
    waiting = _references({name: part for name, part in schema.items() if name != "$defs"})
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = definitions[name]
            waiting |= _references(definitions[name])
    return dict(sorted(used.items()))


def _references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"].removeprefix("#/$defs/")} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(_references, node.values()))
    if isinstance(node, list):
        return set().union(*map(_references, node))
    return set()
