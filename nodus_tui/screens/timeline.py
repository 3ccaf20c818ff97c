"""The wall-clock timeline of a group: a row for each run, one axis above them that scrolls, zooms and follows the present."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.group_part import close_state, load_state, open_state
from nodus_tui.screens.run import RunScreen
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Span, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.timeline import TIME_COLUMN, TimelineState, legend, middle_of, run_line
from nodus_tui.view_state.words import GROUP_SIGNS
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.span_block import SpanBlock

LOOK_SECONDS = 2.0
"""How often what goes on is drawn on, at most."""


class TimelineScreen(TableScreen[AgentRun]):
    """When each run of a group did what."""

    VIEW: ClassVar[View] = View.TIMELINE
    ITEM: ClassVar[str] = "run"
    DETAIL_LINES: ClassVar[int] = 2
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.TIMELINE)]
    DEFAULT_CSS = """
    TimelineScreen #head { padding: 0 1; }
    TimelineScreen #detail { margin: 0; }
    """

    def __init__(self, services: Services, name: str) -> None:
        self.services = services
        self.group_name = name
        self.state = TimelineState(open_state(self, name))
        super().__init__(services, self.state)
        self._problem = ""
        self._drawn: object = None
        self._drawn_at: datetime | None = None

    def above(self) -> ComposeResult:
        """What the signs mean, and the axis."""
        yield SpanBlock(widget_id="head")
        yield SpanBlock(widget_id="axis", keep_height=True)

    def on_mount(self) -> None:
        """Ask for the runs."""
        self.run_worker(self._load(), exit_on_error=True)

    def on_unmount(self) -> None:
        """Nobody looks at it any more."""
        close_state(self, self.group_name)

    async def _load(self) -> None:
        self._problem = await load_state(self, self.group_name)
        self.show()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("campaigns", self.group_name, "timeline")

    def headline(self) -> Line:
        """The group's phase."""
        group = self.state.group.group
        return GROUP_SIGNS[status_of(group).phase].spans() if group is not None else ()

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is, and what the window shows."""
        return (*super().status_parts(), line(muted(self.state.window.words())) if len(self.state.rows) else ())

    def moving(self) -> bool:
        """What goes on grows by a cell now and then."""
        if self._drawn_at is None or not self.state.moving():
            return False
        return self.services.now() - self._drawn_at >= timedelta(seconds=max(LOOK_SECONDS, self.state.window.step))

    def show_state(self) -> None:
        """The axis and the rows, on one window."""
        now = self.services.now()
        self._drawn_at = now
        self.state.refresh()
        self.table.now = now
        self.table.settle_columns()
        left, width = self.table.extent(TIME_COLUMN) or (0, 1)
        self.state.settle(width, now)
        self.part("head", SpanBlock).show(lambda width: (legend(width),))
        axis = self.state.window.axis(width, now) if len(self.state.rows) else ()
        self.part("axis", SpanBlock).show(lambda _width: ((Span(" " * left), *axis),))
        if self._drawn != self.state.window.key:
            self._drawn = self.state.window.key
            self.table.repaint()
        super().show_state()

    def detail(self, item: AgentRun, width: int) -> Sequence[Line]:
        """The selected run: how long it did what."""
        return clipped((run_line(item, self.services.now()),), width, self.DETAIL_LINES)

    def problem(self) -> str:
        """Why the runs cannot be read."""
        return self.unread("The timeline", self._problem, "opening it again")

    def empty_lines(self) -> tuple[Line, ...]:
        """A group may be gone, or have no runs yet."""
        if not self._problem and self.state.loaded and self.state.group.gone:
            return (line(f"There is no group {self.group_name} any more. "), self.hint("back", " goes back."))
        return super().empty_lines()

    def nothing(self) -> tuple[Line, ...]:
        """Runs come with their tasks."""
        return (line("No runs yet: the tasks are being made."),)

    def offer(self) -> Offer:
        """Following can be stopped."""
        return Offer(words={"follow": "stay" if self.state.window.mode == "follow" else "follow"})

    # Actions

    def open_item(self, item: AgentRun) -> None:
        """The run, its conversation and its calls."""
        self.app.push_screen(RunScreen(self.services, self.state.group, item.name))

    def do_earlier(self) -> None:
        """An earlier time."""
        self.state.window.pan(-1)
        self.show()

    def do_later(self) -> None:
        """A later time."""
        self.state.window.pan(1)
        self.show()

    def do_zoom_in(self) -> None:
        """Less time in more detail, around what the selected run did."""
        self._zoom(1)

    def do_zoom_out(self) -> None:
        """More time in less detail."""
        self._zoom(-1)

    def _zoom(self, by: int) -> None:
        run = self.table.cursor_item
        self.state.window.zoom(by, middle_of(run, self.services.now()) if run is not None else None)
        self.show()

    def do_whole(self) -> None:
        """All of it."""
        self.state.window.show_all()
        self.show()

    def do_follow(self) -> None:
        """Go along with the present, or stay."""
        self.state.window.follow()
        self.show()

    def do_what_if(self) -> None:
        """Another maxActive."""
        # Imported here: each of the two leads to the other.
        from nodus_tui.screens.what_if import WhatIfScreen  # noqa: PLC0415

        self.app.push_screen(WhatIfScreen(self.services, self.group_name))

    # The mouse

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """With Ctrl the wheel zooms, with Shift it moves in time."""
        self._wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """See on_mouse_scroll_up."""
        self._wheel(event, 1)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """A wheel that goes to the side moves in time."""
        event.stop()
        self.do_earlier()

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """See on_mouse_scroll_left."""
        event.stop()
        self.do_later()

    def _wheel(self, event: events.MouseEvent, by: int) -> None:
        if event.ctrl:
            event.stop()
            (self.do_zoom_out if by > 0 else self.do_zoom_in)()
        elif event.shift:
            event.stop()
            (self.do_later if by > 0 else self.do_earlier)()
