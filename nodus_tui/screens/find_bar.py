"""The line in which words to find are typed: they are looked for at once, Enter keeps them, Escape ends it."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from nodus_tui.view_state.cells import Line, Span, Tone, line
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_entry import TextEntry


class FindBar(Horizontal):
    """Hidden until it is asked for."""

    DEFAULT_CSS = """
    FindBar { height: 1; display: none; background: $surface; }
    FindBar.-open { display: block; }
    FindBar #find-slash { width: 3; background: $surface; }
    FindBar Input { width: 1fr; border: none; height: 1; padding: 0; background: $surface; }
    FindBar Input:focus { border: none; height: 1; }
    FindBar #found { width: 2fr; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "clear", show=False), Binding("down", "keep", show=False)]

    class Closed(Message):
        """The person is done with it."""

    def __init__(self, find: Callable[[str], Line]) -> None:
        super().__init__(id="find")
        self._find = find
        """Looks for words, and says how that went."""

    def compose(self) -> ComposeResult:
        """A slash, the input, what was found."""
        yield SpanBlock(widget_id="find-slash", keep_height=True)
        entry = TextEntry(id="find-text")
        entry.cursor_blink = False
        yield entry
        yield SpanBlock(widget_id="found", keep_height=True)

    def open(self) -> None:
        """Show it and type; the words that were looked for last stand there, chosen."""
        self.add_class("-open")
        self.query_one("#find-slash", SpanBlock).show(lambda _width: (line(Span(" /", Tone.KEY)),))
        entry = self.query_one(Input)
        entry.focus()
        entry.select_all()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for what is typed so far."""
        event.stop()
        told = self._find(event.value)
        self.query_one("#found", SpanBlock).show(lambda _width: ((Span(" "), *told),))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep it."""
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Go back to the text, at what was found."""
        self.remove_class("-open")
        self.post_message(self.Closed())

    def action_clear(self) -> None:
        """Look for nothing any more."""
        self.query_one(Input).value = ""
        self.remove_class("-open")
        self.post_message(self.Closed())
