"""Raising the limit of a budget: the new one, the question before it, and what came of it."""

from collections.abc import Callable
from uuid import uuid4

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.money import exact_usd
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.spec_loading.loader import bundle_from_documents
from nodus_tui.screens.acting import agreed
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.budget_raise import Release, limit_lines, limit_problem, raise_question, still_blocks, with_limit
from nodus_tui.view_state.cells import Span, Tone, line
from nodus_tui.view_state.proposals import cap_input, proposed_cap, typed_cap
from nodus_tui.view_state.undoing import Step
from nodus_tui.widgets.dialogs import PromptDialog


async def raise_limit(screen: ViewScreen, budget: Budget, freed: Callable[[], Release]) -> None:
    """Ask for a higher limit and for a yes, then apply it; `freed` is what it lets go on, asked when it is told."""
    limit = budget.spec.limit_usd
    answer = await screen.app.push_screen_wait(
        PromptDialog(
            f"New limit of budget {budget.name}, in US dollars",
            limit_lines(budget),
            # As much again as is spent, so that what waits has room to go on.
            value=cap_input(proposed_cap(limit, 2 * budget.status.spent_usd if budget.status is not None else None)),
            problem=lambda text: limit_problem(text, limit),
            remark=lambda text: still_blocks(budget, typed_cap(text)),
        ),
    )
    if answer is None:
        return
    raised = typed_cap(answer[0])
    if not await agreed(screen, raise_question(budget, raised, freed())):
        return
    screen.notice("asked the backend…", Tone.MUTED)
    services = screen.services
    try:
        await services.backend.apply(bundle_from_documents([with_limit(budget, raised)]), author=services.author, request_id=uuid4().hex)
    except NodusError as error:
        # A document of ours has no lines that anybody could look at.
        screen.notice(f"! {error.faults[0].message if error.faults else error.detail}", Tone.BAD)
        return
    services.history.did(
        Step(
            f"the higher limit of {budget.name}",
            why_not="what it let go on may have spent of it; applying the budget's spec lowers it again",
        )
    )
    screen.tell(line(Span(f"✓ {budget.name} has a limit of {exact_usd(raised)} now.", Tone.GOOD)))
    screen.show()
