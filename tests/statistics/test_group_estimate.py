"""The estimate of a group: the documents' tables, room under the cap, and the notes."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.contract.estimates import Estimate
from nodus_tui.contract.resources.agent import AgentSpec
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.statistics.estimate import estimate_group
from nodus_tui.statistics.hardware_rates import DEFAULT_RATES


def agent(per_run: str = "0.10", **more: Any) -> AgentSpec:
    return AgentSpec.model_validate({"model": {"families": ["haiku"]}, "perRunMaxCostUSD": per_run, **more})


def group(cap: str = "10.00", active: int = 10, **evaluation: Any) -> AgentGroup:
    batch = {"environment": "nodus/arithmetic-v2@2.0.0", "tasks": 100, "timeout": "2h", **evaluation}
    spec = {"agent": "solver", "maxActive": active, "maxCostUSD": cap, "evaluation": batch}
    return AgentGroup.model_validate({"metadata": {"name": "batch"}, "spec": spec})


def estimate(of: AgentGroup, agent_spec: AgentSpec | None = None, minutes: str = "10", **more: Any) -> Estimate:
    asked = {"rates": DEFAULT_RATES, "simulated": False, **more}
    return estimate_group(group=of, agent=agent_spec or agent(), minutes_per_case=Decimal(minutes), **asked)


def test_the_documents_batch_of_100_cases_as_json() -> None:
    document = json.loads(json.dumps(estimate(group()).to_document()))
    assert document.pop("halfWidth95") == pytest.approx(0.09799820)
    assert document == {
        "group": "batch",
        "agent": "solver",
        "cases": 100,
        "modelCeilingUSD": "10.00",
        "perRunCapUSD": "0.10",
        "capUSD": "10.00",
        "minutesPerCase": 10,
        "sandboxMinutes": 1000,
        "sandboxUSD": {"CPU": "0.13", "L4": "7.17", "H100 SXM": "43.33"},
        "sandboxed": False,
        "wallClockMinutes": 100,
        "wallClockByMaxActive": {"1": 1000, "10": 100, "25": 40, "50": 20, "100": 10},
        "timeoutMinutes": 120,
        "fitsTimeout": True,
        "roomForAll": True,
        "everyRunWaits": False,
        "casesSureToStart": 100,
        "simulated": False,
        "notes": [],
    }


def test_minutes_are_json_numbers_whole_where_they_are_whole() -> None:
    document = estimate(group(tasks=3, timeout="100s"), minutes="2.5").to_document()
    assert document["minutesPerCase"] == 2.5
    assert repr(document["sandboxMinutes"]) == "7.5"
    assert repr(estimate(group(), minutes="10.0").to_document()["sandboxMinutes"]) == "1000"
    assert document["timeoutMinutes"] == pytest.approx(100 / 60)


def test_the_json_reads_back_as_the_same_estimate() -> None:
    made = estimate(group(active=7))
    assert Estimate.model_validate(made.to_document()) == made


def test_the_specs_own_max_active_stands_among_the_others_in_rising_order() -> None:
    shown = estimate(group(active=7)).wall_clock_by_max_active
    assert list(shown) == ["1", "7", "10", "25", "50", "100"]
    assert shown["7"] == estimate(group(active=7)).wall_clock_minutes == 150


def test_an_agent_without_tools_is_told_to_have_no_sandboxes() -> None:
    assert not estimate(group()).sandboxed
    assert estimate(group(), agent(tools=["bash"])).sandboxed


def test_sandbox_minutes_and_money_do_not_depend_on_max_active() -> None:
    slow, fast = estimate(group(active=1)), estimate(group(active=1000))
    assert (slow.sandbox_minutes, slow.sandbox_usd) == (fast.sandbox_minutes, fast.sandbox_usd)


def test_repetitions_widen_the_expected_interval() -> None:
    once, twice = estimate(group()).half_width95, estimate(group(tasks=50, repetitions=2)).half_width95
    assert once is not None
    assert twice is not None
    assert f"{once:.3f}" == "0.098"
    assert f"{twice / once:.2f}" == "1.15"


def test_a_cap_too_small_for_all_says_how_many_start_and_what_would_help() -> None:
    made = estimate(group(cap="5.05"))
    assert (made.room_for_all, made.cases_sure_to_start, made.model_ceiling_usd) == (False, 50, Decimal("5.05"))
    expected = (
        "The group's cap of $5.05 is sure to start only 50 of 100 cases, if each spends its whole $0.10: "
        "raise maxCostUSD to $10.00 to give every case room."
    )
    assert made.notes == (expected,)


def test_a_cap_below_the_per_run_cap_starts_nothing() -> None:
    made = estimate(group(cap="0.05"))
    assert (made.room_for_all, made.cases_sure_to_start) == (False, 0)
    assert "no case can start: raise maxCostUSD to $10.00" in made.notes[0]


def test_a_cap_above_what_the_cases_can_spend_is_not_the_ceiling() -> None:
    assert estimate(group(cap="50.00")).model_ceiling_usd == Decimal("10.00")


def test_a_timeout_shorter_than_the_wall_clock_names_the_max_active_that_fits() -> None:
    made = estimate(group(timeout="30m"))
    assert not made.fits_timeout
    expected = (
        "At maxActive 10 and 10 min a case the 100 cases take 100 min, longer than the evaluation timeout of 30m; "
        "what is not graded by then stays unscored: raise the timeout or set maxActive to 34."
    )
    assert made.notes == (expected,)
    assert estimate(group(timeout="30m", active=34)).fits_timeout


def test_a_case_longer_than_the_timeout_can_only_have_a_longer_timeout() -> None:
    assert estimate(group(timeout="5m")).notes[0].endswith("stays unscored: raise the timeout.")


def test_a_wall_clock_that_equals_the_timeout_fits() -> None:
    assert estimate(group(timeout="100m")).fits_timeout
    assert estimate(group(tasks=3, active=1, timeout="100s"), minutes="0.5").fits_timeout


def test_simulated_and_notional_and_extra_notes_are_told() -> None:
    made = estimate(group(), simulated=True, notional=True, extra_notes=("More.",))
    assert made.simulated
    assert "simulated" in made.notes[0]
    assert "notional" in made.notes[1]
    assert made.notes[2] == "More."


def test_a_larger_sandbox_than_the_price_is_for_is_told() -> None:
    made, plain = estimate(group(), agent(sandbox={"cpus": 2, "memoryGiB": 4})), estimate(group(), agent())
    assert made.notes == ("The CPU price is that of 1 vCPU and 1 GiB; 2 vCPU and 4 GiB count as 4 of them.",)
    assert (plain.sandbox_usd["CPU"], made.sandbox_usd["CPU"]) == (Decimal("0.13"), Decimal("0.50"))
    assert made.sandbox_usd["L4"] == plain.sandbox_usd["L4"]


def test_a_group_without_evaluation_has_neither_timeout_nor_interval() -> None:
    spec = {"agent": "solver", "maxCostUSD": "1.00", "inputs": [{"id": "a", "prompt": "Hello"}]}
    made = estimate(AgentGroup.model_validate({"metadata": {"name": "plain"}, "spec": spec}))
    assert (made.cases, made.timeout_minutes, made.fits_timeout, made.half_width95) == (1, None, True, None)


@pytest.mark.parametrize("minutes", ["0", "-1", "NaN", "Infinity", "1e999999", "1000001"])
def test_minutes_that_are_no_span_are_refused(minutes: str) -> None:
    with pytest.raises(ValueError, match="minutes per case must be above zero and at most 1,000,000"):
        estimate(group(), minutes=minutes)


@given(st.integers(1, 10**12), st.integers(1, 10**12), st.integers(1, 100))
def test_room_and_sure_starts_agree_with_the_sizing_rule(cap: int, per_run: int, tasks: int) -> None:
    amounts = [f"{Decimal(nano).scaleb(-9):f}" for nano in (cap, per_run)]
    made = estimate(group(cap=amounts[0], tasks=tasks), agent(amounts[1]))
    assert made.room_for_all == (tasks * per_run <= cap) == (made.cases_sure_to_start == tasks)
    assert made.cases_sure_to_start * per_run <= cap
    assert made.model_ceiling_usd == min(tasks * made.per_run_cap_usd, made.cap_usd)
