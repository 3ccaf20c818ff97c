"""From records to the results of a group. Pure; the only clock is the `now` that is given."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from local_backend.reporting import duration_seconds, group_cases, queued_seconds, sandbox_nano, summary_of, weaker_grader
from local_backend.storage.records import GroupRecord, RunRecord
from nodus_tui.contract.money import usd_from_nano
from nodus_tui.contract.phases import case_state
from nodus_tui.contract.resources.agent_group import Coverage
from nodus_tui.contract.results import CaseResult, GroupResults, ResultAgent, ResultCost, ResultEnvironment


def results_of(group: GroupRecord, runs: Sequence[RunRecord], now: datetime) -> GroupResults:
    """The results of a group as they stand, one item a case, by its current run."""
    cases = group_cases(group)
    current = [run for run in runs if run.current]
    summary = summary_of(runs, cases)
    evaluation: dict[str, Any] | None = group.spec.get("evaluation")
    return GroupResults(
        group=group.name,
        phase=group.phase,
        pass_rate=summary.pass_rate,
        standard_error=summary.standard_error,
        standard_error_method=summary.standard_error_method,
        ci95=(summary.ci95[0], summary.ci95[1]) if summary.ci95 is not None else None,
        ci_method=summary.ci_method,
        mean_reward=summary.mean_reward,
        coverage=Coverage(scored=summary.scored, total=cases),
        pending=cases - sum(run.phase.ended for run in current),
        cost=ResultCost(
            model_usd=usd_from_nano(sum(run.spent for run in runs)),
            sandbox_usd=usd_from_nano(sandbox_nano(runs, now)),
            unconfirmed_usd=usd_from_nano(sum(run.unconfirmed for run in runs)),
            cap_usd=usd_from_nano(group.cap),
        ),
        environment=ResultEnvironment(
            name=group.environment["name"],
            version=group.environment["version"],
            digest=group.digest,
            split=evaluation.get("split", "test"),
            seed=evaluation.get("seed", 0),
            shard=evaluation.get("shard"),
            images=tuple(
                sorted({image for run in current if run.sandbox for image in (run.sandbox.image, run.sandbox.grader_image) if image})
            ),
            weaker_grader=weaker_grader(group),
        )
        if evaluation
        else None,
        agent=ResultAgent(name=group.agent, revision=group.agent_revision),
        model=f"{group.model.get('family', '')}: {group.model.get('name', '')}",
        simulated=bool(group.model.get("simulated")),
        notional_price=bool(group.model.get("notional")),
        results=tuple(_case_result(run, now) for run in sorted(current, key=lambda run: run.case_index)),
    )


def _case_result(run: RunRecord, now: datetime) -> CaseResult:
    scored = run.verdict is not None and run.verdict.scored
    return CaseResult(
        task_id=run.task_id,
        repetition=run.repetition,
        run=run.name,
        state=case_state(run.phase, run.reason),
        verdict=run.verdict if scored else None,
        reward=run.reward if scored else None,
        reason=run.reason,
        message=run.message,
        cost_usd=usd_from_nano(run.carried + run.spent),
        cap_usd=usd_from_nano(run.cap),
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        queued_seconds=queued_seconds(run, now),
        duration_seconds=duration_seconds(run),
    )
