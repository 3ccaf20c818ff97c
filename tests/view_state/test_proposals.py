"""Questions before an action name what happens in numbers; proposed caps are enough."""

from decimal import Decimal

import pytest
from console_records import group, run, usd

from nodus_tui.contract.phases import RunPhase
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.proposals import (
    cap_input,
    cap_problem,
    kill_group_question,
    kill_run_question,
    proposed_cap,
    quit_question,
    typed_cap,
)


def text(question) -> str:
    return "\n".join(plain(each) for each in question.lines)


def test_killing_a_group_says_what_ends_and_what_stays() -> None:
    question = kill_group_question(group())
    assert "58 of 100 cases" in text(question)
    assert "10 runs going" in text(question)
    assert "$0.50 of reserved caps" in text(question)
    assert "40 verdicts and $1.00" in text(question)
    assert question.typed == "58"
    assert kill_group_question(group(tasks=20, pending=3)).typed == ""


def test_killing_a_run_says_what_its_call_costs() -> None:
    question = kill_run_question(run(1, phase=RunPhase.RUNNING, cost_usd=usd("0.01"), in_flight_usd=usd("0.03")))
    assert "$0.01 is spent" in text(question)
    assert "$0.03" in text(question)


def test_quitting_says_what_stops() -> None:
    question = quit_question((group("a"), group("b")))
    assert "a, b" in text(question)
    assert "20 runs going" in text(question)


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
