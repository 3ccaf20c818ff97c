"""The palette: every action of a view by its name. The same dialog with the views only is what `:` opens."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import ClassVar

from rapidfuzz import fuzz
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from nodus_tui.view_state.cells import Span, Tone, line, muted, strong
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.key_actions import USUAL, KeyAction, Situation, View, actions_of
from nodus_tui.view_state.key_names import shown_key
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.views import destination
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_entry import TextEntry

_GOOD_MATCH = 60
_TELLING = 3
"""Letters from which on they are looked for in sentences, and misspelt names guessed: fewer stand in nearly all of them."""
_MOST_LINES = 12
"""Of the table, its titles included."""
_HELP_LINES = 2


def _key_text(action: KeyAction) -> str:
    return shown_key(action.keys[0]) if action.keys else ""


def _columns(what: str) -> tuple[Column[KeyAction], ...]:
    return (
        Column("key", "KEY", 6, lambda action, _now: line(Span(_key_text(action), Tone.KEY)), lambda _action: None),
        Column("word", what, 13, lambda action, _now: line(action.word), lambda action: action.word),
        Column("help", "", 20, lambda action, _now: line(muted(action.help)), lambda _action: None, grow=200),
    )


class ActionChooser(ModalScreen[str | None]):
    """Gives the id of the chosen action."""

    DIALOG_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (("↑ ↓", "choose"), ("Enter", "do it"), ("Esc", "cancel"))
    AUTO_FOCUS = "Input"
    DEFAULT_CSS = """
    ActionChooser LineTable { margin-top: 1; }
    ActionChooser #whole { margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False, priority=True),
        Binding("ctrl+p", "cancel", show=False, priority=True, id="keys.palette"),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("tab", "complete", show=False, priority=True),
    ]

    def __init__(self, actions: Iterable[KeyAction], now: Callable[[], datetime], question: str, what: str = "ACTION") -> None:
        super().__init__()
        self.now = now
        self.question = question
        self.actions = tuple(actions)
        self.rows: Rows[KeyAction] = Rows(_columns(what))
        self._offer(self.actions)

    def compose(self) -> ComposeResult:
        """Input and matches."""
        with Vertical(id="dialog"):
            entry = TextEntry(placeholder=self.question, id="words")
            entry.cursor_blink = False
            yield entry
            table: LineTable[KeyAction] = LineTable(self.rows, self.now(), widget_id="actions")
            table.one_click = True
            table.styles.height = min(_MOST_LINES, len(self.actions) + 1)
            yield table
            yield SpanBlock(widget_id="whole", keep_height=True)

    def on_mount(self) -> None:
        """Room for the longest sentence: a dialog that grew and shrank would be hard to look at."""
        self.query_one("#whole", SpanBlock).styles.height = _HELP_LINES
        self._show_whole()

    def on_line_table_cursor_moved(self) -> None:
        """Another action is selected."""
        self._show_whole()

    def _show_whole(self) -> None:
        """The sentence of the selected action, which its row may have cut off."""
        table = self.query_one(LineTable)
        action = table.cursor_item
        # That there are more than the table has room for is told in words: a scrollbar alone is easily missed.
        place = f"{table.place_text}  "
        said = line(strong(place), muted(action.help)) if isinstance(action, KeyAction) else line(Span("Nothing has that name.", Tone.WARN))
        self.query_one("#whole", SpanBlock).show(lambda width: clipped((said,), width, _HELP_LINES))

    def _offer(self, actions: Iterable[KeyAction]) -> None:
        self.rows.clear()
        for action in actions:
            self.rows.put(action.id, action)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Keep what matches, the likeliest first."""
        self._offer(best_first(event.value, self.actions))
        table = self.query_one(LineTable)
        table.show(self.now())
        table.move_to(0)
        # The cursor may be where it was, and how many there are is told here.
        self._show_whole()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Do the chosen one."""
        self.dismiss(self.query_one(LineTable).cursor_key)

    def on_line_table_row_opened(self, event: LineTable.RowOpened) -> None:
        """A click on the chosen one."""
        self.dismiss(event.key)

    def action_move(self, by: int) -> None:
        """Choose another."""
        self.query_one(LineTable).action_move(by)

    def action_complete(self) -> None:
        """Write the chosen one's name in full."""
        chosen = self.query_one(LineTable).cursor_key
        if chosen is not None:
            entry = self.query_one(Input)
            entry.value = self.rows.item(chosen).word
            entry.cursor_position = len(entry.value)

    def action_cancel(self) -> None:
        """Do nothing."""
        self.dismiss(None)


class Palette(ActionChooser):
    """Every action of a view."""

    def __init__(self, view: View, now: Callable[[], datetime], situation: Situation = USUAL) -> None:
        actions = (action for action in actions_of(view, situation) if action.palette)
        super().__init__(actions, now, "what do you want to do?")


class JumpDialog(ActionChooser):
    """The views that can be gone to from a view, those of what is selected there included."""

    def __init__(self, view: View, now: Callable[[], datetime], situation: Situation = USUAL) -> None:
        names = {each.value for each in View}
        views = (action for action in actions_of(view, situation) if action.id in names)
        super().__init__(views, now, "which view?", "VIEW")


def best_first(typed: str, actions: Sequence[KeyAction]) -> list[KeyAction]:
    """The actions that a person who typed this may mean, the likeliest first."""
    words = typed.strip().casefold()
    ranked = [(rank, place) for place, action in enumerate(actions) if (rank := _rank(words, action)) is not None]
    return [actions[place] for _, place in sorted(ranked)]


def _rank(typed: str, action: KeyAction) -> int | None:
    """0 for the best match; None for none."""
    entry = destination(action.id)
    names = (action.word, *(entry.also if entry is not None else ()))
    if any(name.casefold().startswith(typed) for name in names):
        return 0
    if typed in action.word.casefold():
        return 1
    if typed and len(typed) < _TELLING:
        return None
    if typed in action.help.casefold():
        return 2
    return 3 if fuzz.partial_ratio(typed, action.word.casefold()) > _GOOD_MATCH else None
