"""A group under another `maxActive`: forecasts beside the present."""

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.group_part import close_state, load_state, open_state
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import RowsScreen
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.what_if import WhatIfRow, WhatIfState, head_lines, row_words, value_problem
from nodus_tui.view_state.words import GROUP_SIGNS, unread
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.dialogs import PromptDialog
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

LOOK_SECONDS = 5.0
"""How often the forecasts are made anew while the group goes on."""
_HEAD_LINES = 3
_DETAIL_LINES = 5


class WhatIfScreen(RowsScreen):
    """Forecasts of one group, a row for each maxActive."""

    VIEW: ClassVar[View] = View.WHAT_IF
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.WHAT_IF)]
    DEFAULT_CSS = """
    WhatIfScreen #head { padding: 0 1; margin: 0 0 1 0; }
    WhatIfScreen #detail { padding: 0 1; margin: 1 0 0 0; }
    WhatIfScreen.-short #head, WhatIfScreen.-short #detail { margin: 0; }
    """

    def __init__(self, services: Services, name: str) -> None:
        super().__init__(services)
        self.group_name = name
        self.state = WhatIfState(open_state(self, name))
        self._problem = ""
        self._placed = False

    def body(self) -> ComposeResult:
        """What the forecasts go by, the forecasts, the selected one in words."""
        yield SpanBlock(widget_id="head")
        yield LineTable(self.state.rows, self.services.now(), widget_id="rows")
        yield SpanBlock(widget_id="detail")

    @property
    def table(self) -> LineTable[WhatIfRow]:
        """The forecasts."""
        table: LineTable[WhatIfRow] = self.part("rows", LineTable)
        return table

    @property
    def active_table(self) -> LineTable[Any]:
        """The only one there is."""
        return self.table

    def on_mount(self) -> None:
        """Ask for the runs."""
        self.table.focus()
        self.run_worker(self._load(), exit_on_error=True)

    def on_unmount(self) -> None:
        """Nobody looks at them any more."""
        close_state(self, self.group_name)

    async def _load(self) -> None:
        self._problem = await load_state(self, self.group_name)
        self.show()

    def focus_home(self) -> None:
        """Keys go to the table."""
        self.table.focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("campaigns", self.group_name, "what-if")

    def headline(self) -> Line:
        """The group's phase."""
        group = self.state.group.group
        return GROUP_SIGNS[status_of(group).phase].spans() if group is not None else ()

    def moving(self) -> bool:
        """Forecasts are looked at again now and then while the group goes on."""
        return self.state.group.moving() and self.state.old(self.services.now(), LOOK_SECONDS)

    def show_state(self) -> None:
        """What they go by, and all of them; the cursor begins at the present."""
        now = self.services.now()
        self.state.refresh(now)
        group, load = self.state.group.group, self.state.load
        self.part("head", SpanBlock).show(
            lambda width: clipped(head_lines(group, load), width, _HEAD_LINES) if group is not None and load is not None else ()
        )
        self.table.show_empty(self._empty_lines())
        self.table.show(now)
        if load is not None and not self._placed:
            self._placed = True
            self.table.select(str(load.max_active))
        row = self.table.cursor_item
        self.part("detail", SpanBlock).show(lambda width: clipped(self._words(row), width, _DETAIL_LINES) if row is not None else ((),))

    def _words(self, row: WhatIfRow) -> Sequence[Line]:
        honest = muted("A forecast: each run takes what runs took so far; rate limits, retries and higher caps are not foreseen.")
        return (*row_words(row, self.services.now()), line(honest))

    def _empty_lines(self) -> tuple[Line, ...]:
        if self._problem:
            told = unread("The runs", self._problem, f"{self.key('back')} goes back; opening it again tries again.")
            return (line(Span(f"! {told}", Tone.BAD)),)
        if not self.state.group.loaded:
            return (line(muted("Reading the runs…")),)
        return (line(f"There is no group {self.group_name} any more. "), self.hint("back", " goes back."))

    # Actions

    async def do_max_active(self) -> None:
        """Ask for another value, and forecast with it."""
        load = self.state.load
        if load is None:
            return
        lines = (line(muted(f"Now it is {load.max_active:,}. Nothing is changed: this is a forecast.")),)
        answer = await self.app.push_screen_wait(
            PromptDialog("maxActive to forecast with", lines, value=f"{load.max_active}", problem=value_problem)
        )
        if answer is not None:
            value = int(answer[0].strip())
            self.state.added.add(value)
            self.show()
            self.table.select(str(value))

    def do_timeline(self) -> None:
        """The timeline of the group."""
        # Imported here: each of the two leads to the other.
        from nodus_tui.screens.timeline import TimelineScreen  # noqa: PLC0415

        self.app.push_screen(TimelineScreen(self.services, self.group_name))
