"""Markdown as people read it: headings, lists, emphasis, quotes, tables and code as lines of a width.

What comes in was written by a model or a task. It is made safe before it is parsed and once more afterwards, and no text of it is ever read
as the markup of a terminal library. HTML and entities stay as they were written, a link is its words and its address and leads nowhere, an
image is its words. Nothing is hidden: a text of which the parser would leave out something is shown as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from nodus_tui.text import safe_text, width_of, wrap
from nodus_tui.view_state.cells import Line, Span, Tone, line, line_width, muted, plain
from nodus_tui.view_state.code_colours import code_lines
from nodus_tui.view_state.wrapping import broken

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

NO_LIMIT = 100_000_000
"""Characters: pieces of text are bounded by whoever cuts them."""
_LEAST = 12
"""Cells below which nothing is indented any further."""
_GAP = "  "
"""Between the columns of a table."""


@cache
def _parser() -> MarkdownIt:
    # Imported here: only a transcript needs it, and the console begins without.
    from markdown_it import MarkdownIt  # noqa: PLC0415

    # Without references: their definitions would not be seen, and a link that leads nowhere needs none.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["entity", "reference"])


def markdown_lines(text: str, width: int) -> list[Line]:
    """The text as lines of at most `width` cells (2 at least); the empty text has none. Made for texts of some kilobytes."""
    safe = safe_text(text, limit=NO_LIMIT, newlines=True)
    if not safe.strip():
        return []
    lines = _Blocks(_parser().parse(safe)).lines(max(2, width))
    if _letters(plain(each) for each in lines) < _letters([safe]):
        return plain_lines(safe, width)
    return lines


def plain_lines(safe: str, width: int, tone: Tone = Tone.PLAIN) -> list[Line]:
    """Safe text as it was written, broken at spaces."""
    return [line(Span(each, tone)) for each in wrap(safe, width)]


def _letters(texts: Iterable[str]) -> int:
    return sum(sum(map(str.isalnum, text)) for text in texts)


def code_blocks(text: str) -> list[str]:
    """The code of each block of a Markdown text, as it was written: for copying, never for a screen."""
    return [token.content for token in _parser().parse(text) if token.type in {"fence", "code_block"}]


class _Blocks:
    """Walks the flat list of block tokens once."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def lines(self, width: int, until: str = "") -> list[Line]:
        """The blocks up to the token that closes this one, with an empty line between two."""
        made: list[Line] = []
        tight = False  # What follows a paragraph of a list without empty lines follows it at once.
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == until:
                break
            if block := self._block(token, width):
                if made and not tight and not token.hidden:
                    made.append(())
                made.extend(block)
                tight = token.hidden
        return made

    def _block(self, token: Token, width: int) -> list[Line]:
        made: list[Line] = []
        match token.type:
            case "heading_open":
                made = self._inline(width, "heading_close", Tone.TITLE if token.tag in {"h1", "h2"} else Tone.STRONG)
            case "paragraph_open":
                made = self._inline(width, "paragraph_close", Tone.PLAIN)
            case "bullet_list_open" | "ordered_list_open":
                made = self._list(token.type.replace("_open", "_close"), width)
            case "blockquote_open":
                made = _beside("│ ", self.lines(max(_LEAST, width - 2), "blockquote_close"))
            case "fence" | "code_block":
                made = _code(token, width)
            case "hr":
                made = [line(muted("─" * min(width, 40)))]
            case "table_open":
                made = self._table(width)
        return made

    def _inline(self, width: int, until: str, tone: Tone) -> list[Line]:
        made: list[Line] = []
        while self._tokens[self._at].type != until:
            for each in inline_lines(self._tokens[self._at], tone):
                made.extend(broken(each, width))
            self._at += 1
        self._at += 1
        return made

    def _list(self, until: str, width: int) -> list[Line]:
        made: list[Line] = []
        while (token := self._tokens[self._at]).type != until:
            self._at += 1
            mark = f"{safe_text(token.info)}{token.markup} " if token.info else "- "
            item = self.lines(max(_LEAST, width - len(mark)), "list_item_close")
            made.extend(_hung(mark, item or [()]))
        self._at += 1
        return made

    def _table(self, width: int) -> list[Line]:
        rows: list[list[Line]] = []
        heads = 0
        while (token := self._tokens[self._at]).type != "table_close":
            self._at += 1
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "thead_close":
                heads = len(rows)
            elif token.type == "inline":
                cell = inline_lines(token, Tone.STRONG if not heads else Tone.PLAIN)
                rows[-1].append(cell[0] if cell else ())
        self._at += 1
        return table_lines(rows, width)


def _beside(mark: str, lines: Sequence[Line]) -> list[Line]:
    return [(muted(mark), *each) for each in lines]


def _hung(mark: str, lines: Sequence[Line]) -> list[Line]:
    indent = Span(" " * len(mark))
    return [(muted(mark), *lines[0]), *((indent, *each) if each else () for each in lines[1:])]


