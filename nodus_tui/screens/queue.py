"""The queue: who waits for what, since when and until when; many that wait for the same in one row."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.going import go_to_box, go_to_job, go_to_run
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.services import Services
from nodus_tui.screens.sweep import SweepScreen
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.screens.timeline import TimelineScreen
from nodus_tui.screens.what_if import WhatIfScreen
from nodus_tui.view_state.cells import Line, Tone, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.queue_columns import reasons_line, waiter_details
from nodus_tui.view_state.waiting import Waiter
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.span_block import SpanBlock

_HEAD_LINES = 2


class QueueScreen(TableScreen[Waiter]):
    """Everything that waits."""

    VIEW: ClassVar[View] = View.QUEUE
    ITEM: ClassVar[str] = "row"
    DETAIL_LINES: ClassVar[int] = 4
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.QUEUE)]
    DEFAULT_CSS = """
    QueueScreen #head { padding: 0 1; margin: 0 0 1 0; }
    QueueScreen.-short #head { margin: 0; }
    QueueScreen.-short #detail { margin: 0; }
    """

    def __init__(self, services: Services) -> None:
        self.state = services.feed.queue_state()
        super().__init__(services, self.state)
        self._problem = ""

    def above(self) -> ComposeResult:
        """How many wait for what."""
        yield SpanBlock(widget_id="head")

    def on_mount(self) -> None:
        """Ask for the runs."""
        self.run_worker(self._load(), exit_on_error=True)

    def on_unmount(self) -> None:
        """Nobody looks at the queue any more."""
        self.services.feed.close_queue()

    def came_from(self, screen: ViewScreen) -> None:
        """From a group it shows that group's queue alone, from elsewhere all."""
        self.state.narrow(screen.group_name if isinstance(screen, GroupScreen | TimelineScreen) else "")
        self.show()

    def reread(self) -> None:
        """A recording stands elsewhere now."""
        self.run_worker(self._load(), exit_on_error=True)

    async def _load(self) -> None:
        try:
            await self.services.feed.load_queue()
        except NodusError as error:
            self._problem = error.detail
        else:
            self._problem = ""
        self.show()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is, and the group that is shown alone."""
        return ("queue", self.state.only_group) if self.state.only_group else ("queue",)

    def headline(self) -> Line:
        """How many wait."""
        waiting = sum(self.state.reasons.values())
        return line(muted(f"{waiting:,} waiting")) if self.state.loaded else ()

    def moving(self) -> bool:
        """Forecasts are looked at again now and then; nothing here reads otherwise each second."""
        return self.state.due(self.services.now())

    def show_state(self) -> None:
        """The counts, the rows, the selected one. The group that is shown alone stands in the crumbs."""
        self.state.refresh(self.services.now())
        self.table.leave_out(*(("group",) if self.state.only_group else ()))
        self.part("head", SpanBlock).show(lambda width: clipped((reasons_line(self.state.reasons),), width, _HEAD_LINES))
        super().show_state()

    def detail(self, item: Waiter, width: int) -> Sequence[Line]:  # noqa: ARG002 - as every view has it
        """The selected one in words."""
        return waiter_details(item, self.services.now(), self.key_offered)

    def problem(self) -> str:
        """Why the runs cannot be read."""
        if not self._problem or self.state.loaded or self.services.feed.connection.state == "lost":
            return ""  # Where the connection is lost, the feed asks again by itself.
        return self.unread("The queue", self._problem, "opening the queue again")

    def nothing(self) -> tuple[Line, ...]:
        """Nothing waits."""
        if self.state.only_group:
            return (line(f"Nothing of {self.state.only_group} waits. "), (*self.hint("narrow", " shows everything that does."),))
        return (
            line("No row here: nothing waits. Whatever there is to do goes on, or has ended."),
            (),
            line(muted("What waits for a slot, a cap, a budget, a device, a rate limit or somebody stands here.")),
            line(muted("In a shell:  nodus-tui queue")),
        )

    def offer(self) -> Offer:
        """What the keys do with the selected row."""
        item = self.table.cursor_item
        words = {"fold": "fold" if self.state.unfolded else "unfold"}
        if self.state.only_group:
            words["narrow"] = "all groups"
        if item is not None and item.is_bundle:
            words["open"] = "unfold"
        of_group = item is not None and bool(item.group)
        without = set() if of_group or self.state.only_group else {"narrow"}
        if not self.state.unfolded and not any(each.is_bundle for each in self.source.rows.items()):
            without.add("fold")
        return Offer(now=frozenset({"timeline", "what_if"} if of_group else ()), without=frozenset(without), words=words)

    # Actions

    def open_item(self, item: Waiter) -> None:
        """What waits; a row of many becomes many rows."""
        if item.is_bundle:
            self.do_turn(item)
        elif item.kind == "AgentRun":
            self.run_worker(go_to_run(self, item.name), exit_on_error=True)
        elif item.kind == "AgentGroup":
            self.app.push_screen(GroupScreen(self.services, item.name))
        elif item.kind == "Sweep":
            self.app.push_screen(SweepScreen(self.services, item.name))
        elif item.kind == "Sandbox":
            go_to_box(self, item.name)
        else:
            go_to_job(self, item.name)

    def do_turn(self, item: Waiter) -> None:
        """Tell a bundle's runs one by one; the cursor stays where the bundle began."""
        self.state.turn(item.bundle)
        self.show()
        self.table.select(f"run/{item.name}")

    def do_fold(self) -> None:
        """Every run by itself, or many in one row again."""
        self.state.turn_all()
        self.show()

    def do_narrow(self) -> None:
        """The selected row's group alone, or all again."""
        item = self.table.cursor_item
        if self.state.only_group:
            self.state.narrow("")
        elif item is not None and item.group:
            self.state.narrow(item.group)
        else:
            self.notice("Select a run or a group first: it is shown alone then.", Tone.WARN)
        self.show()

    def _group_name(self) -> str:
        item = self.table.cursor_item
        name = (item.group if item is not None else "") or self.state.only_group
        if not name:
            self.notice("Select a run or a group first.", Tone.WARN)
        return name

    def do_timeline(self) -> None:
        """The timeline of the selected row's group."""
        if name := self._group_name():
            self.app.push_screen(TimelineScreen(self.services, name))

    def do_what_if(self) -> None:
        """Another maxActive of the selected row's group."""
        if name := self._group_name():
            self.app.push_screen(WhatIfScreen(self.services, name))
