"""A dialog that shows a longer text of prepared lines, and nothing else."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from nodus_tui.view_state.cells import Line, Span, Tone, hint, line, muted
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_pane import TextPane


class TextDialog(ModalScreen[None]):
    """Shows lines until it is closed."""

    AUTO_FOCUS = "TextPane"
    DEFAULT_CSS = """
    TextDialog TextPane { height: 1fr; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", show=False)]

    def __init__(self, title: str, lines: Sequence[Line]) -> None:
        super().__init__()
        self.title_text = title
        self.lines = tuple(lines)

    def compose(self) -> ComposeResult:
        """Title and text."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            yield TextPane(widget_id="lines")

    def on_mount(self) -> None:
        """Fill in the title."""
        dialog = self.query_one("#dialog")
        dialog.styles.width, dialog.styles.height = 104, "90%"
        title = line(Span(self.title_text, Tone.TITLE), muted("   "), *hint("Esc", " closes", "close"))
        self.query_one("#text", SpanBlock).show(lambda _width: (title,))

    def on_text_pane_resized(self) -> None:
        """Fit the text to the width."""
        pane = self.query_one(TextPane)
        pane.show(wrapped(self.lines, pane.text_width))

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)
