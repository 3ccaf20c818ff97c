"""A higher limit of a budget: what a typed one comes to, the question in numbers before it is applied, and the document that is. Pure."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec import Struct
from pydantic import JsonValue

from nodus_tui.contract.money import display_usd, exact_usd, parse_usd, usd_text
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.view_state.any_job import job_status, waits_for_budget
from nodus_tui.view_state.budget_holds import Held, Holdable, held, held_by, holds_parts
from nodus_tui.view_state.campaigns import stopped_cases
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.figures import short_usd
from nodus_tui.view_state.proposals import Question


class Release(Struct, frozen=True):
    """What a higher limit of a budget lets go on."""

    goes_on: tuple[Held, ...]
    waits_on: tuple[Held, ...]
    """What another budget holds as well."""
    cases: int
    """Of the groups that go on: those that have not ended, and those that a budget stopped."""


def release(budget: Budget, budgets: Iterable[Budget], things: Iterable[Holdable]) -> Release:
    """What of everything that is held for want of a budget's money goes on with a higher limit of this one."""
    waiting = [each for each in things if _goes_on_by_itself(each)]
    holds = held_by(budget, held(waiting))
    others = [each for each in budgets if each.name != budget.name]
    waits_on = tuple(each for each in holds if any(held_by(other, (each,)) for other in others))
    goes_on = tuple(each for each in holds if each not in waits_on)
    groups = {each.name for each in goes_on if each.word == "group"}
    return Release(goes_on, waits_on, sum(_cases(each) for each in waiting if isinstance(each, AgentGroup) and each.name in groups))


def _goes_on_by_itself(thing: Holdable) -> bool:
    """Whether what a budget stopped begins again where there is room; a Sandbox and a job that serves a model do not."""
    if isinstance(thing, Sandbox):
        return thing.status is not None and not thing.status.ended
    if isinstance(thing, Job | TrainingJob):
        return not job_status(thing).ended or waits_for_budget(thing)
    return True


def _cases(group: AgentGroup) -> int:
    return group.status.pending + stopped_cases(group.status) if group.status is not None else 0


def limit_problem(text: str, limit: Decimal) -> str:
    """What is wrong with a typed limit, as a sentence; empty when it can be applied."""
    cleaned = text.strip().removeprefix("$")
    if not cleaned:
        return "Type the new limit in US dollars."
    try:
        amount = parse_usd(cleaned)
    except ValueError as error:
        return str(error)
    return "" if amount > limit else f"The new limit must be above {exact_usd(limit)}; a lower one is applied with the budget's spec."


def still_blocks(budget: Budget, limit: Decimal) -> Line:
    """The warning beside a limit that is spent already; empty where it is not."""
    if budget.spec.action != "Block" or budget.status is None or budget.status.spent_usd < limit:
        return ()
    return line(Span(f"! {short_usd(budget.status.spent_usd)} is spent already: under this limit it goes on blocking.", Tone.WARN))


def limit_lines(budget: Budget) -> tuple[Line, ...]:
    """What the limit is now, and what is spent of it."""
    spent = budget.status.spent_usd if budget.status is not None else Decimal(0)
    period = "a month" if budget.spec.period == "Monthly" else "in all"
    return (line(f"{exact_usd(budget.spec.limit_usd)} {period} is the limit; ", strong(f"{short_usd(spent)} is spent"), "."),)


def raise_question(budget: Budget, limit: Decimal, freed: Release) -> Question:
    """The question before a higher limit is applied: how much more may be spent, and what goes on again."""
    lines = [line(strong(f"{display_usd(limit - budget.spec.limit_usd)} more"), " may be spent under it.")]
    warning = still_blocks(budget, limit)
    if warning:
        lines.append(warning)
    elif freed.goes_on:
        cases = f", with {freed.cases:,} case{'s' if freed.cases != 1 else ''} that have not ended" if freed.cases else ""
        lines.append(_things("Goes on again: ", freed.goes_on, cases))
    elif budget.spec.action == "Notify":
        lines.append(line(muted("It stops nothing: only its thresholds come later.")))
    elif not freed.waits_on:
        lines.append(line(muted("Nothing waits for it now.")))
    if freed.waits_on and not warning:
        lines.append(_things("Waits on for another budget: ", freed.waits_on))
    return Question(f"Raise the limit of budget {budget.name} to {exact_usd(limit)}?", tuple(lines), "Raise limit")


def _things(label: str, things: Sequence[Held], more: str = "") -> Line:
    return (muted(label), *joined(holds_parts(things)), *line(more))


def with_limit(budget: Budget, limit: Decimal) -> dict[str, JsonValue]:
    """The budget's document with another limit."""
    document = budget.to_document()
    document.pop("status", None)
    spec = document["spec"]
    if not isinstance(spec, dict):
        raise TypeError(f"the spec of {budget.name} is no mapping")
    return {**document, "spec": {**spec, "limitUSD": usd_text(limit)}}
