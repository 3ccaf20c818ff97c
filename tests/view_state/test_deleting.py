"""Deleting what has ended: what the question counts, and what stays."""

import pytest
from box_records import box
from console_records import group
from job_records import job
from sweep_records import sweep

from nodus_tui.contract.phases import GroupPhase
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.deleting import Deletable, at_rest, deletion
from nodus_tui.view_state.many import Plan


def words(plan: Plan) -> str:
    return "\n".join((plan.question.title, *map(plain, plan.question.lines)))


def test_one_group_says_what_goes_with_it() -> None:
    plan = deletion([group("old", phase=GroupPhase.COMPLETED)])
    assert plan.names == ("old",)
    assert words(plan) == (
        "Delete group old?\n100 cases, 40 verdicts and the transcripts and files of its runs go for good.\n"
        "Nothing brings them back. What was spent stays counted in the budgets."
    )
    assert plan.question.go == "Delete"
    assert plan.question.typed == ""


def test_of_several_their_number_is_typed_and_what_is_at_work_stays() -> None:
    plan = deletion([group("one", phase=GroupPhase.COMPLETED), group("two", phase=GroupPhase.INTERRUPTED), group("three")])
    assert plan.names == ("one", "two")
    said = words(plan)
    assert "Delete 2 groups?" in said
    assert "200 cases, 80 verdicts" in said
    assert "1 of the 3 picked is at work and stays: kill first." in said
    assert (plan.question.go, plan.question.typed) == ("Delete 2", "2")


@pytest.mark.parametrize("item", [group(), job("one"), box("one"), sweep()])
def test_what_is_at_work_is_not_deleted(item: Deletable) -> None:
    assert not at_rest(item)
    assert deletion([item]).names == ()
