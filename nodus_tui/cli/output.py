"""What goes to stdout: tables for people, JSON, YAML and CSV for programs. Foreign text is made safe here for a terminal."""

import sys
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from nodus_tui import text_formats
from nodus_tui.cli.failures import discard_stdout
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.decimal_point import at_the_point
from nodus_tui.text import cut, safe_text, width_of
from nodus_tui.text_formats import Row, escaped, json_text

__all__ = ["Row", "csv_text", "emit", "json_text", "pairs_text", "resources_yaml", "table_text", "yaml_text"]

_GAP = "  "


def emit(text: str) -> None:
    """Write the text and a line end. A reader that has gone is no failure: the verb's exit code stands.

    Raises NodusError where it cannot be written for another reason, such as a full disk.
    """
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
    except OSError as error:
        discard_stdout()
        raise NodusError(ErrorCode.UNAVAILABLE, f"standard output cannot be written: {error.strerror or error}") from error


def yaml_text(documents: Sequence[JsonValue]) -> str:
    """One YAML document each."""
    import yaml  # noqa: PLC0415 - YAML is loaded when YAML is asked for

    class Dumper(yaml.SafeDumper):
        """Texts that are not all printable stand in double quotes, where characters can be escaped."""

    def text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')

    Dumper.add_representer(str, text_node)
    return escaped(yaml.dump_all(documents, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1 << 30, default_flow_style=False))


def resources_yaml(resources: Sequence[Resource]) -> str:
    """Resources as YAML that loads again, one document each."""
    from nodus_tui.contract.spec_loading.dump import dump_yaml  # noqa: PLC0415 - YAML is loaded when YAML is asked for

    return escaped(dump_yaml(resources))


def csv_text(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Comma-separated values with a line of names; on a terminal what it would obey is made safe."""
    return text_formats.csv_text(rows, columns, safe_text if sys.stdout.isatty() else str)


def table_text(titles: Sequence[str], rows: Iterable[Sequence[str]], *, right: frozenset[str] = frozenset()) -> str:
    """Columns as wide as their widest cell; on a terminal each line is cut at its edge. `right` names the columns of figures, which stand
    at their decimal points.
    """
    cells = [[safe_text(cell) for cell in row] for row in rows]
    for place, title in enumerate(titles):
        if title in right:
            for row, text in zip(cells, at_the_point([row[place] for row in cells]), strict=True):
                row[place] = text
    widths = [max(width_of(text) for text in column) for column in zip(titles, *cells, strict=True)]
    edge = _terminal_columns() if sys.stdout.isatty() else None
    lines = []
    for row in [list(titles), *cells]:
        parts = []
        for title, text, width in zip(titles, row, widths, strict=True):
            blank = " " * (width - width_of(text))
            parts.append(blank + text if title in right else text + blank)
        line = _GAP.join(parts).rstrip()
        lines.append(line if edge is None else cut(line, edge))
    return "\n".join(lines)


def _terminal_columns() -> int:
    import shutil  # noqa: PLC0415 - loads every kind of archive, and tells what COLUMNS says

    return shutil.get_terminal_size().columns


def pairs_text(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, the values in one column; a value of several lines goes on under its first."""
    shown = [(name, value) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0) + 1
    lines = []
    for name, value in shown:
        first, *rest = value.split("\n")
        lines.append(f"{name + ':':<{width}}  {safe_text(first)}")
        lines.extend(" " * (width + 2) + safe_text(line) for line in rest)
    return "\n".join(lines)
