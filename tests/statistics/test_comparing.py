"""Groups compared task by task: who solved what, and what a reader is told before they trust the figures."""

from decimal import Decimal

import pytest

from nodus_tui.contract.phases import CaseState, GroupPhase, Reason, Verdict
from nodus_tui.contract.resources.agent_group import Coverage
from nodus_tui.contract.results import CaseResult, GroupResults, ResultAgent, ResultCost, ResultEnvironment, SolvedTasks
from nodus_tui.statistics.comparing import compared, compared_groups, solved_text
from nodus_tui.statistics.coverage import cost_each, cost_each_words, why_unscored

ZERO = Decimal(0)


def results(name: str, verdicts: str, *, total: int = 0, version: str = "2.0.0", **more: object) -> GroupResults:
    """One answer a task: C correct, I incorrect, - unscored."""
    by_letter = {"C": Verdict.CORRECT, "I": Verdict.INCORRECT, "-": None}
    cases = tuple(
        CaseResult(
            task_id=f"t{place}",
            repetition=1,
            run=f"{name}-{place}",
            state=CaseState.SCORED if by_letter[letter] else CaseState.UNSCORED,
            verdict=by_letter[letter],
            reward=None,
            reason=None if by_letter[letter] else Reason.KILLED,
            message="",
            cost_usd=ZERO,
            cap_usd=Decimal(1),
            input_tokens=0,
            output_tokens=0,
            queued_seconds=0,
            duration_seconds=1.0,
        )
        for place, letter in enumerate(verdicts)
    )
    fields: dict[str, object] = {
        "group": name,
        "phase": GroupPhase.COMPLETED,
        "pass_rate": None,
        "standard_error": None,
        "standard_error_method": "None",
        "ci95": None,
        "ci_method": "None",
        "mean_reward": None,
        "coverage": Coverage(scored=sum(letter != "-" for letter in verdicts), total=total or len(verdicts)),
        "pending": 0,
        "cost": ResultCost(model_usd=ZERO, sandbox_usd=ZERO, unconfirmed_usd=ZERO, cap_usd=Decimal(1)),
        "environment": ResultEnvironment(name="sums", version=version, digest="d", split="test", seed=1),
        "agent": ResultAgent(name="a", revision=1),
        "model": "m",
        "simulated": False,
        "notional_price": False,
        "results": cases,
    }
    return GroupResults.model_validate({**fields, **more})


def test_tasks_are_counted_by_who_solved_them() -> None:
    difference = compared_groups(results("plain", "CCII-"), results("tools", "CICIC"))
    assert difference.solved == SolvedTasks(both=1, first_only=1, second_only=1, neither=1)
    assert solved_text(difference) == "1 solved by both, 1 by plain alone, 1 by tools alone, 1 by neither"
    assert (difference.tasks, difference.only_second) == (4, 1)


def test_half_of_the_answers_do_not_solve_a_task() -> None:
    difference = compared("a", {"x": 0.5, "y": 1.0}, "b", {"x": 0.6, "y": 0.0})
    assert difference.solved == SolvedTasks(both=0, first_only=1, second_only=1, neither=0)


def test_a_reader_is_told_what_the_figures_do_not_say() -> None:
    weaker = ResultEnvironment(name="sums", version="2.0.0", digest="d", split="test", seed=1, weaker_grader="its tests were in reach.")
    notes = compared_groups(results("plain", "CC-", simulated=True), results("tools", "CII", environment=weaker)).notes
    assert notes == (
        "plain: 2 of 3 cases are scored; the others count nowhere.",
        "plain was answered by a simulated model: that says nothing about any real one.",
        "tools has a weaker grader: its tests were in reach.",
    )


def test_whoever_still_runs_or_has_another_grader_or_none_is_told() -> None:
    running = results("plain", "CC", total=9, phase=GroupPhase.RUNNING)
    other = compared_groups(running, results("tools", "CI", version="3.0.0"))
    assert other.notes == (
        "They were graded by two environments: sums@2.0.0 and sums@3.0.0.",
        "plain: 2 of 9 cases are scored; figures may still change.",
    )
    (note,) = compared_groups(results("plain", "CC"), results("own", "CC", environment=None)).notes
    assert note == "own has no grader: the caller grades, and nothing of it is scored here."
    (note,) = compared_groups(results("plain", "CC", simulated=True), results("tools", "CC", simulated=True)).notes
    assert note.startswith("plain and tools were answered by a simulated model")


def test_different_tasks_have_no_difference_and_the_reason_is_said() -> None:
    difference = compared("a", {"x": 1.0, "y": 0.0}, "b", {"z": 1.0})
    assert difference.difference is None
    assert difference.notes == ("They were asked different tasks, so their rates differ by the tasks' difficulty too.",)
    assert compared("a", {}, "b", {"z": 1.0}).notes == ()


def test_what_is_missing_is_told_by_reason_the_most_frequent_first() -> None:
    cases = [
        (CaseState.SCORED, None),
        (CaseState.ANSWERED, Reason.ANSWERED),
        (CaseState.RUNNING, None),
        (CaseState.UNSCORED, Reason.KILLED),
        (CaseState.UNSCORED, Reason.KILLED),
    ]
    assert why_unscored(cases) == {"Killed": 2, "Running": 1}


@pytest.mark.parametrize(
    ("scored", "correct", "words"),
    [
        (0, 0, ""),
        (4, 0, "$0.25 a scored case, none is correct"),
        (4, 3, "$0.25 a scored case, $0.33 a correct one"),
    ],
)
def test_what_each_case_and_each_correct_one_cost(scored: int, correct: int, words: str) -> None:
    assert cost_each_words(Decimal(1), scored=scored, correct=correct) == words
    assert cost_each(Decimal(1), 3) == Decimal("0.333333333")
