"""The filter's line: what is typed filters at once, Enter keeps it, Escape takes it away."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.filtering import FILTER_HELP, Filter, parse_filter
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_entry import TextEntry


class FilterBar(Horizontal):
    """Hidden until it is asked for."""

    DEFAULT_CSS = """
    FilterBar { height: 1; display: none; background: $surface; }
    FilterBar.-open { display: block; }
    FilterBar #slash { width: 3; background: $surface; }
    FilterBar Input { width: 1fr; border: none; height: 1; padding: 0; background: $surface; }
    FilterBar Input:focus { border: none; height: 1; }
    FilterBar #hint { width: 2fr; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "clear", show=False), Binding("down", "keep", show=False)]

    class Closed(Message):
        """The person is done with it."""

    def __init__(self, apply: Callable[[Filter | None], None]) -> None:
        super().__init__(id="filter")
        self._apply = apply
        self.active: Filter | None = None

    def compose(self) -> ComposeResult:
        """A slash, the input, what is wrong or possible."""
        yield SpanBlock(widget_id="slash", keep_height=True)
        entry = TextEntry(id="filter-text")
        entry.cursor_blink = False
        yield entry
        yield SpanBlock(widget_id="hint", keep_height=True)

    def open(self) -> None:
        """Show it and type."""
        self.add_class("-open")
        self.query_one("#slash", SpanBlock).show(lambda _width: (line(Span(" /", Tone.KEY)),))
        self._hint(muted(FILTER_HELP))
        self.query_one(Input).focus()

    def _hint(self, span: Span) -> None:
        self.query_one("#hint", SpanBlock).show(lambda _width: (line(" ", span),))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as it is typed; a filter that is not whole yet changes nothing."""
        event.stop()
        try:
            parsed = parse_filter(event.value)
        except ValueError as error:
            self._hint(Span(str(error), Tone.WARN))
            return
        self._hint(muted(FILTER_HELP))
        self.active = parsed if parsed.conditions else None
        self._apply(self.active)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep it."""
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Go back to the rows; the filter stays."""
        self.set_class(self.active is not None, "-open")
        self.post_message(self.Closed())

    def action_clear(self) -> None:
        """Take the filter away."""
        self.query_one(Input).value = ""
        self.active = None
        self._apply(None)
        self.remove_class("-open")
        self.post_message(self.Closed())

    def words(self) -> Line:
        """The filter that holds, for the status line."""
        return line(Span(f"/{self.active.text}", Tone.KEY)) if self.active is not None else ()
