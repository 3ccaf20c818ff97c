"""safe_text, the one door for foreign text: what a task, a model, a file or a server wrote becomes harmless cells. Pure.

A terminal obeys some characters (escape sequences, direction marks) and miscounts the width of others (joined emoji, stacked marks).
After this door a text has neither: what is obeyed is shown as a visible stand-in, what has no reliable width is taken apart or left out.
"""

import unicodedata
from functools import lru_cache

from rich.cells import cell_len

ELLIPSIS = "…"
DEFAULT_LIMIT = 10_000
"""Characters that one call lets through unless told otherwise."""

_MAX_MARKS = 2
"""Combining marks kept on one base character: enough for every living script's spelling, too few to climb over other lines."""
_CACHE_LIMIT = 20_000
_WORD = 40
"""Characters up to which a text is remembered with what became of it."""
_REGIONAL_A = 0x1F1E6
_DIRECTION = frozenset([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_INVISIBLE = frozenset(
    [
        0x00AD,
        0x034F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        *range(0x180B, 0x1810),
        0x200B,
        0x200C,
        0x200D,
        *range(0x2060, 0x2066),
        *range(0x206A, 0x2070),
        0x3164,
        *range(0xFE00, 0xFE10),
        0xFEFF,
        0xFFA0,
        *range(0xE0000, 0xE01F0),
    ],
)
"""No width, no ink: joiners, variation selectors, fillers and tags. They hide text or glue emoji together, so they go."""


def _stand_in(code: int) -> str:
    """What is shown instead of one character; the character itself where it is harmless."""
    if code == 0x7F:
        shown = "␡"
    elif code < 0x20:
        shown = chr(0x2400 + code)
    elif 0x80 <= code < 0xA0:
        shown = f"\\x{code:02x}"
    elif code in _INVISIBLE or code in _SKIN_TONES:
        shown = ""
    elif code in _DIRECTION:
        shown = f"<U+{code:04X}>"
    elif _REGIONAL_A <= code < _REGIONAL_A + 26:
        shown = chr(ord("A") + code - _REGIONAL_A)
    else:
        shown = _by_category(code)
    return shown


def _by_category(code: int) -> str:
    category = unicodedata.category(chr(code))
    if category == "Cs":
        return f"\\u{code:04x}"
    if category in {"Cf", "Zl", "Zp"}:
        return f"<U+{code:04X}>"
    if category in {"Cn", "Co"}:
        return "\N{REPLACEMENT CHARACTER}"
    if category == "Zs":
        return " "
    return chr(code)


class _StandIns(dict[int, str]):
    """A translation table that fills itself, bounded so that hostile text cannot grow it for ever."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _CACHE_LIMIT:
            self.clear()
        shown = self[code] = _stand_in(code)
        return shown


_LINE = _StandIns({0x09: " ", 0x0A: "␤"})
_BLOCK = _StandIns({0x09: "    ", 0x0A: "\n"})


def _thin_marks(text: str) -> str:
    """Leave at most `_MAX_MARKS` combining marks on a character, and none without a base on its line."""
    kept: list[str] = []
    marks = _MAX_MARKS
    for char in text:
        if not char.isascii() and unicodedata.category(char) in {"Mn", "Me"}:
            marks += 1
            if marks > _MAX_MARKS:
                continue
        else:
            marks = _MAX_MARKS if char == "\n" else 0
        kept.append(char)
    return "".join(kept)


def _harmless(text: str, *, newlines: bool) -> str:
    if newlines:
        text = text.replace("\r\n", "\n").replace("\u2028", "\n").replace("\u2029", "\n").translate(_BLOCK)
    else:
        text = text.translate(_LINE)
    return text if text.isascii() else _thin_marks(text)


@lru_cache(maxsize=4096)
def _harmless_word(text: str) -> str:
    """Signs, bars and short names come again with every frame."""
    return _harmless(text, newlines=False)


def safe_text(text: str, *, width: int | None = None, limit: int = DEFAULT_LIMIT, newlines: bool = False) -> str:
    """The text with nothing in it that a terminal obeys or miscounts.

    `limit` bounds the characters read; `width` bounds the cells, with … where something was cut. With `newlines` line breaks stay, tabs
    become four spaces and `width` bounds each line; without, everything is one line. Safe text passes unchanged, so twice does no harm.
    """
    if len(text) > limit:
        text = text[: max(0, limit - 1)] + ELLIPSIS
    if not (text.isascii() and text.isprintable()):
        text = _harmless_word(text) if len(text) <= _WORD and not newlines else _harmless(text, newlines=newlines)
    if width is None:
        return text
    if newlines:
        return "\n".join(cut(line, width) for line in text.split("\n"))
    return cut(text, width)


def char_for_char(text: str) -> str:
    """A line with one harmless character for each of its own: for where a cursor counts characters, and the text itself stays as it is."""
    if text.isascii() and text.isprintable():
        return text
    kept: list[str] = []
    marks = _MAX_MARKS
    for char in text:
        marks = marks + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        shown = _LINE[ord(char)]
        kept.append(shown if len(shown) == 1 and marks <= _MAX_MARKS else "\N{REPLACEMENT CHARACTER}")
    return "".join(kept)


def width_of(text: str) -> int:
    """Cells that safe text takes."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int) -> str:
    """Safe text in at most `width` cells, with … at the end where something was cut."""
    if len(text) <= width and text.isascii():
        return text
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    kept, taken = 0, 0
    while (taken := taken + width_of(text[kept])) < width:
        kept += 1
    return text[:kept] + ELLIPSIS


def cut_middle(text: str, width: int) -> str:
    """Safe text in at most `width` cells, with … in its middle where something was cut: many names differ at their ends only."""
    if width_of(text) <= width:
        return text
    begin, left = len(text), (width - 1) // 2
    while begin > 0 and (left := left - width_of(text[begin - 1])) >= 0:
        begin -= 1
    while begin < len(text) and width_of(text[begin]) == 0:
        begin += 1  # A mark belongs to what was cut.
    tail = text[begin:]
    return cut(text, width - width_of(tail)) + tail


def wrap(text: str, width: int) -> list[str]:
    """Safe text with line breaks as lines of at most `width` cells: broken at spaces, within a word only where it is longer than a line."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines.extend(_wrap_paragraph(paragraph, max(2, width)))
    return lines


def _wrap_paragraph(paragraph: str, width: int) -> list[str]:
    if width_of(paragraph) <= width:
        return [paragraph.rstrip()]
    lines: list[str] = []
    line, taken, last_space = "", 0, 0
    for char in paragraph:
        cells = width_of(char)
        if taken + cells > width:
            if char == " ":
                lines.append(line.rstrip())
                line, taken, last_space = "", 0, 0
                continue
            broken = last_space if line[:last_space].strip() else len(line)
            lines.append(line[:broken].rstrip())
            line = line[broken:]
            taken, last_space = width_of(line), 0
        line += char
        taken += cells
        if char == " ":
            last_space = len(line)
    lines.append(line.rstrip())
    return lines
