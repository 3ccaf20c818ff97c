"""The words of a YAML text, each with a tone: for highlighting while it is typed. It is right for what is right, and never fails. Pure."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from nodus_tui.view_state.cells import Tone

_KEY = re.compile(
    r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#\[\]{},"'&*!|>%@`-][^#\[\]{},\n]*?|-(?=[^\s])[^#\[\]{},\n]*?)(?=\s*:(?:\s|$))"""
)
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?""")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\Z")
_WORD = re.compile(r"true|false|null|~|yes|no|on|off", re.IGNORECASE)
_DURATION = re.compile(r"(?:\d+[dhms])+\Z")
_BLOCK = re.compile(r"[|>][-+0-9]{0,2}\s*(?:#.*)?\Z")
_PLAIN_END = re.compile(r"\s#|:\s|:\Z")
_MARKER = re.compile(r"(?:---|\.\.\.)\s*(?:#.*)?\Z")
_OPENS = re.compile(r"[\[\]{}|>]")
_NO_BLOCK = -1
_FLOW_END = re.compile(r"\s#|[,\[\]{}]|:\s|:\Z")


class Token(Struct, frozen=True):
    """A piece of a line, by the places of its characters from 0."""

    start: int
    end: int
    tone: Tone


class Highlighter:
    """The tokens of a text that changes: those of lines that are shown, and of the lines before them only what is open behind each."""

    def __init__(self) -> None:
        self._tokens: dict[int, tuple[Token, ...]] = {}
        self._states: list[tuple[int, int]] = [(_NO_BLOCK, 0)]
        """Before each line: the indentation of the text block that is open, and how many brackets are."""

    def changed(self, row: int) -> None:
        """A line is another now, and so may be all behind it."""
        self._tokens = {each: tokens for each, tokens in self._tokens.items() if each < row}
        del self._states[row + 1 :]

    def tokens(self, row: int, line_at: Callable[[int], str]) -> tuple[Token, ...]:
        """The tokens of a line; what is plain is left out."""
        while len(self._states) <= row:
            self._states.append(_state_behind(line_at(len(self._states) - 1), *self._states[-1]))
        if row not in self._tokens:
            made, *state = _tokens_and_state(line_at(row), *self._states[row])
            self._tokens[row] = made
            if len(self._states) == row + 1:
                self._states.append((state[0], state[1]))
        return self._tokens[row]


def _state_behind(text: str, block: int, depth: int) -> tuple[int, int]:
    """What is open behind a line. Only brackets and the signs of a block change that: without them no word is looked at."""
    if depth == 0 and not _OPENS.search(text):
        inside = block != _NO_BLOCK and (not text.strip() or len(text) - len(text.lstrip(" ")) > block)
        return (block if inside else _NO_BLOCK), 0
    _, block, depth = _tokens_and_state(text, block, depth)
    return block, depth


def _tokens_and_state(text: str, block: int, depth: int) -> tuple[tuple[Token, ...], int, int]:
    """The tokens of a line, and what is open behind it."""
    indent = len(text) - len(text.lstrip(" "))
    if block != _NO_BLOCK and (not text.strip() or indent > block):
        return ((Token(indent, len(text), Tone.GOOD),) if text.strip() else ()), block, depth
    listed, opens_block, depth = _line_tokens(text, depth)
    return tuple(listed), indent if opens_block else _NO_BLOCK, depth


def tokens_of(lines: Sequence[str]) -> list[tuple[Token, ...]]:
    """The tokens of each line of a text that stands."""
    highlighter = Highlighter()
    return [highlighter.tokens(row, lines.__getitem__) for row in range(len(lines))]


def _line_tokens(text: str, depth: int) -> tuple[list[Token], bool, int]:
    """The tokens of one line, whether it opens a block of text, and how many flow collections are open behind it."""
    if depth == 0 and (_MARKER.match(text) or text.startswith("%")):
        return [Token(0, len(text) if text.startswith("%") else 3, Tone.MARK)], False, 0
    tokens: list[Token] = []
    place, fresh = 0, True
    while place < len(text):
        char = text[place]
        if char in " \t":
            place += 1
            continue
        token, fresh = _token_at(text, place, flow=depth > 0, fresh=fresh)
        if token.tone is not Tone.PLAIN:
            tokens.append(token)
        if depth == 0 and char in "|>" and token.end == place + 1:
            return tokens, True, 0
        if token.end == place + 1:
            depth += (char in "[{") - (char in "]}" and depth > 0)
        place = max(token.end, place + 1)
    return tokens, False, depth


def _token_at(text: str, place: int, *, flow: bool, fresh: bool) -> tuple[Token, bool]:
    """What begins at a place, and whether a name may follow it."""
    char = text[place]
    if char == "#" and (place == 0 or text[place - 1] in " \t"):
        return Token(place, len(text), Tone.MUTED), False
    if fresh and (key := _KEY.match(text, place)):
        return Token(place, key.end(), Tone.KEY), False
    if char == "-" and text[place + 1 : place + 2] in {"", " "} and not flow:
        return Token(place, place + 1, Tone.MARK), True
    if char in "[]{},:":
        return Token(place, place + 1, Tone.MARK), char in "{[,"
    return _scalar_at(text, place, flow=flow), False


def _scalar_at(text: str, place: int, *, flow: bool) -> Token:
    if quoted := _QUOTED.match(text, place):
        return Token(place, quoted.end(), Tone.GOOD)
    if not flow and _BLOCK.match(text, place):
        return Token(place, place + 1, Tone.MARK)
    end = max(_end_of_plain(text, place, flow=flow), place + 1)
    return Token(place, end, _tone_of(text[place:end].strip()))


def _end_of_plain(text: str, start: int, *, flow: bool) -> int:
    found = (_FLOW_END if flow else _PLAIN_END).search(text, start)
    return found.start() if found is not None else len(text)


def _tone_of(word: str) -> Tone:
    if _NUMBER.match(word) or _DURATION.match(word):
        return Tone.INFO
    if _WORD.fullmatch(word):
        return Tone.INFO
    if word.startswith(("&", "*", "!")):
        return Tone.MARK
    return Tone.PLAIN
