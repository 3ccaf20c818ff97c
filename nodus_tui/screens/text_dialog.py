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

_AROUND = 6
"""Lines of the frame, the title and the space between."""


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
        self.query_one("#dialog").styles.width = 104
        title = line(Span(self.title_text, Tone.TITLE), muted("   "), *hint("Esc", " closes", "close"))
        self.query_one("#text", SpanBlock).show(lambda _width: (title,))

    def on_text_pane_resized(self) -> None:
        """Fit the text to the width, and the dialog to the text."""
        pane = self.query_one(TextPane)
        lines = wrapped(self.lines, pane.text_width)
        pane.show(lines)
        self.query_one("#dialog").styles.height = min(self.size.height * 9 // 10, len(lines) + _AROUND)

    def on_resize(self) -> None:
        """There is other room for it."""
        self.on_text_pane_resized()

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)
