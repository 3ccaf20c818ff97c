"""Reading a run's conversation: what is shown in the pane, folding, marking, finding and copying. The screen around it is run.py."""

from collections.abc import Sequence

from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.copying_text import copy_text
from nodus_tui.screens.find_bar import FindBar
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.lazy_text import Piece
from nodus_tui.view_state.reading import Reading
from nodus_tui.view_state.transcript_parts import Part
from nodus_tui.view_state.transcript_text import copied_text
from nodus_tui.widgets.lazy_pane import LazyPane

_ABOVE_A_HIT = 3
"""Lines that stay above what was found."""


class ConversationReader:
    """Does what keys ask for with the conversation in a pane."""

    def __init__(self, screen: ViewScreen, reading: Reading) -> None:
        self._screen = screen
        self._reading = reading
        self._below: tuple[Line, ...] = ()
        self._shown: object = None
        """What the pane was told last was made of."""
        self._at_hit: tuple[Piece, int] | None = None
        """The piece and the line of it that the person was led to."""
        self._copied: tuple[str, int] = ("", 0)
        """The part of which code was copied last, and how many of its blocks."""

    @property
    def pane(self) -> LazyPane:
        """Where it is shown."""
        return self._screen.part("talk", LazyPane)

    def show(self, below: Sequence[Line] = ()) -> None:
        """Show it as it is now, with these lines below it."""
        self._below = tuple(below)
        key = (self._reading.form(), self._below, self.pane.text_width)
        if key == self._shown:
            # The clock alone calls every second.
            self.pane.paint_changes()
            return
        self._shown = key
        pieces = self._reading.pieces()
        if below:
            pieces.append(Piece("", lambda _width: self._below, exact=len(self._below)))
        self.pane.decorate = self._decorated
        self.pane.show_pieces(pieces)

    def show_instead(self, lines: Sequence[Line]) -> None:
        """Show a few lines in its place, wrapped already."""
        self._shown = None
        self.pane.show_fixed(lines)

    def _decorated(self, spans: Line, piece: Piece, offset: int) -> Line:
        if not piece.source:
            return spans
        return self._reading.painted(spans, here=self._at_hit is not None and self._at_hit[0] is piece and self._at_hit[1] == offset)

    def _again(self) -> None:
        self.show(self._below)

    # Parts.

    def on_screen(self) -> list[Part]:
        """The parts that can be seen, from the top."""
        keys = dict.fromkeys(piece.owner for piece in self.pane.on_screen())
        return [part for key in keys if (part := self._reading.part(key)) is not None]

    def current(self) -> Part | None:
        """The part that keys act on: the marked one where it can be seen, else the first that can."""
        seen = self.on_screen()
        return next((part for part in seen if part.key == self._reading.marked), seen[0] if seen else None)

    def step(self, by: int) -> None:
        """Mark another part; the first step marks what is on the screen."""
        current = self.current()
        if current is None:
            return
        there = current if current.key != self._reading.marked else self._reading.neighbour(current.key, by)
        if there is not None:
            self._mark(there)

    def _mark(self, part: Part) -> None:
        self._reading.marked = part.key
        self._again()
        self.go_to_part(part.key)

    def go_to_part(self, key: str) -> None:
        """Have the beginning of a part on the screen."""
        piece = next((each for each in self.pane.text.pieces if each.owner == key), None)
        if piece is not None:
            self.pane.go_to(piece)

    def reply_to(self, number: int) -> Part | None:
        """The reply that a model call made; None where there is none."""
        return next((each for each in self._reading.parts if each.call == number), None)

    def go_to_reply(self, part: Part) -> None:
        """Mark it."""
        self._mark(part)

    # Folding and form.

    def to_turn(self) -> Part | None:
        """The tool call that folding means: the marked one where it can be seen, else the first that can."""
        current = self.current()
        if current is not None and current.use is not None:
            return current
        return next((part for part in self.on_screen() if part.use is not None), None)

    def turn_one(self) -> None:
        """Unfold or fold the marked tool call, or the first on the screen."""
        current = self.to_turn()
        if current is None:
            self._screen.notice("There is no tool call on the screen.", Tone.WARN)
            return
        self._reading.turn(current)
        self._mark(current)

    def turn_part(self, key: str) -> None:
        """The same with one that was clicked."""
        part = self._reading.part(key)
        if part is not None and part.use is not None:
            self._reading.turn(part)
            self._reading.marked = key
            self._again()

    def turn_all(self) -> None:
        """Unfold all tool calls or fold them; what is read stays where it is."""
        self._reading.turn_all()
        self._again()

    def turn_form(self) -> None:
        """Show messages as they were written, or rendered."""
        self._reading.turn_form()
        self._again()
        told = "Messages as they were written." if self._reading.raw else "Messages as Markdown."
        self._screen.notice(told, Tone.MUTED)

    # Finding.

    def find(self, words: str) -> Line:
        """Look for words from the screen on, and go to the first place; says how many there are."""
        self._reading.search(words)
        self._at_hit = None
        if not words:
            self._again()
            return ()
        if not self._reading.hits:
            self._again()
            return line(Span("not found", Tone.WARN))
        first = self.on_screen()[:1]
        after = [part.key for part in self._reading.parts[self._reading.parts.index(first[0]) :]] if first else []
        return self._go_to_hit(self._reading.hit_from(after))

    def step_hit(self, by: int) -> None:
        """The next place, or the one before; round the ends."""
        if not self._reading.needle:
            self._screen.notice(f"Nothing is looked for: {self._screen.key('find')} finds words.", Tone.WARN)
        elif not self._reading.hits:
            self._screen.notice("It is nowhere in the conversation.", Tone.WARN)
        else:
            self._screen.tell(self._go_to_hit(self._reading.hit + by))

    def _go_to_hit(self, place: int) -> Line:
        found = self._reading.go_to_hit(place)
        if found is None:
            return ()
        part, body, nth = found
        self._again()
        pieces = self.pane.text.pieces
        # A part begins with its first line.
        at = next((number for number, each in enumerate(pieces) if each is body or (body is None and each.owner == part.key)), None)
        if at is not None:
            piece = pieces[at]
            offset = self._reading.line_of_hit(self.pane.text.lines_of(at), nth)
            self._at_hit = (piece, offset)
            self.pane.go_to(piece, offset, above=_ABOVE_A_HIT)
        return line(muted(f"{self._reading.hit + 1:,} of {len(self._reading.hits):,} for "), Span(self._reading.needle, Tone.MARK))

    def open_bar(self) -> None:
        """Type what is looked for."""
        self._screen.query_one(FindBar).open()

    # Copying.

    def copy_part(self) -> None:
        """Copy the part that keys act on."""
        current = self.current()
        if current is None:
            self._screen.notice("There is nothing to copy.", Tone.WARN)
            return
        what = f"the call of {current.use.name}" if current.use is not None else "the message"
        self._reading.marked = current.key
        self._again()
        copy_text(self._screen, copied_text(current.text), what)

    def copy_code(self) -> None:
        """Copy a block of code: of the marked part, else of the first on the screen that has one; the next block each time."""
        current = self.current()
        parts = [*((current,) if current is not None else ()), *self.on_screen()]
        part = next((each for each in parts if each.code()), None)
        if part is None:
            self._screen.notice("There is no code on the screen.", Tone.WARN)
            return
        blocks = part.code()
        key, count = self._copied
        place = count % len(blocks) if key == part.key else 0
        self._copied = (part.key, place + 1)
        self._reading.marked = part.key
        self._again()
        copy_text(
            self._screen,
            copied_text(blocks[place].removesuffix("\n")),
            f"block {place + 1} of {len(blocks)}" if len(blocks) > 1 else "the code",
        )