def _code(token: Token, width: int) -> list[Line]:
    info = safe_text(token.info.strip(), limit=NO_LIMIT)
    head = [line(muted(each)) for each in wrap(f"┌ {info}", width)] if info else []
    made: list[Line] = []
    for each in code_lines(token.content.removesuffix("\n"), info.partition(" ")[0]):
        made.extend(chopped(each, max(_LEAST, width - 2)))
    return [*head, *_beside("│ ", made)]


def chopped(spans: Line, width: int) -> list[Line]:
    """A line of safe text cut where it is full, spaces kept: code is not words."""
    if line_width(spans) <= width:
        return [spans]
    lines: list[list[Span]] = [[]]
    room = width
    for span in spans:
        start = 0
        for place, char in enumerate(span.text):
            cells = width_of(char)
            if cells > room:
                lines[-1].append(span.saying(span.text[start:place]))
                lines.append([])
                start, room = place, width
            room -= cells
        lines[-1].append(span.saying(span.text[start:]))
    return [tuple(span for span in each if span.text) for each in lines]


def inline_lines(token: Token, tone: Tone) -> list[Line]:
    """The words of a block: one line, or more where the writer broke it."""
    words = _Words(tone)
    for child in token.children or ():
        words.take(child)
    return [tuple(span for span in each if span.text) for each in words.lines]


class _Words:
    """The spans of a block's words, from the flat list of tokens within it."""

    def __init__(self, tone: Tone) -> None:
        self.lines: list[list[Span]] = [[]]
        self._tone = tone
        self._strong = 0
        self._links: list[tuple[str, str]] = []
        self._linked = ""
        """The words of the link that is open."""

    def take(self, token: Token) -> None:
        """One more."""
        match token.type:
            case "text" | "text_special":
                self._say(token.content)
            case "softbreak":
                self._say(" ")
            case "code_inline":
                self.lines[-1].append(Span(f"`{safe_text(token.content, limit=NO_LIMIT)}`", Tone.INFO))
            case "hardbreak":
                self.lines.append([])
            case "strong_open" | "em_open":
                self._strong += 1
            case "strong_close" | "em_close":
                self._strong -= 1
            case "link_open":
                self._links.append((str(token.attrs.get("href", "")), str(token.attrs.get("title", ""))))
                self._linked = ""
            case "link_close":
                self._end_link(*self._links.pop())
            case "image":
                self.lines[-1].append(muted(f"[image: {safe_text(token.content, limit=NO_LIMIT)}]"))
                self.lines[-1].append(_address(str(token.attrs.get("src", "")), str(token.attrs.get("title", ""))))

    def _end_link(self, address: str, title: str) -> None:
        if title or address != self._linked:
            self.lines[-1].append(_address(address, title))

    def _say(self, text: str) -> None:
        tone = Tone.STRONG if self._strong and self._tone is Tone.PLAIN else self._tone
        self.lines[-1].append(Span(safe_text(text, limit=NO_LIMIT), tone))
        self._linked += text


def _address(address: str, title: str) -> Span:
    told = " ".join(part for part in (address, f'"{title}"' if title else "") if part)
    return muted(f" ({safe_text(told, limit=NO_LIMIT)})" if told else "")


def table_lines(rows: Sequence[Sequence[Line]], width: int) -> list[Line]:
    """A table, the first row its titles: in columns where they fit, their cells broken where they must be; else each cell on a line."""
    count = max((len(row) for row in rows), default=0)
    if not count:
        return []
    widths = [max((line_width(row[place]) for row in rows if place < len(row)), default=0) for place in range(count)]
    room = width - len(_GAP) * (count - 1)
    if room < 4 * count:
        return [piece for row in rows for cell in row for piece in broken(cell, width)]
    while sum(widths) > room:
        # The widest gives way first, down to the next: short columns stay whole.
        widest = max(widths)
        second = max((each for each in widths if each < widest), default=4)
        tied = widths.count(widest)
        less = min(widest - max(second, 4), -(-(sum(widths) - room) // tied))
        widths = [each - max(1, less) if each == widest else each for each in widths]
    made: list[Line] = []
    for number, row in enumerate(rows):
        cells = [broken(row[place], widths[place]) if place < len(row) and row[place] else [()] for place in range(count)]
        tallest = max(len(cell) for cell in cells)
        made.extend(_row([cell[height] if height < len(cell) else () for cell in cells], widths) for height in range(tallest))
        if number == 0:
            made.append(line(muted(_GAP.join("─" * max(1, each) for each in widths))))
    return made


def _row(cells: Sequence[Line], widths: Sequence[int]) -> Line:
    spans: list[Span] = []
    for place, (cell, cells_wide) in enumerate(zip(cells, widths, strict=True)):
        space = cells_wide - line_width(cell)
        last = place == len(widths) - 1
        spans.extend(cell)
        if not last:
            spans.append(Span(" " * space + _GAP))
    return tuple(spans)
