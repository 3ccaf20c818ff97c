"""Values as programs read them: JSON and CSV, harmless on a terminal. Pure."""

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

Row = Mapping[str, JsonValue]

_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def json_text(value: JsonValue) -> str:
    """JSON with every control and direction character escaped, so that it is the same value and harmless on a terminal."""
    return escaped(json.dumps(value, indent=2, ensure_ascii=False))


def escaped(text: str) -> str:
    """JSON or YAML with the characters that a terminal obeys as escapes: they stand within double quotes only, so it is the same value."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def csv_text(rows: Sequence[Row], columns: Sequence[str], cell: Callable[[str], str] = str) -> str:
    """Comma-separated values with a line of names (RFC 4180, lines ended by a newline); null is empty. `cell` has the last word on each."""
    import csv  # noqa: PLC0415 - one format of four

    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell("" if row.get(name) is None else _plain(row[name])) for name in columns])
    return target.getvalue()


def _plain(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
