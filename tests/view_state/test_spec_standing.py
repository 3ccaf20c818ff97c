"""How a spec file stands to the workspace: what an apply would refuse is never told as applied."""

import pytest
from console_records import NOW
from test_wrapping import estimate

from nodus_tui.contract.errors import Fault
from nodus_tui.contract.outcomes import AppliedDocument
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.spec_checks import outcome_line, side_lines, standing_line
from nodus_tui.view_state.spec_files import SPEC_COLUMNS, SpecRow, spec_facts

WHY = "Job gpu is valid, but this machine has no H100: apply refuses it"


def applied(outcome: str, name: str = "gpu", message: str = "") -> AppliedDocument:
    return AppliedDocument.model_validate({"kind": "Job", "name": name, "outcome": outcome, "message": message})


@pytest.mark.parametrize("others", [(), ("unchanged",), ("created", "changed")])
def test_a_file_of_which_apply_refuses_something_is_refused(others: tuple[str, ...]) -> None:
    outcomes = (*(applied(each, f"other-{each}") for each in others), applied("refused", message=WHY))
    row = SpecRow("gpu.yaml", "gpu.yaml", identities=(("Job", "gpu"),), outcomes=outcomes, checked=True)
    [state] = [plain(each.cell(row, NOW)) for each in SPEC_COLUMNS if each.key == "state"]
    assert state == "! refused here"
    assert f"! {WHY}" in "\n".join(plain(each) for each in spec_facts(row))


def test_the_editor_says_why_and_never_as_applied() -> None:
    refused = (applied("refused", message=WHY),)
    beside = "\n".join(plain(each) for each in side_lines((), refused, (), "", checking=False))
    for told in (beside, plain(outcome_line(refused)), plain(standing_line(refused))):
        assert "apply refuses it" in told
        assert "as applied" not in told
    assert WHY in beside


def test_of_very_many_estimates_the_first_are_told_in_full_and_the_others_together() -> None:
    many = tuple(estimate("10").model_copy(update={"group": f"group-{number}"}) for number in range(60))
    beside = [plain(each) for each in side_lines((), (), many, "", checking=False)]
    assert sum("sandbox-minutes" in each for each in beside) == 20
    assert "and 40 more: at most $400.00 · 4,000 cases · ~40 min" in beside


def test_of_very_many_problems_the_first_are_told_and_the_others_counted() -> None:
    faults = [Fault(message="it is wrong", line=number, column=1) for number in range(1, 121)]
    beside = [plain(each) for each in side_lines(faults, (), (), "", checking=False)]
    assert beside[0] == "! 120 problems"
    assert sum(each.endswith("it is wrong") for each in beside) == 50
    assert beside[-1] == "and 70 more below these"
