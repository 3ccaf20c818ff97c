"""A message cut into pieces that are rendered one by one: Markdown between its blocks, code that is too long by its lines."""

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from nodus_tui.text import safe_text, wrap
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.lazy_text import PIECE, cut_text
from nodus_tui.view_state.markdown import NO_LIMIT, chopped, markdown_lines

MARKDOWN_LIMIT = 200_000
"""Characters of a message above which it is shown as it was written: no reply that a person reads is that long."""
_ENOUGH = PIECE // 2
"""Characters from which on a piece ends where it can."""
_TOO_MUCH = 2 * PIECE
"""Characters of one block above which it is not read as Markdown."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

PieceKind = Literal["markdown", "text", "code"]


class MarkdownPiece(Struct, frozen=True):
    """A part of a message."""

    kind: PieceKind
    text: str
    ends_block: bool = False
    """Whether an empty line follows before the next."""


def markdown_pieces(text: str) -> Iterator[MarkdownPiece]:
    """The pieces of a message, in order."""
    if len(text) > MARKDOWN_LIMIT:
        yield from (MarkdownPiece("text", part) for part in cut_text(text))
        return
    held: list[str] = []
    size = 0
    fence = ""
    begun_in_fence = False
    lines = text.split("\n")
    for place, each in enumerate(lines):
        held.append(each)
        size += len(each) + 1
        fence = _fence_after(fence, each)
        following = lines[place + 1] if place + 1 < len(lines) else ""
        ends = size >= _ENOUGH and not fence and not each.strip() and following[:1].strip()
        if ends or size >= _TOO_MUCH:
            yield from _flushed(held, size, in_fence=bool(begun_in_fence or (fence and not ends)), ends_block=bool(ends))
            held, size, begun_in_fence = [], 0, bool(fence)
    yield from _flushed(held, size, in_fence=begun_in_fence)


def _fence_after(fence: str, text: str) -> str:
    """The mark of the code block that is open after a line; empty where none is."""
    found = _FENCE.match(text)
    if found is None:
        return fence
    mark = found.group(1)
    if not fence:
        return mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not text[found.end() :].strip()
    return "" if closes else fence


def _flushed(held: list[str], size: int, *, in_fence: bool, ends_block: bool = False) -> Iterator[MarkdownPiece]:
    if not held:
        return
    text = "\n".join(held)
    if not in_fence and size < _TOO_MUCH:
        yield MarkdownPiece("markdown", text, ends_block)
        return
    yield from (MarkdownPiece("code" if in_fence else "text", part) for part in cut_text(text))


def piece_lines(piece: MarkdownPiece, width: int) -> list[Line]:
    """The lines of a piece."""
    if piece.kind == "markdown":
        return markdown_lines(piece.text, width)
    return code_text_lines(piece.text, width) if piece.kind == "code" else text_lines(piece.text, width)


def text_lines(text: str, width: int, tone: Tone = Tone.PLAIN) -> list[Line]:
    """Foreign text as it was written, broken at spaces."""
    return [line(Span(each, tone)) for each in wrap(safe_text(text, limit=NO_LIMIT, newlines=True), width)]


def code_text_lines(text: str, width: int) -> list[Line]:
    """Foreign text of which every space counts, such as what a command wrote: cut where a line is full, with a rule at its left."""
    safe = safe_text(text, limit=NO_LIMIT, newlines=True)
    return [(muted("│ "), *each) for source in safe.split("\n") for each in chopped(line(source), max(2, width - 2))]
