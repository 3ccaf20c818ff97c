"""All budgets, and the selected one in words."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.binding import BindingType

from nodus_tui.contract.resources.budget import Budget
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.budget_holds import Holdable, held, held_by, held_line
from nodus_tui.view_state.budget_raise import release
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
        stops = held_line(held_by(item, held(self._everything())))
        how = line(
            muted("A higher limit lets that go on: "),
            *(self.hint("raise_limit", " raises it.") or (muted("applying its spec raises it."),)),
        )
        return (first, *((stops,) if stops else ()), *facts, how)

    def _everything(self) -> Iterator[Holdable]:
        """All that a budget can hold."""
        feed = self.services.feed
        return (each for state in (feed.campaigns, feed.jobs, feed.sweeps, feed.boxes) for each in state.rows.items())

    def open_item(self, item: Budget) -> None:
        """A budget has no view of its own: say where it is told whole, and how it is changed."""
        self.notice(f"All of {item.name} stands below. {self._how()} its spec changes it.")

    async def do_raise_limit(self) -> None:
        """Ask for a higher limit, say what goes on again with it, then apply it."""
        budget = self.selected()
        if budget is None:
            return
        # Imported here: what only this action needs.
        from nodus_tui.screens.budget_acting import raise_limit  # noqa: PLC0415

        await raise_limit(self, budget, lambda: release(budget, self.state.rows.items(), self._everything()))

    def offer(self) -> Offer:
        """Enter opens nothing here; a limit is raised first of all where it blocks."""
        item = self.table.cursor_item
        blocks = item is not None and item.status is not None and item.status.blocking
        return Offer(now=frozenset({"raise_limit"}) if blocks else frozenset(), without=frozenset({"open"}))

    def _how(self) -> str:
        raises, specs = self.key_offered("raise_limit"), self.key_offered("specs")
        return (f"{raises} raises its limit; " if raises else "") + (f"{specs} lists spec files: applying" if specs else "applying")

    def nothing(self) -> tuple[Line, ...]:
        """How the first budget comes about."""
        return (
            line("No budgets yet."),
            (),
            self.hint("specs", "  lists spec files: write one with a Budget in it, and launch it to apply it"),
            line(muted("or, in a shell:  nodus-tui apply -f FILE   with a Budget in it")),
        )
