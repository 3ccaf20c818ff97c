"""`schema`: JSON Schema of a kind, or of every kind, for editors and checks."""

import click
from pydantic import JsonValue

from nodus_tui.cli.output import emit, json_text
from nodus_tui.cli.targets import kind_of
from nodus_tui.contract.schema import CONFIGURATION, SCHEMA_NAMES, json_schema


@click.command("schema")
@click.argument("kind", required=False)
def command(kind: str | None) -> int:
    """JSON Schema (draft 2020-12) of KIND, or of any spec document, on stdout. `config` gives that of the configuration file.

    An editor that checks YAML against it completes field names and shows faults while you type.
    """
    emit(json_text(any_document() if kind is None else json_schema(_named(kind))))
    return 0


def _named(kind: str) -> str:
    return CONFIGURATION if kind.lower() in {"config", "configuration"} else kind_of(kind)


def any_document() -> dict[str, JsonValue]:
    """The schema of any spec document: what its kind says decides. Each kind's schema stands in it whole, under its own $id."""
    kinds: list[JsonValue] = [name for name in SCHEMA_NAMES if name != CONFIGURATION]
    choices: list[JsonValue] = [
        {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": json_schema(str(kind))} for kind in kinds
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A nodus-tui spec document",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {"kind": {"enum": kinds}},
        "allOf": choices,
    }
