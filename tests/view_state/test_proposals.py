"""Questions before an action name what happens in numbers; proposed caps are enough."""

from decimal import Decimal

import pytest
from console_records import group, run, scored, usd

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.view_state.availability import useless
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.many import kill_groups
from nodus_tui.view_state.proposals import (
    cap_input,
    cap_problem,
    extension_problem,
    kill_group_question,
    kill_run_question,
    proposed_cap,
    quit_question,
    raised_cap_does,
    too_low,
    typed_cap,
)


def text(question) -> str:
    return "\n".join(plain(each) for each in question.lines)


def test_killing_a_group_says_what_ends_and_what_stays() -> None:
    question = kill_group_question(group())
    assert "58 of 100 cases" in text(question)
    assert "10 runs going" in text(question)
    assert "$0.50 that is still set aside is freed" in text(question)
    assert "40 verdicts and $1.00" in text(question)
    assert question.typed == "58"
    assert kill_group_question(group(tasks=20, pending=3)).typed == ""


def test_a_typed_cap_below_what_is_needed_is_warned_of_and_one_that_is_told_to_be_enough_is_not() -> None:
    needed = Decimal("0.074412")
    assert plain(too_low(Decimal("0.074"), needed, "its next call", "it would wait again")) == (
        "! Its next call needs at least $0.0745: it would wait again."
    )
    assert too_low(Decimal("0.0745"), needed, "its next call", "it would wait again") == ()
    assert too_low(Decimal("0.01"), None, "its next call", "it would wait again") == ()
    assert proposed_cap(Decimal("0.06"), Decimal("0.31001")) >= Decimal("0.3101")


def test_a_groups_cap_is_told_to_free_only_what_waits_for_it() -> None:
    stalled = {"phase": GroupPhase.STALLED, "reason": Reason.MAX_COST_REACHED, "going": 0}
    own_caps = raised_cap_does(status_of(group(**stalled, message="7 runs wait at their own caps")))
    assert own_caps == "No case waits for this cap, so raising it frees none: C gives the runs that wait higher caps."
    for waits in (group(**stalled, needed_cap_usd=usd("7.00")), group(phase=GroupPhase.STALLED, reason=Reason.WAITING_FOR_MODEL), group()):
        assert raised_cap_does(status_of(waits)) == "It is raised in place. What waits for funds goes on at once."
    assert "until u resumes it" in raised_cap_does(status_of(group(phase=GroupPhase.INTERRUPTED, reason=Reason.INTERRUPTED)))


def test_killing_a_group_that_ended_gives_up_what_a_budget_stopped() -> None:
    ended = group(tasks=20, phase=GroupPhase.COMPLETED, pending=0, going=0, verdicts={"Correct": 8, "BudgetExceeded": 12})
    question = kill_group_question(ended)
    assert plain(question.lines[0]) == "12 of 20 cases that a budget stopped do not go on when it has room."
    assert (question.go, question.typed) == ("Kill 12", "12")
    assert "kill" not in useless(ended)
    assert "kill" in useless(group(phase=GroupPhase.COMPLETED, pending=0, verdicts={"Correct": 20}))
    assert kill_groups((ended,)).names == (ended.name,)


def test_killing_a_run_says_what_its_call_costs() -> None:
    question = kill_run_question(run(1, phase=RunPhase.RUNNING, cost_usd=usd("0.01"), in_flight_usd=usd("0.03")))
    assert "$0.01 is spent" in text(question)
    assert "$0.03" in text(question)


def test_quitting_says_what_stops() -> None:
    question = quit_question((group("a"), group("b")))
    assert "a  10 runs going" in text(question)
    assert "press u to go on" in text(question)


def test_quitting_names_what_is_spending_first_and_what_is_stalled_last() -> None:
    question = quit_question(
        (
            group("stuck", phase=GroupPhase.STALLED, going=0),
            group("few", going=2),
            group("new", phase=GroupPhase.PENDING, going=0),
            group("many", going=40),
        ),
    )
    shown = text(question)
    places = [shown.index(part) for part in ("many  40 runs going", "few  2 runs going", "no run going now: new", "stalled: stuck")]
    assert places == sorted(places)


def test_the_demonstration_does_not_promise_to_go_on() -> None:
    shown = text(quit_question((group(),), starts_anew=True))
    assert "starts anew each time" in shown
    assert "press u" not in shown


def waiting(case: int, cap: str = "0.06", needed: str = "0.0823", **more):
    return run(
        case, cap=cap, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED, cost_usd=usd("0.05"), needed_cap_usd=usd(needed), **more
    )


@pytest.mark.parametrize(
    ("item", "successor", "word"),
    [
        (scored(0, Verdict.CORRECT), "", "its verdict stands"),
        (scored(0, Verdict.INFRASTRUCTURE_FAILURE), "", "r runs its case again"),
        (run(1, phase=RunPhase.SUPERSEDED, current=False), "fleet-0001-a2", "extend fleet-0001-a2"),
        (waiting(1), "", ""),
    ],
)
def test_what_cannot_be_extended_says_what_can_be_done(item, successor: str, word: str) -> None:
    problem = extension_problem(item, successor)
    assert word in problem
    assert bool(problem) == bool(word)


@pytest.mark.parametrize(
    ("cap", "needed", "proposal"),
    [
        ("0.06", None, "0.12"),
        ("0.06", "0.0823", "0.12"),
        ("0.06", "0.3101", "0.32"),
        ("1", "1234.567", "1234.57"),
        ("0.0085", None, "0.017"),
    ],
)
def test_a_proposal_is_twice_the_cap_or_what_is_needed(cap: str, needed: str | None, proposal: str) -> None:
    proposed = proposed_cap(Decimal(cap), Decimal(needed) if needed else None)
    assert proposed == Decimal(proposal)
    assert cap_problem(cap_input(proposed), Decimal(cap)) == ""


@pytest.mark.parametrize(
    ("typed", "word"),
    [("", "Type"), ("abc", "amount"), ("0.06", "above $0.06"), ("1e3", "amount"), ("0.0000000001", "nano"), ("-1", "amount")],
)
def test_a_bad_cap_is_told_in_a_sentence(typed: str, word: str) -> None:
    assert word in cap_problem(typed, Decimal("0.06"))


def test_a_dollar_sign_is_allowed() -> None:
    assert cap_problem(" $0.25 ", Decimal("0.06")) == ""
    assert typed_cap(" $0.25 ") == Decimal("0.25")
