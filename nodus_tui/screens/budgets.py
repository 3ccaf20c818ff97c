"""All budgets, and the selected one in words."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from nodus_tui.contract.resources.budget import Budget
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.budgets import budget_facts
from nodus_tui.view_state.cells import Line, line, muted
from nodus_tui.view_state.key_actions import View


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
        """The selected budget in words."""
        return budget_facts(item, width)

    def nothing(self) -> tuple[Line, ...]:
        """How the first budget comes about."""
        return (line("No budgets yet."), (), line(muted("in a shell:  nodus-tui apply -f FILE   with a Budget in it")))
