"""The filter's lines: what is typed filters at once, Tab completes a field's name, Enter keeps the filter, Escape takes it away."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from nodus_tui.view_state.cells import Span, Tone, line, muted
from nodus_tui.view_state.filter_fields import Fields
from nodus_tui.view_state.filtering import Filter, completed, filter_help, parse_filter
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_entry import TextEntry

_HELP_LINES = 3


class FilterBar(Vertical):
    """Hidden until it is asked for; below what is typed stands what can be typed, or what is wrong with it, until it is kept."""

    DEFAULT_CSS = """
    FilterBar { height: auto; display: none; background: $surface; }
    FilterBar.-open { display: block; }
    FilterBar Horizontal { height: 1; }
    FilterBar #slash { width: 3; background: $surface; }
    FilterBar Input { width: 1fr; border: none; height: 1; padding: 0; background: $surface; }
    FilterBar Input:focus { border: none; height: 1; }
    FilterBar #hint { background: $surface; padding: 0 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", show=False),
        Binding("down", "keep", show=False),
        Binding("tab", "complete", show=False),
    ]

    class Closed(Message):
        """The person is done with it."""

    def __init__(self, apply: Callable[[Filter | None], None], fields: Callable[[], Fields]) -> None:
        super().__init__(id="filter")
        self._apply = apply
        self._fields = fields
        self.active: Filter | None = None
        self._wrong = False

    def compose(self) -> ComposeResult:
        """A slash, the input, what is wrong or possible."""
        with Horizontal():
            yield SpanBlock(widget_id="slash", keep_height=True)
            entry = TextEntry(id="filter-text")
            entry.cursor_blink = False
            yield entry
        yield SpanBlock(widget_id="hint")

    def open(self) -> None:
        """Show it and type."""
        self.add_class("-open")
        self.query_one("#slash", SpanBlock).show(lambda _width: (line(Span(" /", Tone.KEY)),))
        self._hint(muted(filter_help(self._fields())))
        self.query_one(Input).focus()

    @property
    def text(self) -> str:
        """The filter that holds, as it was typed; empty for none."""
        return self.active.text if self.active is not None else ""

    def put(self, text: str) -> None:
        """Filter by a text that held before."""
        parsed = parse_filter(text, self._fields())
        with self.prevent(Input.Changed):
            self.query_one(Input).value = text
        self.active, self._wrong = parsed if parsed.conditions else None, False
        self.set_class(self.active is not None, "-open")
        self._hint()
        self._apply(self.active)

    def _hint(self, *spans: Span) -> None:
        self.query_one("#hint", SpanBlock).show(lambda width: clipped((line(*spans),), width, _HELP_LINES) if spans else ())

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as it is typed; a filter that is not whole yet changes nothing."""
        event.stop()
        try:
            parsed = parse_filter(event.value, self._fields())
        except ValueError as error:
            self._wrong = True
            self._hint(Span(f"! {error}", Tone.WARN))
            return
        self._wrong = False
        self._hint(muted(filter_help(self._fields())))
        self.active = parsed if parsed.conditions else None
        self._apply(self.active)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep it."""
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Go back to the rows; the filter stays. One with a fault in it is to be mended first."""
        if self._wrong:
            return
        self.set_class(self.active is not None, "-open")
        self._hint()
        self.post_message(self.Closed())

    def action_clear(self) -> None:
        """Take the filter away."""
        self.query_one(Input).value = ""
        self.active, self._wrong = None, False
        self._apply(None)
        self.remove_class("-open")
        self._hint()
        self.post_message(self.Closed())

    def action_complete(self) -> None:
        """Write the name of the field that was begun, or list those that it may be."""
        entry = self.query_one(Input)
        text, cursor, names = completed(entry.value, entry.cursor_position, self._fields())
        if text != entry.value:
            entry.value = text
            entry.cursor_position = cursor
        elif len(names) > 1:
            self._hint(muted(" ".join(names)))
