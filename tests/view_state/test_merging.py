"""A few fields told anew give what reading the whole value would give, and leave the others as they are."""

import pytest
from console_records import NOW, group, run
from pydantic import ValidationError

from nodus_tui.contract.phases import RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroupSpec
from nodus_tui.contract.resources.agent_run import AgentRunStatus
from nodus_tui.view_state.merging import merged

STATUS = run(3, phase=RunPhase.RUNNING, started_at=NOW).status
STRETCH = {"activity": "Working", "since": "2026-01-01T10:00:00+02:00"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"costUSD": "0.0123", "calls": 7},
        {"phase": "Succeeded", "verdict": "Correct", "endedAt": "2026-01-01T10:00:00+02:00", "reward": 1},
        {"verdict": None, "stretches": [STRETCH, STRETCH]},
    ],
)
def test_it_is_what_reading_all_of_it_gives(changes) -> None:
    assert merged(STATUS, changes) == AgentRunStatus.model_validate({**STATUS.to_document(), **changes})


def test_what_was_not_told_is_the_same_object() -> None:
    after = merged(STATUS, {"calls": 7})
    assert after.calls == 7
    assert after.created_at is STATUS.created_at
    assert after.cost_usd is STATUS.cost_usd
    assert STATUS.calls != 7


@pytest.mark.parametrize("changes", [{"nobodyKnows": 1}, {"costUSD": "much"}, {"phase": "Dreaming"}])
def test_what_is_wrong_is_told_with_its_place(changes) -> None:
    with pytest.raises(ValidationError) as told:
        merged(STATUS, changes)
    assert next(iter(changes)) in str(told.value)


def test_fields_that_are_checked_together_are_read_together() -> None:
    spec = group().spec
    assert merged(spec, {"maxActive": 11}) == AgentGroupSpec.model_validate({**spec.to_document(), "maxActive": 11})
