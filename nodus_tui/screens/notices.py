"""The list of everything that was told, newest first; Enter goes to what a notice is about."""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.catalogue import make_screen
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.services import Services
from nodus_tui.screens.sweep import SweepScreen
from nodus_tui.view_state.cells import Span, Tone, hint, line, muted
from nodus_tui.view_state.notice_words import Notice
from nodus_tui.view_state.notices import NoticesState
from nodus_tui.view_state.views import View, destination
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

_WHOLE_LINES = 4
"""Lines that the selected sentence may take."""
_NOTHING = line(muted("Nothing has happened yet that a person waits for: no end, no stall, no threshold of a budget, no row of failures."))
_SCREENS: dict[str, Callable[[Services, str], ViewScreen]] = {
    "AgentGroup": GroupScreen,
    "Sweep": SweepScreen,
    "Job": JobScreen,
    "TrainingJob": JobScreen,
}


class NoticesDialog(ModalScreen[Notice | None]):
    """Gives the notice whose subject is to be gone to."""

    DIALOG_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (("Enter", "go there"), ("Esc", "close"))
    AUTO_FOCUS = "LineTable"
    CSS = """
    NoticesDialog #dialog { width: 110; }
    NoticesDialog LineTable { height: auto; max-height: 16; margin-top: 1; }
    NoticesDialog #whole { margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "cancel", show=False),
        Binding("enter", "take", show=False),
    ]

    def __init__(self, notices: NoticesState, now: Callable[[], datetime]) -> None:
        super().__init__()
        self.notices = notices
        self.now = now

    def compose(self) -> ComposeResult:
        """Title, notices, the selected one whole, keys."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            yield LineTable(self.notices.rows, self.now(), widget_id="notices")
            yield SpanBlock(widget_id="whole")
            yield SpanBlock(widget_id="problem")

    def on_mount(self) -> None:
        """Begin at the newest."""
        title = line(Span("Notices", Tone.TITLE), muted("  what happened since this console opened, newest first"))
        self.query_one("#text", SpanBlock).show(lambda width: clipped((title,), width, 2))
        table = self.query_one(LineTable)
        table.show(self.now())
        table.display = len(self.notices.rows) > 0
        self._show_selected()

    def on_line_table_cursor_moved(self) -> None:
        """Another one is selected."""
        self._show_selected()

    def _show_selected(self) -> None:
        notice = self.query_one(LineTable).cursor_item
        whole = notice.line() if isinstance(notice, Notice) else _NOTHING
        self.query_one("#whole", SpanBlock).show(lambda width: clipped((whole,), width, _WHOLE_LINES))
        there = hint("Enter", " goes there", "take") if isinstance(notice, Notice) and notice.kind else ()
        keys = (*there, *((muted("  "),) if there else ()), *hint("Esc", " closes", "cancel"))
        self.query_one("#problem", SpanBlock).show(lambda _width: (keys,))

    def on_line_table_row_opened(self) -> None:
        """A click on the selected one."""
        self.action_take()

    def action_take(self) -> None:
        """Go to what it is about; nowhere where there is nothing to be gone to."""
        notice = self.query_one(LineTable).cursor_item
        if isinstance(notice, Notice) and notice.kind:
            self.dismiss(notice)

    def action_cancel(self) -> None:
        """Go nowhere."""
        self.dismiss(None)


def show_notices(screen: ViewScreen) -> None:
    """Open the list over a view; all of it is read then."""
    services = screen.services
    services.feed.notices.read()

    def chosen(notice: Notice | None) -> None:
        if notice is not None:
            screen.app.push_screen(_screen_of(services, notice))

    screen.app.push_screen(NoticesDialog(services.feed.notices, services.now), chosen)


def _screen_of(services: Services, notice: Notice) -> ViewScreen:
    if notice.kind in _SCREENS:
        return _SCREENS[notice.kind](services, notice.name)
    budgets = destination(View.BUDGETS)
    if budgets is None:
        raise LookupError("the registry of views has no budgets")
    return make_screen(budgets, services)
