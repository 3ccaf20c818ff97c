"""JSON that the console wrote down for itself in the state folder: what cannot be read any more is as if it had never been written."""

import json
import os
from pathlib import Path

from pydantic import JsonValue

from nodus_tui.contract.regular_files import read_regular


def read_kept(file: Path, most_bytes: int) -> JsonValue:
    """What a file holds; None where there is none, where it is larger than that, or where it holds no JSON or no text that is any."""
    try:
        data = read_regular(file, most_bytes + 1)
        value = json.loads(data) if len(data) <= most_bytes else None
        return value if _is_text(value) else None
    # A RecursionError is what deeper nesting than Python reads comes to.
    except (OSError, ValueError, RecursionError):
        return None


def write_kept(file: Path, value: JsonValue) -> None:
    """Replace a file, whole or not at all. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # Named so that no other console writes the same one, whatever machine or container it is in.
    beside = file.with_name(f"{file.name}.{os.urandom(6).hex()}.new")
    try:
        beside.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
        beside.replace(file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _is_text(value: JsonValue) -> bool:
    """Whether all of its words can be names of files and be printed: escapes of JSON can also make halves of characters."""
    match value:
        case str():
            # Raises UnicodeEncodeError, a ValueError.
            return b"\0" not in os.fsencode(value)
        case list():
            return all(_is_text(each) for each in value)
        case dict():
            return all(_is_text(name) and _is_text(each) for name, each in value.items())
        case _:
            return True
