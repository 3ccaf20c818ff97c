"""Names and values in a dialog that scrolls: everything that is known of one thing."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from nodus_tui.view_state.cells import Line, Span, Tone, hint, line, muted
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.text_pane import TextPane


class FactsOverlay(ModalScreen[None]):
    """Shown until it is closed."""

    AUTO_FOCUS = "TextPane"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,a", "close", show=False)]

    def __init__(self, title: str, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.heading = title
        self.pairs = [(name, value) for name, value in pairs if value]

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        with Vertical(id="dialog", classes="help"):
            yield TextPane(widget_id="facts-text")

    def on_text_pane_resized(self) -> None:
        """Fit the text to the width."""
        pane = self.query_one(TextPane)
        pane.show(facts_lines(self.heading, self.pairs, pane.text_width))

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)


def facts_lines(title: str, pairs: Sequence[tuple[str, str]], width: int) -> tuple[Line, ...]:
    """The names in a column, the values beside them."""
    label = max((len(name) for name, _ in pairs), default=0) + 2
    lines: list[Line] = [line(Span(title, Tone.TITLE), muted("   "), *hint("Esc", " closes", "close")), ()]
    for name, value in pairs:
        first, *more = value.split("\n")
        lines.append(line(muted(name.ljust(label)), first))
        lines.extend(line(" " * label, each) for each in more)
    return wrapped(lines, width, hang=label)
