"""A text of YAML to edit: its words in tones, marks beside lines with problems, indentation that goes on. It knows no spec and no screen.

Nothing that a terminal obeys is ever in it: what is loaded, pasted or typed comes in through a veil, and `true_text` is what is saved.
"""

from collections.abc import Mapping
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.document._document import EditResult, Location
from textual.document._document_navigator import DocumentNavigator
from textual.document._edit import Edit
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from nodus_tui.authoring.tokens import Highlighter
from nodus_tui.authoring.veil import Veil
from nodus_tui.view_state.cells import Tone
from nodus_tui.widgets.flat_text import FlatDocument, FlatLines
from nodus_tui.widgets.paint import paint_of

_MARKS: Mapping[Tone, str] = {Tone.BAD: "!", Tone.WARN: "~"}


class SpecText(TextArea):
    """The text of a spec."""

    DEFAULT_CSS = """
    SpecText, SpecText:focus { border: none; padding: 0; background: $background; }
    SpecText { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    SpecText .text-area--cursor-line { background: $surface; }
    SpecText .text-area--gutter { color: $tone-muted; }
    SpecText .text-area--cursor-gutter { color: $tone-key; background: $surface; text-style: none; }
    SpecText .text-area--matching-bracket { background: $surface; text-style: underline; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "to_start", show=False),
        Binding("ctrl+end", "to_end", show=False),
    ]
    STEP: ClassVar[int] = 2
    """Cells of one level of indentation."""

    class Refused(Message):
        """Something was not put in; why, as a sentence."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    class Pointed(Message):
        """The pointer of the mouse rests on another place of the text now; None where it has left it."""

        def __init__(self, place: Location | None) -> None:
            super().__init__()
            self.place = place

    def __init__(self, text: str, *, widget_id: str) -> None:
        self._highlighter = Highlighter()
        self._marked: dict[int, Tone] = {}
        self._pointed: Location | None = None
        self.veil = Veil(text)
        # Without a text at first: the library would take it in twice.
        super().__init__("", soft_wrap=False, show_line_numbers=True, id=widget_id)
        self.indent_width = self.STEP
        self._set_document(self.veil.shown(text), None)
        self.cursor_blink = False

    @property
    def true_text(self) -> str:
        """The text as it is saved."""
        return self.veil.true(self.text)

    def show_text(self, text: str) -> None:
        """Have another text; what can be undone stays so."""
        end = self.document.end
        self.replace(self.veil.shown(text), (0, 0), end)

    def mark(self, rows: Mapping[int, Tone]) -> None:
        """Mark lines, from 0, in the gutter."""
        if rows != self._marked:
            self._marked = dict(rows)
            self.repaint()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Tell what the pointer rests on."""
        below = event.y + self.scroll_offset.y >= self.document.line_count
        self._point(None if below or event.button else self.get_target_document_location(event))

    def on_leave(self) -> None:
        """It rests on nothing of the text any more."""
        self._point(None)

    def _point(self, place: Location | None) -> None:
        if place != self._pointed:
            self._pointed = place
            self.post_message(self.Pointed(place))

    def action_to_start(self) -> None:
        """Go to the beginning of the text."""
        self.move_cursor((0, 0))

    def action_to_end(self) -> None:
        """Go to the end of the text."""
        self.move_cursor(self.document.end)

    def repaint(self) -> None:
        """Paint it anew: a theme, or what is marked, is another."""
        self._line_cache.clear()
        self.refresh()

    def _set_document(self, text: str, language: str | None) -> None:
        del language
        self.document = FlatDocument(text)
        self.wrapped_document = FlatLines(self.document, self.indent_width)
        self.navigator = DocumentNavigator(self.wrapped_document)
        self._build_highlight_map()
        self.move_cursor((0, 0))
        self._rewrap_and_refresh_virtual_size()

    def edit(self, edit: Edit) -> EditResult:
        """Look at the words behind an edit again."""
        self._highlighter.changed(edit.top[0])
        return super().edit(edit)

    def _build_highlight_map(self) -> None:
        super()._build_highlight_map()
        if not self.history.undo_stack or self.history.redo_stack:
            self._highlighter.changed(0)

    def get_line(self, line_index: int) -> Text:
        """A line with its words in tones."""
        text = super().get_line(line_index)
        styles = paint_of(self).styles
        for token in self._highlighter.tokens(line_index, self.document.get_line):
            text.stylize(styles[token.tone], token.start, token.end)
        return text

    def _render_line(self, y: int) -> Strip:
        strip = super()._render_line(y)
        row = y + self.scroll_offset[1]
        tone = self._marked.get(row)
        if tone is None or row >= self.document.line_count:
            return strip
        place = self.gutter_width - 2
        stood = strip.crop(place, place + 1)
        # On the ground on which it stands: the selected line's gutter has one of its own.
        ground = next((Style(bgcolor=each.style.bgcolor) for each in stood if each.style is not None), Style())
        style = ground + paint_of(self).styles[tone] + Style(bold=True)
        mark = Strip([Segment(_MARKS.get(tone, "!"), style)])
        return Strip.join([strip.crop(0, place), mark, strip.crop(place + 1)])

    def _replace_via_keyboard(self, insert: str, start: Location, end: Location) -> EditResult | None:
        try:
            safe = self.veil.shown(insert.replace("\r\n", "\n").replace("\r", "\n"))
        except ValueError as error:
            self.post_message(self.Refused(f"Nothing was put in: {error}."))
            return None
        return super()._replace_via_keyboard(safe, start, end)

    async def _on_key(self, event: events.Key) -> None:
        if event.key.startswith("alt+"):
            # A terminal tells its letter too; it is an action's key, and no text.
            event.prevent_default()
            return
        if event.key == "enter" and not self.read_only:
            event.stop()
            event.prevent_default()
            self._replace_via_keyboard("\n" + " " * self._next_indent(), *self.selection)
            return
        await super()._on_key(event)

    def _next_indent(self) -> int:
        row, column = min(self.selection)
        before = self.document.get_line(row)[:column]
        indent = len(before) - len(before.lstrip(" "))
        bare = before.strip()
        if bare.startswith("- ") and bare.endswith(":"):
            return indent + 2 * self.STEP
        return indent + self.STEP if bare.endswith((":", "|", ">")) or bare.startswith("- ") else indent
