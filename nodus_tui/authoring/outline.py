"""What stands where in a spec that is being written: its documents, the field under the cursor, whether a name or a value is typed there.

It goes by indentation and by the brackets of one line, so it knows its way in a text that is no valid YAML yet. Pure.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Path = tuple[str | int, ...]

_KEY = re.compile(r"""(?P<name>"[^"]*"|'[^']*'|[^\s#\[\]{},"'|>-][^#\[\]{},]*?|-[^\s#\[\]{},][^#\[\]{},]*?)\s*:(?=\s|\Z)""")
_DASH = re.compile(r"-(?:\s+|\Z)")
_BLOCK = re.compile(r"[|>][-+0-9]{0,2}\s*(?:#.*)?\Z")


class Entry(Struct, frozen=True):
    """A field of a document where it stands."""

    row: int
    """The line, from 0."""
    column: int
    """Where its name begins, from 0."""
    path: Path
    value: str
    """What stands behind it on its line, without its comment."""


class Place(Struct, frozen=True):
    """Where a cursor stands."""

    path: Path
    """Of the field whose value is typed; where a name is typed, of the mapping that it is to stand in."""
    slot: Literal["name", "value", "none"]
    """What is typed there; `none` in comments and texts of several lines."""
    prefix: str
    """What is typed of it already, before the cursor."""
    indent: int
    """Where the word begins, from 0."""
    document: int
    """Which document of the text, from 0."""
    flow: bool = False
    """Whether it stands in brackets: nothing there goes over several lines."""


def document_starts(lines: Sequence[str]) -> list[int]:
    """The lines at which documents begin: the first, and each behind a `---`."""
    starts = [0]
    for row, text in enumerate(lines):
        if text.startswith("---") and text[3:4] in {"", " ", "\t"}:
            if any(each.strip() and not each.lstrip().startswith("#") for each in lines[starts[-1] : row]):
                starts.append(row + 1)
            else:
                starts[-1] = row + 1
    return starts


class Outline:
    """The fields of every document of a text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        self.starts = document_starts(self.lines)
        self._ends = [*self.starts[1:], len(self.lines)]
        self._read: dict[int, _Document] = {}

    def _document(self, index: int) -> "_Document":
        # A document is read when it is asked for: a text may have thousands, and mostly one of them matters.
        if index not in self._read:
            self._read[index] = _read(self.lines, self.starts[index], self._ends[index])
        return self._read[index]

    def document_at(self, row: int) -> int:
        """Which document a line belongs to."""
        return max(0, bisect_right(self.starts, row) - 1)

    def value(self, document: int, *path: str | int) -> str:
        """What stands behind a field; empty where it is not there."""
        for entry in self._document(document).entries:
            if entry.path == path:
                return entry.value.strip("\"'")
        # `metadata: {name: x}` on one line.
        for entry in self._document(document).entries:
            if entry.path == path[:-1] and entry.value.startswith("{"):
                inner = re.search(rf"[{{,]\s*{re.escape(str(path[-1]))}\s*:\s*([^,}}]*)", entry.value)
                return inner[1].strip().strip("\"'") if inner else ""
        return ""

    def kind(self, document: int) -> str:
        """The kind that a document names."""
        return self.value(document, "kind")

    def names(self, kind: str) -> tuple[str, ...]:
        """The names of the documents of a kind."""
        found = (self.value(index, "metadata", "name") for index in range(len(self.starts)) if self.kind(index) == kind)
        return tuple(name for name in found if name)

    def siblings(self, document: int, path: Path) -> frozenset[str]:
        """The fields that a mapping has already."""
        inside = (entry.path for entry in self._document(document).entries if entry.path[:-1] == path)
        return frozenset(each[-1] for each in inside if isinstance(each[-1], str))

    def place(self, row: int, column: int) -> Place:
        """What is typed at a place."""
        document = self.document_at(row)
        text = self.lines[row] if row < len(self.lines) else ""
        before = text[:column]
        nowhere = Place((), "none", "", column, document)
        if row in self._document(document).texts or _comment_start(before) is not None:
            return nowhere
        stack = _Stack()
        for entry_row in range(self.starts[document], min(row, len(self.lines))):
            if entry_row not in self._document(document).texts:
                stack.take(self.lines[entry_row], entry_row)
        return _typed(stack, before, document)


class _Document(Struct, frozen=True):
    entries: tuple[Entry, ...]
    texts: frozenset[int]
    """Lines of block texts."""


class _Stack:
    """The fields and items that are open at a line, by their indentation."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str | int]] = []
        self._items: dict[Path, int] = {}

    def path(self, indent: int) -> Path:
        """What something at an indentation belongs to."""
        return tuple(step for at, step in self._open if at < indent)

    def take(self, text: str, row: int) -> Entry | None:
        """Go on by a line; gives its field."""
        bare = text.strip()
        if not bare or bare.startswith(("#", "---", "%")):
            return None
        indent = self.dashes(text, len(text) - len(text.lstrip(" ")))
        key = _KEY.match(text, indent)
        if key is None:
            return None
        self._close(indent)
        name = key["name"].strip("\"'")
        self._open.append((indent, name))
        rest = text[key.end() :]
        comment = _comment_start(rest)
        return Entry(row, indent, self.path(indent + 1), rest[:comment].strip())

    def dashes(self, text: str, indent: int) -> int:
        """Open the items that begin on a line; gives where what they hold begins."""
        while dash := _DASH.match(text, indent):
            # A list may stand as far to the left as the name that it belongs to.
            while self._open and (self._open[-1][0] > indent or (self._open[-1][0] == indent and isinstance(self._open[-1][1], int))):
                self._open.pop()
            parent = tuple(step for _, step in self._open)
            self._items[parent] = number = self._items.get(parent, -1) + 1
            self._open.append((indent, number))
            indent = dash.end()
        return indent

    def _close(self, indent: int) -> None:
        while self._open and self._open[-1][0] >= indent:
            self._open.pop()


