"""Finds the text that an edit replaces, or tells the model why it cannot be found. Pure, over bytes, so that no other byte changes."""

import re

from msgspec import Struct

_MOST_LINES = 10


class ReplaceError(Exception):
    """The edit cannot be made. The text is for the model."""


class Replaced(Struct, frozen=True):
    """A content with its replacements made."""

    content: bytes
    lines: tuple[int, ...]
    """Where each replaced text began, counted from 1."""


def replace(content: bytes, old: bytes, new: bytes, *, every: bool) -> Replaced:
    """The content with `old` replaced, where it occurs once, or everywhere. Raises ReplaceError."""
    if not old:
        raise ReplaceError("`old` is empty: it must be a text of the file. Use write for a whole new content.")
    if old == new:
        raise ReplaceError("`old` and `new` are the same: there is nothing to change.")
    lines = _lines_of(content, old)
    if not lines:
        raise ReplaceError(f"`old` is not in the file.{_hint(content, old)} Nothing was changed.")
    if len(lines) > 1 and not every:
        raise ReplaceError(
            f"`old` occurs {len(lines):,} times, at {lines_text(lines)}. Add text around it until it occurs once, or set `all`. "
            "Nothing was changed."
        )
    return Replaced(content.replace(old, new), lines)


def lines_text(lines: tuple[int, ...]) -> str:
    """`line 3`, `lines 3, 8 and 9`, or `lines 1, 2, 3 … (120 in all)`."""
    if len(lines) == 1:
        return f"line {lines[0]:,}"
    if len(lines) > _MOST_LINES:
        return f"lines {', '.join(f'{line:,}' for line in lines[:_MOST_LINES])} … ({len(lines):,} in all)"
    return f"lines {', '.join(f'{line:,}' for line in lines[:-1])} and {lines[-1]:,}"


def _lines_of(content: bytes, old: bytes) -> tuple[int, ...]:
    lines: list[int] = []
    line, seen, start = 1, 0, content.find(old)
    while start >= 0:
        line += content.count(b"\n", seen, start)
        lines.append(line)
        seen = start
        start = content.find(old, start + len(old))
    return tuple(lines)


def _hint(content: bytes, old: bytes) -> str:
    """What nearly matches, in a sentence with a space before it; else nothing."""
    if b"\r\n" in content and b"\r" not in old and old.replace(b"\n", b"\r\n") in content:
        return " The file's lines end in \\r\\n; write \\r\\n in `old` and `new`."
    words = old.split()
    if not words:
        return ""
    match = re.search(rb"\s+".join(re.escape(word) for word in words), content)
    if match is None:
        return ""
    line = content.count(b"\n", 0, match.start()) + 1
    return f" Line {line:,} has the same words with other white space: copy the text as it stands there."
