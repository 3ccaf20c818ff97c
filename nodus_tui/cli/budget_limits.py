"""A higher limit for a budget by one verb: which budget is meant, and applying it with the new limit."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

from nodus_tui.cli.session import author
from nodus_tui.cli.targets import KIND_NAMES, found_of
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import exact_usd, usd_text
from nodus_tui.contract.outcomes import ActionOutcome, Change
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.spec_loading.loader import bundle_from_documents
from nodus_tui.view_state.budget_raise import limit_problem, with_limit


async def budgets_among(backend: Backend, targets: Sequence[str]) -> tuple[list[Budget], list[str]]:
    """The budgets that some of the targets mean, and the other targets. Raises NodusError for a budget that is not there."""
    budgets: list[Budget] = []
    others: list[str] = []
    for target in targets:
        budget = await _budget_named(backend, target)
        if budget is None:
            others.append(target)
        else:
            budgets.append(budget)
    return budgets, others


async def _budget_named(backend: Backend, target: str) -> Budget | None:
    """The budget that `budget/NAME` means, or NAME where nothing that works is called so; None where something else is meant."""
    word, slash, name = target.partition("/")
    if slash:
        found = await backend.get("Budget", name) if word.lower() in KIND_NAMES["Budget"] else None
    else:
        works = [kind for kind in KIND_NAMES if kind not in {"Agent", "Environment", "Budget"}]
        taken = any([await found_of(backend, kind, target) is not None for kind in works])
        found = None if taken else await found_of(backend, "Budget", target)
    return found if isinstance(found, Budget) else None


async def raise_limit(backend: Backend, budget: Budget, amount: Decimal) -> ActionOutcome:
    """Apply it with that limit, in US dollars. Raises NodusError where it is no higher one."""
    before = budget.spec.limit_usd
    if problem := limit_problem(usd_text(amount), before):
        raise NodusError(ErrorCode.INVALID_ACTION, f"budget {budget.name}: {problem}")
    await backend.apply(bundle_from_documents([with_limit(budget, amount)]), author=author(), request_id=uuid4().hex)
    return ActionOutcome(
        action="extendCap",
        kind="Budget",
        name=budget.name,
        changed=True,
        message=f"budget {budget.name} has a limit of {exact_usd(amount)} now; it was {exact_usd(before)}",
        changes=(Change(kind="Budget", name=budget.name, field="limitUSD", old=usd_text(before), new=usd_text(amount)),),
        at=datetime.now(UTC),
        author=author(),
    )
