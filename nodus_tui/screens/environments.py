"""All environments, and the selected one in words."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.environment import EnvironmentScreen
from nodus_tui.screens.environment_acting import gold_check
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.cells import Line, line, muted
from nodus_tui.view_state.environments import EnvironmentRow, environment_facts
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.words import unread
from nodus_tui.widgets.key_bar import Offer

LOOK_SECONDS = 10.0
"""How often the backend is asked for them while this view is in front: they change by an apply or a check only."""


class EnvironmentsScreen(TableScreen[EnvironmentRow]):
    """All environments."""

    VIEW: ClassVar[View] = View.ENVIRONMENTS
    ITEM: ClassVar[str] = "environment"
    DETAIL_LINES: ClassVar[int] = 8
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.ENVIRONMENTS)]

    def __init__(self, services: Services) -> None:
        super().__init__(services, services.environments.state)
        self.state = services.environments.state
        self._asking = False

    def on_mount(self) -> None:
        """Ask at once, and again while this view is in front."""
        super().on_mount()
        self.set_interval(LOOK_SECONDS, self.look)
        self.look()

    def look(self) -> None:
        """Ask the backend, unless it has not answered yet or another view is in front."""
        if self._asking or self.app.screen is not self:
            return
        self._asking = True
        self.run_worker(self._ask(), exit_on_error=True)

    async def _ask(self) -> None:
        try:
            await self.services.environments.look()
        finally:
            self._asking = False
        self.show()

    def reread(self) -> None:
        """A recording stands elsewhere now."""
        self.look()

    def problem(self) -> str:
        """Why they cannot be read."""
        return unread("The environments", self.state.problem, "They are asked for again by themselves.") if self.state.problem else ""

    def headline(self) -> Line:
        """How many there are."""
        return self.state.summary()

    def detail(self, item: EnvironmentRow, width: int) -> Sequence[Line]:  # noqa: ARG002 - the lines are broken by who asks
        """The selected one in words."""
        return environment_facts(item, self.services.now(), self.key_offered)

    def nothing(self) -> tuple[Line, ...]:
        """How the first one comes about."""
        return (
            line("No environment is there: this backend brings none, and none was applied."),
            (),
            line(muted("in a shell:  nodus-tui apply -f FILE   with an Environment in it")),
        )

    def offer(self) -> Offer:
        """A check that goes on is ended by the same key."""
        item = self.table.cursor_item
        going = item is not None and item.check is not None
        without = frozenset({"gold_check"}) if item is None or item.problem else frozenset()
        return Offer(without=without, words={"gold_check": "end check"} if going else {})

    def open_item(self, item: EnvironmentRow) -> None:
        """Its tasks."""
        self.app.push_screen(EnvironmentScreen(self.services, item.name))

    async def do_gold_check(self) -> None:
        """Check the selected one, or end its check."""
        if (item := self.selected()) is not None:
            await gold_check(self, item)
