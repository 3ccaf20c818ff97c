"""How long a case takes, where nobody said."""

from decimal import Decimal

from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.statistics.case_pace import ASSUMED, measured_pace


def group(name: str, *, agent: str = "adder", environment: str = "nodus/arithmetic-v2@2.0.0") -> AgentGroup:
    """A group as a file has it."""
    evaluation = {"environment": environment, "tasks": 10}
    spec = {"agent": agent, "maxCostUSD": "1.00", "evaluation": evaluation}
    return AgentGroup.model_validate({"apiVersion": "nodus.dev/v1", "kind": "AgentGroup", "metadata": {"name": name}, "spec": spec})


def done(name: str, seconds: float | None, scored: int, **which: str) -> AgentGroup:
    """One whose runs took so long on average."""
    money = dict.fromkeys(("capUSD", "spentUSD", "reservedUSD", "leftUSD", "modelUSD", "unconfirmedUSD"), "0")
    status = {
        "phase": "Completed",
        "createdAt": "2026-07-01T10:00:00Z",
        "agentRevision": 1,
        "money": money,
        "coverage": {"scored": scored, "total": 10},
        "pending": 0,
        "going": 0,
        "meanRunSeconds": seconds,
    }
    return AgentGroup.model_validate({**group(name, **which).model_dump(by_alias=True, mode="json"), "status": status})


def test_runs_of_the_same_agent_and_environment_are_what_it_goes_by() -> None:
    known = [done("a", 60.0, 5), done("b", 120.0, 10), done("c", 9000.0, 10, agent="other"), done("d", None, 0)]
    pace = measured_pace([group("new")], known)
    assert (pace.minutes, pace.basis) == (Decimal("1.67"), "measured")


def test_without_them_it_is_an_assumption_for_all() -> None:
    known = [done("a", 60.0, 5)]
    assert measured_pace([group("new"), group("else", agent="unknown")], known) is ASSUMED
    assert measured_pace([group("new", environment="nodus/code-v1@1.0.0")], known) is ASSUMED
    assert measured_pace([], known) is ASSUMED


def test_the_fastest_cases_take_some_time_too() -> None:
    assert measured_pace([group("new")], [done("a", 0.001, 5)]).minutes == Decimal("0.01")
