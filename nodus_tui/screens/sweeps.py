"""All sweeps, and the selected one in words."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.screens import acting_many, sweep_acting
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.services import Services
from nodus_tui.screens.sweep import SweepScreen, offer_of
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.cells import Line, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.sweeps import sweep_facts
from nodus_tui.widgets.key_bar import Offer


class SweepsScreen(TableScreen[Sweep]):
    """All sweeps."""

    VIEW: ClassVar[View] = View.SWEEPS
    ITEM: ClassVar[str] = "sweep"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.SWEEPS)]

    def __init__(self, services: Services) -> None:
        super().__init__(services, services.feed.sweeps)
        self.state = services.feed.sweeps

    def headline(self) -> Line:
        """How many are in which phase."""
        return self.state.summary()

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is, and who does the work."""
        return (*super().status_parts(), line(muted(self.services.whose_work())))

    def detail(self, item: Sweep, width: int) -> Sequence[Line]:
        """The selected sweep in words."""
        return sweep_facts(item, self.services.now(), width, self.key_offered)

    def nothing(self) -> tuple[Line, ...]:
        """How the first sweep comes about."""
        return (
            line("No sweeps yet."),
            (),
            self.hint("launch", "  estimates a spec file and launches it"),
            line(muted("or, in a shell:  nodus-tui run -f FILE   with a Sweep in it")),
        )

    def offer(self) -> Offer:
        """What is paused or interrupted goes on with a key that the footer shows."""
        return offer_of(self.table.cursor_item)

    def open_item(self, item: Sweep) -> None:
        """The sweep's cells."""
        self.app.push_screen(SweepScreen(self.services, item.name))

    async def do_kill(self) -> None:
        """Kill the selected sweep."""
        if (sweep := self.selected()) is not None:
            await sweep_acting.kill_sweep(self, sweep)

    async def do_delete(self) -> None:
        """Delete the selected sweep."""
        if items := self.meant():
            await acting_many.delete(self, items)

    async def do_extend(self) -> None:
        """Raise the selected sweep's cap."""
        if (sweep := self.selected()) is not None:
            await sweep_acting.extend_sweep(self, sweep)

    async def do_retry(self) -> None:
        """Run the selected sweep's broken cells again."""
        if (sweep := self.selected()) is not None:
            await sweep_acting.retry_sweep(self, sweep)

    async def do_pause_sweep(self) -> None:
        """Let no further cell of the selected sweep start."""
        if (sweep := self.selected()) is not None:
            await sweep_acting.pause_sweep(self, sweep)

    async def do_resume(self) -> None:
        """Let the selected sweep go on."""
        if (sweep := self.selected()) is not None:
            await sweep_acting.resume_sweep(self, sweep)
