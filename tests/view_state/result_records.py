"""Results as a backend tells of them, for tests of the console: groups with repetitions, and the same as `results` gives it."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from console_records import START, group, run, scored

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase, Verdict, case_state
from nodus_tui.contract.resources.agent_group import AgentGroup, Coverage
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.results import CaseResult, GroupResults, ResultAgent, ResultCost, ResultEnvironment
from nodus_tui.statistics.results import ScoredCase, summarise

LETTERS = {"C": Verdict.CORRECT, "I": Verdict.INCORRECT, "V": Verdict.INVALID_OUTPUT, "F": Verdict.INFRASTRUCTURE_FAILURE}


def cases(of: str, tasks: Sequence[str], **more: Any) -> list[AgentRun]:
    """The runs of tasks whose answers are letters, one for each repetition: those of the verdicts, R running, P pending, U timed out."""
    runs = []
    for task, letters in enumerate(tasks):
        for place, letter in enumerate(letters):
            case = task * len(tasks[0]) + place + 1
            fields = {"of": of, "name": f"{of}-c{case:03d}", "repetition": place + 1, "task": f"sum-{task:03d}", **more}
            runs.append(_case(case, letter, fields))
    return runs


def _case(case: int, letter: str, fields: dict[str, Any]) -> AgentRun:
    if letter == "F":
        why = {"reason": Reason.INFRASTRUCTURE_FAILURE, "message": "the model server closed the connection"}
        return scored(case, Verdict.INFRASTRUCTURE_FAILURE, **why, **fields)
    if letter in LETTERS:
        return scored(case, LETTERS[letter], **fields)
    if letter == "R":
        return run(case, phase=RunPhase.RUNNING, started_at=START, calls=1, **fields)
    if letter == "U":
        return run(case, phase=RunPhase.CANCELLED, reason=Reason.EVALUATION_TIMEOUT, message="the evaluation's 30m are over", **fields)
    return run(case, reason=Reason.WAITING_FOR_SLOT, message="10 of 10 slots are taken", **fields)


def group_of(name: str, tasks: Sequence[str], *, seed: int = 7, **status: Any) -> AgentGroup:
    """The group of such runs."""
    runs = cases(name, tasks)
    made = group(name, tasks=min(100, len(tasks)), **{"phase": GroupPhase.COMPLETED, "pending": 0, "going": 0, "ended_at": START, **status})
    assert made.spec.evaluation is not None
    evaluation = made.spec.evaluation.model_copy(update={"tasks": len(tasks), "repetitions": len(tasks[0]), "seed": seed})
    summary = summary_of(runs)
    figures = {
        "coverage": Coverage(scored=summary.scored, total=summary.total),
        "pass_rate": summary.pass_rate,
        "standard_error": summary.standard_error,
        "ci95": summary.ci95,
        "mean_reward": summary.mean_reward,
    }
    assert made.status is not None
    return made.model_copy(
        update={"spec": made.spec.model_copy(update={"evaluation": evaluation}), "status": made.status.model_copy(update=figures)}
    )


def summary_of(runs: Sequence[AgentRun]) -> Any:
    """What they come to."""
    counted = [each for each in runs if each.status.verdict is not None and each.status.verdict.scored]
    return summarise(
        (ScoredCase(each.spec.task_id, each.status.verdict is Verdict.CORRECT, each.status.reward or 0.0) for each in counted),
        total=len(runs),
    )


def results_of(made: AgentGroup, runs: Sequence[AgentRun]) -> GroupResults:
    """The same as `results` gives it."""
    summary = summary_of(runs)
    return GroupResults(
        group=made.name,
        phase=made.status.phase,
        pass_rate=summary.pass_rate,
        standard_error=summary.standard_error,
        standard_error_method=summary.standard_error_method,
        ci95=summary.ci95,
        ci_method=summary.ci_method,
        mean_reward=summary.mean_reward,
        coverage=Coverage(scored=summary.scored, total=summary.total),
        pending=0,
        cost=ResultCost(model_usd=made.status.money.model_usd, sandbox_usd=Decimal(0), unconfirmed_usd=Decimal(0), cap_usd=Decimal(6)),
        environment=ResultEnvironment(name="nodus/arithmetic-v2", version="2.0.0", digest="d", split="test", seed=7),
        agent=ResultAgent(name="solver", revision=1),
        model="sim-small (simulated-1)",
        simulated=made.status.simulated,
        notional_price=False,
        results=tuple(_case_result(each) for each in runs),
    )


def _case_result(each: AgentRun) -> CaseResult:
    status = each.status
    counted = status.verdict is not None and status.verdict.scored
    return CaseResult(
        task_id=each.spec.task_id,
        repetition=each.spec.repetition,
        run=each.name,
        state=case_state(status.phase, status.reason),
        verdict=status.verdict if counted else None,
        reward=status.reward if counted else None,
        reason=status.reason,
        message=status.message,
        cost_usd=status.cost_usd,
        cap_usd=each.spec.max_cost_usd,
        input_tokens=status.input_tokens,
        output_tokens=status.output_tokens,
        queued_seconds=status.queued_seconds,
        duration_seconds=status.duration_seconds,
    )
