"""A higher limit of a budget: what goes on with it, what another budget still holds, and what the question says in numbers."""

from decimal import Decimal

import pytest
from box_records import box
from budget_records import BLOCKS, budget
from console_records import group
from job_records import job

from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.spec_loading.loader import bundle_from_documents
from nodus_tui.view_state.budget_raise import limit_problem, raise_question, release, still_blocks, with_limit
from nodus_tui.view_state.cells import plain

ALL = budget("all", limit="5.00", spent="5.00", status=BLOCKS)
RED = budget("red", limit="1.00", spent="0.90", status=BLOCKS, scope={"project": "red"})
STOPPED = {"phase": GroupPhase.STALLED, "reason": Reason.BUDGET_EXCEEDED, "pending": 12, "verdicts": {"BudgetExceeded": 3}}
HELD = {"phase": "Cancelled", "reason": "BudgetExceeded"}


def asked(made: Budget, limit: str, *things, budgets: tuple[Budget, ...] = ()) -> str:
    question = raise_question(made, Decimal(limit), release(made, (made, *budgets), things))
    return "\n".join((question.title, *map(plain, question.lines)))


def test_the_question_says_how_much_more_and_what_goes_on_again_in_numbers() -> None:
    things = (group("fleet", **STOPPED), group("works"), job("train", **HELD), job("done", phase="Succeeded"))
    assert asked(ALL, "7.50", *things) == (
        "Raise the limit of budget all to $7.50?\n$2.50 more may be spent under it.\n"
        "Goes on again: 1 group: fleet · 1 job: train, with 15 cases that have not ended"
    )
    assert asked(ALL, "7.50").endswith("Nothing waits for it now.")


def test_what_another_budget_holds_as_well_waits_on() -> None:
    red = group("fleet", **STOPPED)
    red = red.model_copy(update={"metadata": red.metadata.model_copy(update={"project": "red"})})
    told = asked(ALL, "9", red, job("train", **HELD), budgets=(RED,))
    assert "Goes on again: 1 job: train\n" in told
    assert told.endswith("Waits on for another budget: 1 group: fleet")


def test_what_a_budget_ended_for_good_does_not_go_on() -> None:
    assert asked(ALL, "9", box("scratch", phase="Stopped", reason="BudgetExceeded")).endswith("Nothing waits for it now.")


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("5.01", ""),
        ("$6", ""),
        ("5", "must be above $5.00; a lower one is applied with the budget's spec"),
        ("", "Type the new limit"),
        ("1e3", "is not an amount in US dollars"),
    ],
)
def test_a_typed_limit_is_above_the_present_one(typed: str, problem: str) -> None:
    told = limit_problem(typed, Decimal(5))
    assert problem in told
    assert bool(told) == bool(problem)


def test_a_limit_that_is_spent_already_goes_on_blocking_and_says_so() -> None:
    over = budget("over", limit="1.00", spent="3.00", status=BLOCKS)
    assert "goes on blocking" in plain(still_blocks(over, Decimal(2)))
    assert "goes on blocking" in asked(over, "2", group("fleet", **STOPPED))
    assert "Goes on again" not in asked(over, "2", group("fleet", **STOPPED))
    assert still_blocks(over, Decimal(4)) == ()


def test_only_the_limit_is_another_in_the_document_that_is_applied() -> None:
    made = budget("red", period="Monthly", scope={"project": "red", "selector": {"matchLabels": {"team": "a"}}}, thresholds=[50])
    (loaded,) = bundle_from_documents([with_limit(made, Decimal("250.5"))])
    assert isinstance(loaded.resource, Budget)
    assert loaded.resource.spec == made.spec.model_copy(update={"limit_usd": Decimal("250.5")})
    assert loaded.resource.metadata == made.metadata
