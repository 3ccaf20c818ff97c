"""The buttons of a dialog on one line. The first is chosen until a person moves: it is always the harmless one."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from nodus_tui.text import safe_text, width_of
from nodus_tui.view_state.cells import Line, Span, Tone
from nodus_tui.widgets.paint import ground_of, paint_of


class ChoiceRow(Widget, can_focus=True):
    """`[ Cancel ]   Kill 31  `."""

    DEFAULT_CSS = """
    ChoiceRow { height: 1; width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up,h,k", "choose(-1)", show=False),
        Binding("right,down,l,j", "choose(1)", show=False),
        Binding("enter,space", "press", show=False),
    ]

    class Pressed(Message):
        """A choice was made."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, labels: Sequence[str], *, dangerous: bool, widget_id: str | None = None) -> None:
        super().__init__(id=widget_id)
        self.labels = tuple(safe_text(label) for label in labels)
        self.chosen = 0
        self.dangerous = dangerous

    def action_choose(self, by: int) -> None:
        """Choose the next or the one before."""
        self.chosen = max(0, min(len(self.labels) - 1, self.chosen + by))
        self.refresh()

    def step(self, by: int) -> bool:
        """Choose the next or the one before, where there is one; says whether there was."""
        before = self.chosen
        self.action_choose(by)
        return self.chosen != before

    def enter_from(self, by: int) -> None:
        """Take the focus at the first choice, or coming backwards at the last."""
        self.chosen = 0 if by > 0 else len(self.labels) - 1
        self.focus()
        self.refresh()

    def action_press(self) -> None:
        """Take what is chosen."""
        self.post_message(self.Pressed(self.chosen))

    def on_focus(self) -> None:
        """The chosen one is marked while it has the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """See on_focus."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click presses."""
        offset = event.get_content_offset(self)
        left = 0
        for index, label in enumerate(self.labels):
            width = width_of(label) + 4
            if offset is not None and left <= offset.x < left + width:
                event.stop()
                self.chosen = index
                self.action_press()
                return
            left += width + 2

    def render_line(self, y: int) -> Strip:
        """The one line."""
        paint, width = paint_of(self), self.size.width
        ground = ground_of(self)
        if y > 0:
            return Strip.blank(width, ground)
        segments: list[Segment] = []
        for index, label in enumerate(self.labels):
            tone = Tone.BAD if self.dangerous and index else Tone.STRONG
            chosen = index == self.chosen and self.has_focus
            words: Line = (Span(f"[ {label} ]" if chosen else f"  {label}  ", tone),)
            size = width_of(label) + 4
            segments.extend(paint.segments(words, size, base=paint.cursor if chosen else ground))
            segments.extend(paint.segments((), 2, base=ground))
        return Strip(segments).adjust_cell_length(width, ground)
