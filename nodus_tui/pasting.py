"""What is pasted, told apart from keys in what a terminal sends. It knows Textual's parser, and nothing of the console.

Textual looks for keys in a pasted text, too: an escape sequence in it that no key has became letters that were pressed one by one, so that
a text from a stranger could act on the view. And it takes seconds for each megabyte.
"""

import time
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START
from textual.events import Paste
from textual.message import Message

from nodus_tui.terminal_keys import AnySequence

MOST_PASTED = 1024 * 1024
"""Characters: no spec is longer."""
_CTRL_C = "\x03"
_SILENT_SECONDS = 1.0
"""After so long without a piece of it the end of a paste has been lost, and a Ctrl-C that comes alone is a person's."""


class TooMuchPasted(Message):
    """What was pasted is longer than anything that can be made of it; nothing of it was taken."""


class Pasted(Struct, frozen=True):
    """What stood between the marks of one paste."""

    text: str
    """Empty where it was too long."""
    size: int


class PasteSieve:
    """Follows the stream of one terminal. Pure."""

    def __init__(self) -> None:
        self._inside = False
        self._tail = ""
        """The end of what was seen, in which a mark may begin."""
        self._parts: list[str] = []
        self._size = 0

    def take(self, text: str) -> Iterator[str | Pasted]:
        """What is read as keys, with the marks of each paste, and between the two marks what was pasted."""
        while text:
            seen = self._tail + text
            mark = BRACKETED_PASTE_END if self._inside else BRACKETED_PASTE_START
            at = seen.find(mark)
            if at < 0:
                kept = len(seen) - len(mark) + 1
                if self._inside:
                    self._put(seen[: max(0, kept)])
                else:
                    yield text
                self._tail = seen[max(0, kept) :]
                return
            behind = seen[at + len(mark) :]
            if self._inside:
                self._put(seen[:at])
                # As Textual does: its documents cannot have it.
                yield Pasted("".join(self._parts).replace("\x00", ""), self._size)
                yield mark
            else:
                yield text[: len(text) - len(behind)]
            self._inside, self._tail, self._parts, self._size = not self._inside, "", [], 0
            text = behind

    @property
    def inside(self) -> bool:
        """Whether the end of a paste is still to come."""
        return self._inside

    def _put(self, piece: str) -> None:
        self._size += len(piece)
        if self._size <= MOST_PASTED:
            self._parts.append(piece)
        else:
            self._parts.clear()


class KeysAndPastes(AnySequence):
    """The parser of keys, which is given no pasted text. `clock` counts seconds."""

    def __init__(self, debug: bool = False, clock: Callable[[], float] = time.monotonic) -> None:  # noqa: FBT001, FBT002 - as Textual has it
        super().__init__(debug)
        self._sieve = PasteSieve()
        self._clock = clock
        self._heard = clock()

    def feed(self, data: str) -> Iterable[Message]:
        """The keys, clicks and pastes in what came; nothing comes of nothing, which to Textual's own is the end.

        A paste whose end never comes would take every key: Ctrl-C, pressed alone, is its end.
        """
        before, self._heard = self._heard, self._clock()
        if data == _CTRL_C and self._sieve.inside and self._heard - before >= _SILENT_SECONDS:
            data = BRACKETED_PASTE_END
        for part in self._sieve.take(data):
            if isinstance(part, Pasted):
                if part.size > MOST_PASTED:
                    yield TooMuchPasted()
                elif part.text:
                    yield Paste(part.text)
                continue
            # Of the marks alone Textual makes an empty paste.
            yield from (event for event in super().feed(part) if not isinstance(event, Paste))