def _read(lines: Sequence[str], start: int, end: int) -> _Document:
    stack = _Stack()
    entries: list[Entry] = []
    texts: set[int] = set()
    block = -1
    for row in range(start, end):
        text = lines[row]
        if block >= 0 and (not text.strip() or len(text) - len(text.lstrip(" ")) > block):
            texts.add(row)
            continue
        block = -1
        entry = stack.take(text, row)
        if entry is not None:
            entries.append(entry)
        opened = entry.value if entry is not None else text.strip().removeprefix("-").strip()
        if _BLOCK.match(opened):
            block = len(text) - len(text.lstrip(" "))
    return _Document(tuple(entries), frozenset(texts))


def _comment_start(text: str) -> int | None:
    quote = ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and (index == 0 or text[index - 1] in " [{,:-"):
            quote = char
        elif char == "#" and (index == 0 or text[index - 1] in " \t"):
            return index
    return None


def _typed(stack: _Stack, before: str, document: int) -> Place:
    indent = stack.dashes(before, len(before) - len(before.lstrip(" ")))
    key = _KEY.match(before, indent)
    if key is None:
        rest = before[indent:]
        if rest[:1] in {"{", "["}:
            return _in_flow(stack.path(indent), rest, indent, document)
        return Place(stack.path(indent), "name", rest, indent, document)
    rest = before[key.end() :]
    value_at = key.end() + len(rest) - len(rest.lstrip())
    path = (*_parents(stack, indent), key["name"].strip("\"'"))
    value = rest.lstrip()
    if value[:1] in {"{", "["}:
        return _in_flow(path, value, value_at, document)
    return Place(path, "value", value, value_at, document)


def _parents(stack: _Stack, indent: int) -> Path:
    return stack.path(indent)


def _in_flow(path: Path, text: str, offset: int, document: int) -> Place:
    """A place behind an open bracket of the same line."""
    # Each level: the path of what is open, how many items it has had, and whether it is a list.
    levels: list[tuple[Path, int, bool]] = []
    here: Path = path
    word, quote = 0, ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[{":
            levels.append((here, 0, char == "["))
            here = (*here, 0) if char == "[" else here
            word = index + 1
        elif char in "]}" and levels:
            here = levels.pop()[0]
            word = index + 1
        elif char == "," and levels:
            owner, count, is_list = levels[-1]
            levels[-1] = (owner, count + 1, is_list)
            here = (*owner, count + 1) if is_list else owner
            word = index + 1
        elif char == ":" and levels and not levels[-1][2] and text[index + 1 : index + 2] in {" ", ""}:
            here = (*levels[-1][0], text[word:index].strip().strip("\"'"))
            word = index + 1
    prefix = text[word:].lstrip()
    start = offset + len(text) - len(prefix)
    if not levels:
        return Place(path, "none", "", start, document)
    is_name = not levels[-1][2] and here == levels[-1][0]
    return Place(here, "name" if is_name else "value", prefix, start, document, flow=True)
