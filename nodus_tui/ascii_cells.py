"""Text in ASCII that takes the same cells: signs, bars, sparklines and borders as the characters that look most like them. Pure."""

import unicodedata

from rich.cells import cell_len

_ALIKE = {
    # Cut off, separators, crumbs.
    "…": "\\",
    "·": "-",
    "›": "/",
    "–": "-",
    "—": "-",
    "−": "-",
    # States and verdicts: each another character within its column.
    "✓": "+",
    "✗": "X",
    "●": "*",
    "○": "o",
    "⋅": "o",
    "►": ">",
    "▸": ")",
    "▾": "v",
    "‖": "|",
    "¦": ":",
    "»": "^",
    "×": "x",
    "◇": "@",
    "■": "#",
    "□": "#",
    # Order, cursor, arrows.
    "▌": "[",
    "▲": "^",
    "▼": "v",
    "→": ">",
    "←": "<",
    "↑": "^",
    "↓": "v",
    "│": "|",
    "┃": "|",
    "└": "`",
    "⟨": "<",
    "⟩": ">",
    # Bars: full, begun, empty; parts of one that is split.
    "█": "#",
    "▓": "%",
    "▒": "=",
    "░": ".",
    **dict.fromkeys("▏▎▍▋▊▉", "-"),
    # Levels of a sparkline, from low to high; the full block above is the highest.
    "▁": "_",
    "▂": ".",
    "▃": ":",
    "▄": "-",
    "▅": "=",
    "▆": "+",
    "▇": "*",
    # What stands for a character that a terminal would obey.
    "␤": "/",
    "␡": "?",
    # Figures and formulas.
    "±": "~",
    "÷": "/",
    "≥": ">",
    "≤": "<",
    "°": " ",
    "√": "V",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
}
_PAIRS = (("± ", "+-"), (" ±", "+-"), ("≥ ", ">="), ("≤ ", "<="), (" …", ".."))
"""Signs that need two characters take the cell of a space beside them."""
_CONTROL_PICTURES = range(0x2400, 0x2421)
_BOX_DRAWING = range(0x2500, 0x2580)
_HORIZONTAL = frozenset("─━┄┅┈┉╌╍═╴╶╸╺╼╾")
_VERTICAL = frozenset("│┃┆┇┊┋╎╏║╵╷╹╻╽╿")
_cache: dict[str, str] = {}
_CACHE_LIMIT = 5_000


def ascii_cells(text: str) -> str:
    """The text with nothing but ASCII in it, in exactly as many cells."""
    for pair, alike in _PAIRS:
        text = text.replace(pair, alike)
    return "".join(char if char.isascii() else _alike(char) for char in text)


def _alike(char: str) -> str:
    known = _cache.get(char)
    if known is None:
        if len(_cache) >= _CACHE_LIMIT:
            # Hostile text must not make it grow for ever.
            _cache.clear()
        known = _cache[char] = _found(char)
    return known


def _found(char: str) -> str:
    cells = cell_len(char)
    code = ord(char)
    if char in _ALIKE:
        found = _ALIKE[char]
    elif code in _BOX_DRAWING:
        found = "-" if char in _HORIZONTAL else "|" if char in _VERTICAL else "+"
    elif code in _CONTROL_PICTURES:
        found = "?"
    else:
        plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode("ascii")
        found = plain if len(plain) == cells and plain.isprintable() else "?" * cells
    return found
