"""All budgets, and the selected one in words."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from nodus_tui.contract.resources.budget import Budget
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.budget_holds import held, held_by, held_line
from nodus_tui.view_state.budgets import budget_facts
from nodus_tui.view_state.cells import Line, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.widgets.key_bar import Offer


class BudgetsScreen(TableScreen[Budget]):
    """All budgets."""

    VIEW: ClassVar[View] = View.BUDGETS
    ITEM: ClassVar[str] = "budget"
    DETAIL_LINES: ClassVar[int] = 8
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.BUDGETS)]

    def __init__(self, services: Services) -> None:
        super().__init__(services, services.feed.budgets)
        self.state = services.feed.budgets

    def headline(self) -> Line:
        """How many stand how."""
        return self.state.summary()

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is, and who does the work."""
        return (*super().status_parts(), line(muted(self.services.whose_work())))

    def detail(self, item: Budget, width: int) -> Sequence[Line]:
        """The selected budget in words; of one that blocks also what it stops, and what lets that go on."""
        first, *facts = budget_facts(item, width)
        if item.status is None or not item.status.blocking:
            return (first, *facts)
        feed = self.services.feed
        every = (each for state in (feed.campaigns, feed.jobs, feed.sweeps, feed.boxes) for each in state.rows.items())
        stops = held_line(held_by(item, held(every)))
        how = line(muted(f"A higher limit lets that go on: {self._how()} its spec changes it."))
        return (first, *((stops,) if stops else ()), *facts, how)

    def open_item(self, item: Budget) -> None:
        """A budget has no view of its own: say where it is told whole, and how it is changed."""
        self.notice(f"All of {item.name} stands below. {self._how()} its spec changes it.")

    def offer(self) -> Offer:
        """Enter opens nothing here."""
        return Offer(without=frozenset({"open"}))

    def _how(self) -> str:
        specs = self.key_offered("specs")
        return f"{specs} lists spec files; applying" if specs else "Applying"

    def nothing(self) -> tuple[Line, ...]:
        """How the first budget comes about."""
        return (
            line("No budgets yet."),
            (),
            self.hint("specs", "  lists spec files: write one with a Budget in it, and launch it to apply it"),
            line(muted("or, in a shell:  nodus-tui apply -f FILE   with a Budget in it")),
        )
