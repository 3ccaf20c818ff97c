"""Contract values for the tests of the command line."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from nodus_tui.contract.phases import CaseState, GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.contract.resources.agent_group import AgentGroupStatus, Coverage, GroupMoney
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunSpec, AgentRunStatus
from nodus_tui.contract.resources.meta import Metadata
from nodus_tui.contract.results import CaseResult, GroupResults, ResultAgent, ResultCost, ResultEnvironment

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def case(number: int, verdict: Verdict | None = Verdict.CORRECT, **changes: Any) -> CaseResult:
    scored = verdict is not None and verdict.scored
    values: dict[str, Any] = {
        "task_id": f"task-{number}",
        "repetition": 1,
        "run": f"hello-{number:03d}",
        "state": CaseState.SCORED if scored else CaseState.UNSCORED,
        "verdict": verdict if scored else None,
        "reward": (1.0 if verdict is Verdict.CORRECT else 0.0) if scored else None,
        "reason": None,
        "message": "",
        "cost_usd": Decimal("0.01"),
        "cap_usd": Decimal("0.10"),
        "input_tokens": 1200,
        "output_tokens": 34,
        "queued_seconds": 0.5,
        "duration_seconds": 2.25,
    }
    return CaseResult(**{**values, **changes})


def unscored(number: int, reason: Reason, **changes: Any) -> CaseResult:
    return case(number, None, reason=reason, **changes)


def results(cases: list[CaseResult], *, phase: GroupPhase = GroupPhase.COMPLETED, **changes: Any) -> GroupResults:
    scored = [each for each in cases if each.state is CaseState.SCORED]
    correct = sum(each.verdict is Verdict.CORRECT for each in scored)
    rate = correct / len(scored) if scored else None
    values: dict[str, Any] = {
        "group": "hello",
        "phase": phase,
        "pass_rate": rate,
        "standard_error": 0.05 if rate is not None else None,
        "standard_error_method": "clustered by task",
        "ci95": (max(0.0, rate - 0.098), min(1.0, rate + 0.098)) if rate is not None else None,
        "ci_method": "normal",
        "mean_reward": rate,
        "coverage": Coverage(scored=len(scored), total=len(cases)),
        "pending": sum(each.state in {CaseState.PENDING, CaseState.RUNNING, CaseState.WAITING} for each in cases),
        "cost": ResultCost(model_usd=Decimal("0.42"), sandbox_usd=Decimal(0), unconfirmed_usd=Decimal(0), cap_usd=Decimal("10.00")),
        "environment": ResultEnvironment(name="nodus/arithmetic-v2", version="2.0.0", digest="sha256:0", split="test", seed=7),
        "agent": ResultAgent(name="solver", revision=3),
        "model": "some-model",
        "simulated": False,
        "notional_price": False,
        "results": tuple(cases),
    }
    return GroupResults(**{**values, **changes})


def group_status(**changes: Any) -> AgentGroupStatus:
    values: dict[str, Any] = {
        "phase": GroupPhase.RUNNING,
        "created_at": NOW,
        "agent_revision": 1,
        "money": GroupMoney(
            cap_usd=Decimal("1.00"),
            spent_usd=Decimal("0.30"),
            reserved_usd=Decimal("0.20"),
            left_usd=Decimal("0.50"),
            model_usd=Decimal("0.35"),
            unconfirmed_usd=Decimal(0),
        ),
        "coverage": Coverage(scored=3, total=10),
        "pending": 6,
        "going": 2,
        "pass_rate": 2 / 3,
        "standard_error": 0.27,
        "ci95": (0.13, 1.0),
    }
    return AgentGroupStatus(**{**values, **changes})


def run(number: int, phase: RunPhase, reason: Reason | None = None, cap: str = "0.10", **status: Any) -> AgentRun:
    values: dict[str, Any] = {
        "phase": phase,
        "reason": reason,
        "cost_usd": Decimal(0),
        "carried_usd": Decimal(0),
        "in_flight_usd": Decimal(0),
        "unconfirmed_usd": Decimal(0),
        "created_at": NOW,
    }
    return AgentRun(
        metadata=Metadata(name=f"hello-{number:03d}"),
        spec=AgentRunSpec(agent="solver", group="hello", task_id=f"task-{number}", case=number, max_cost_usd=Decimal(cap)),
        status=AgentRunStatus(**{**values, **status}),
    )
