"""Comparing two cells of a sweep: their results are asked for, and a dialog shows how they differ."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.results import PairedDifference
from nodus_tui.contract.sweep_results import PooledCells
from nodus_tui.screens.base import ViewScreen
from nodus_tui.statistics.comparing import compared_groups
from nodus_tui.view_state.cells import Line, Span, Tone, hint, line, muted
from nodus_tui.view_state.sweep_cells import CellNow
from nodus_tui.view_state.sweep_comparing import comparison_lines
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.text_pane import TextPane

_FRAME_LINES = 4
"""Of the dialog around its text."""


class ComparisonDialog(ModalScreen[None]):
    """What two cells come to beside each other."""

    AUTO_FOCUS = "TextPane"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q", "close", show=False)]

    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__()
        self.lines = (line(Span("Two cells compared", Tone.TITLE), muted("   "), *hint("Esc", " closes", "close")), (), *lines)

    def compose(self) -> ComposeResult:
        """One text, which scrolls where it is higher than the terminal."""
        with Vertical(id="dialog"):
            yield TextPane(widget_id="comparison")

    def on_text_pane_resized(self) -> None:
        """Fit the text to the width, and the dialog to the text."""
        pane = self.query_one(TextPane)
        lines = wrapped(self.lines, pane.text_width)
        pane.styles.height = max(1, min(len(lines), self.size.height - _FRAME_LINES))
        pane.show(lines)

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)


async def compare_cells(screen: ViewScreen, first: CellNow, second: CellNow, *pools: PooledCells | None) -> None:
    """Ask for both cells' results where they have tasks, and show how they differ."""
    difference: PairedDifference | None = None
    if first.cell.kind == "AgentGroup" and first.rated is not None and second.rated is not None:
        screen.notice("reading the results of both…", Tone.MUTED)
        backend = screen.services.backend
        try:
            one, other = await asyncio.gather(backend.results(first.name), backend.results(second.name))
        except NodusError as error:
            screen.notice(f"! {error.detail}", Tone.BAD)
            return
        screen.tell()
        difference = compared_groups(one, other)
    of_first, of_second = pools
    lines = comparison_lines(first, second, difference, (of_first, of_second), screen.services.now())
    screen.app.push_screen(ComparisonDialog(lines))
