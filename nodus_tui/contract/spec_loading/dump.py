"""From resources to YAML that loads again to the same resources."""

from collections.abc import Iterable

import yaml
from pydantic import JsonValue

from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.spec_loading.scalars import resolve_plain

_ENDLESS = 1 << 30
"""A line is never folded: what is one line stays one."""


class _Dumper(yaml.SafeDumper):
    """Writes texts so that the reader of specs takes them for texts, and longer ones as blocks."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        """Never an alias: specs have none."""
        return True


def _text_node(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if _fits_block(text):
        style = "|"
    elif not text.isprintable() or not _stays_text(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _fits_block(text: str) -> bool:
    """Whether a block of lines holds the text exactly and reads well."""
    lines = text.split("\n")
    return (
        len(lines) > 1 and bool(lines[0]) and not text[0].isspace() and all(line.isprintable() and line == line.rstrip() for line in lines)
    )


def _stays_text(text: str) -> bool:
    try:
        return isinstance(resolve_plain(text), str)
    except ValueError:
        return False


_Dumper.add_representer(str, _text_node)


def dump_yaml(resources: Iterable[Resource]) -> str:
    """The resources as YAML, one document each, in camelCase. Absent fields and empty defaults are left out; a status is kept."""
    return yaml.dump_all(
        [_sparse(resource) for resource in resources],
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_ENDLESS,
        default_flow_style=False,
    )


def _sparse(resource: Resource) -> JsonValue:
    whole = resource.model_dump(mode="json", by_alias=True, exclude_none=True)
    told = resource.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    return _without_empty(whole, told)


def _without_empty(whole: dict[str, JsonValue], told: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The whole without empty values that are only defaults."""
    kept: dict[str, JsonValue] = {}
    for name, value in whole.items():
        mine = told.get(name)
        pruned = _without_empty(value, mine if isinstance(mine, dict) else {}) if isinstance(value, dict) else value
        if name in told or pruned not in ("", [], {}):
            kept[name] = pruned
    return kept
