"""From records to what events carry of a run and a group. Pure; the only clock is the `now` that is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_backend.scheduling.ledger import Ledger, RunAccount
from local_backend.storage.stretches import held_seconds
from nodus_tui.contract.money import usd_from_nano, usd_text
from nodus_tui.contract.phases import RunPhase
from nodus_tui.statistics.results import ScoredCase, summarise
from nodus_tui.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from pydantic import JsonValue

    from local_backend.storage.records import GroupRecord, RunRecord, SandboxUse
    from nodus_tui.statistics.pass_rate import PassRateSummary


def time_json(moment: datetime | None) -> str | None:
    """A moment as JSON carries it, to the millisecond."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment is not None else None


def account_of(run: RunRecord) -> RunAccount:
    """The run's account, as the ledger of its group keeps it."""
    return RunAccount(cap=run.cap, carried=run.carried, spent=run.spent, in_flight=run.in_flight, going=run.phase.going)


def _usd(nano: int) -> str:
    return usd_text(usd_from_nano(nano))


def queued_seconds(run: RunRecord, now: datetime) -> float:
    """From creation to the start; to the end, or to now, where it never started."""
    return round(((run.started_at or run.ended_at or now) - run.created_at).total_seconds(), 3)


def duration_seconds(run: RunRecord) -> float | None:
    """From start to end; None where one of the two is missing."""
    if run.started_at is None or run.ended_at is None:
        return None
    return round((run.ended_at - run.started_at).total_seconds(), 3)


def run_status_fields(run: RunRecord, *, max_turns: int, simulated: bool, now: datetime | None = None) -> dict[str, JsonValue]:
    """The status of a run under the contract's names, as events carry it; `queuedSeconds` is final once the run has started."""
    return {
        "phase": run.phase.value,
        "reason": run.reason.value if run.reason else None,
        "message": run.message,
        "until": time_json(run.until_at),
        "untilKind": run.until_kind if run.until_at is not None else "Exact",
        "current": run.current,
        "verdict": run.verdict.value if run.verdict else None,
        "reward": run.reward,
        "costUSD": _usd(run.carried + run.spent),
        "carriedUSD": _usd(run.carried),
        "inFlightUSD": _usd(run.in_flight),
        "unconfirmedUSD": _usd(run.unconfirmed),
        "neededCapUSD": _usd(run.needed) if run.needed is not None else None,
        "inputTokens": run.input_tokens,
        "outputTokens": run.output_tokens,
        "calls": run.calls,
        "turns": run.turns,
        "maxTurns": max_turns,
        "createdAt": time_json(run.created_at),
        "startedAt": time_json(run.started_at),
        "endedAt": time_json(run.ended_at),
        "restedAt": time_json(run.rested_at),
        "queuedSeconds": queued_seconds(run, run.created_at),
        "durationSeconds": duration_seconds(run),
        "stretches": [
            {"activity": each.activity, "reason": each.reason.value if each.reason else None, "since": time_json(each.since)}
            for each in run.stretches
        ],
        "simulated": simulated,
        "sandbox": _sandbox_fields(run.sandbox, now) if run.sandbox is not None else None,
    }


def _sandbox_fields(use: SandboxUse, now: datetime | None) -> dict[str, JsonValue]:
    """The run's sandboxes; what runs counts up to `now`, and not at all without it, as in events."""
    seconds, cost = sandbox_use(use, now)
    return {
        "engine": use.engine,
        "isolation": "weaker" if use.weaker else "full",
        "image": use.image,
        "graderImage": use.grader_image,
        "hardware": use.hardware,
        "devices": list(use.devices),
        "deviceNames": list(use.device_names),
        "rateUSD": _usd(use.rate),
        "running": use.running,
        "seconds": round(seconds, 3),
        "costUSD": _usd(cost),
        "startedAt": time_json(use.started_at),
        "filesKept": use.kept,
    }


def sandbox_use(use: SandboxUse, now: datetime | None) -> tuple[float, int]:
    """Seconds and nano-dollars of a run's sandboxes, with the one that runs up to `now`."""
    if not use.running or use.started_at is None or now is None:
        return use.settled_seconds, use.cost
    running = replace(use)
    running.charge(max(0.0, (now - use.started_at).total_seconds()))
    return running.settled_seconds, running.cost


def sandbox_nano(runs: Iterable[RunRecord], now: datetime | None) -> int:
    """Nano-dollars of the sandboxes of some runs."""
    return sum(sandbox_use(run.sandbox, now)[1] for run in runs if run.sandbox is not None)


def run_spec_fields(run: RunRecord, group: GroupRecord) -> dict[str, JsonValue]:
    """The spec of a run that a group made."""
    return {
        "agent": group.agent,
        "agentRevision": group.agent_revision,
        "prompt": "",
        "maxCostUSD": _usd(run.cap),
        "group": group.name,
        "taskId": run.task_id,
        "case": run.case_index + 1,
        "repetition": run.repetition,
        "attempt": run.attempt,
        "predecessor": run.predecessor,
    }


def summary_of(runs: Iterable[RunRecord], cases: int) -> PassRateSummary:
    """The pass rate of a group's current runs."""
    return summarise(
        (
            ScoredCase(run.task_id, correct=run.verdict.value == "Correct", reward=run.reward or 0.0)
            for run in runs
            if run.current and run.verdict is not None and run.verdict.scored
        ),
        total=cases,
    )


def weaker_grader(group: GroupRecord) -> str:
    """Why the group's grader can be trusted less than one of ours, as a sentence; empty where it cannot."""
    options = group.environment.get("options") or {}
    return str(options.get("weakerGrader", ""))


def group_cases(group: GroupRecord) -> int:
    """tasks × repetitions, or the number of inputs."""
    evaluation = group.spec.get("evaluation")
    if evaluation:
        return int(evaluation["tasks"]) * int(evaluation.get("repetitions", 1))
    return len(group.spec["inputs"])


def ledger_of(group: GroupRecord, runs: Iterable[RunRecord]) -> Ledger:
    """The group's ledger, from what its runs have booked."""
    ledger = Ledger(group.cap)
    for run in runs:
        ledger.open(run.name, account_of(run))
    return ledger


def group_status_fields(
    group: GroupRecord, runs: Sequence[RunRecord], ledger: Ledger, *, now: datetime | None = None
) -> dict[str, JsonValue]:
    """The status of a group under the contract's names, as events carry it; sandboxes that run are counted up to `now`."""
    cases = group_cases(group)
    summary = summary_of(runs, cases)
    verdicts: dict[str, JsonValue] = {}
    pending = 0 if runs or group.phase.ended else cases
    going = 0
    unconfirmed = model = 0
    for run in runs:
        unconfirmed += run.unconfirmed
        model += run.spent
        if not run.current:
            continue
        going += run.phase.going
        if not run.phase.ended:
            pending += 1
        else:
            word = _outcome_word(run)
            count = verdicts.get(word, 0)
            verdicts[word] = count + 1 if isinstance(count, int) else 1
    return {
        "phase": group.phase.value,
        "reason": group.reason.value if group.reason else None,
        "message": group.message,
        "createdAt": time_json(group.created_at),
        "startedAt": time_json(group.started_at),
        "endedAt": time_json(group.ended_at),
        "deadlineAt": time_json(group.deadline_at),
        "agentRevision": group.agent_revision,
        "environmentDigest": group.digest,
        "modelFamily": group.model.get("family", ""),
        "modelName": group.model.get("name", ""),
        "priceSource": group.model.get("priceSource", ""),
        "simulated": bool(group.model.get("simulated")),
        "notionalPrice": bool(group.model.get("notional")),
        "weakerGrader": weaker_grader(group),
        "money": {
            "capUSD": _usd(group.cap),
            "spentUSD": _usd(ledger.settled),
            "reservedUSD": _usd(ledger.reserved),
            "leftUSD": _usd(max(0, ledger.left)),
            "modelUSD": _usd(model),
            "unconfirmedUSD": _usd(unconfirmed),
            "sandboxUSD": _usd(sandbox_nano(runs, now)),
        },
        "neededCapUSD": _usd(group.needed) if group.needed is not None else None,
        "coverage": {"scored": summary.scored, "total": cases},
        "pending": pending,
        "going": going,
        "verdicts": verdicts,
        "passRate": summary.pass_rate,
        "standardError": summary.standard_error,
        "ci95": list(summary.ci95) if summary.ci95 is not None else None,
        "meanReward": summary.mean_reward,
        **_mean_run(runs),
    }


def _mean_run(runs: Iterable[RunRecord]) -> dict[str, JsonValue]:
    """What a run that came to an answer took, on average: seconds of its slot, and money."""
    answered = [run for run in runs if run.phase is RunPhase.SUCCEEDED]
    if not answered:
        return {"meanRunSeconds": None, "meanRunUSD": None}
    seconds = sum(held_seconds(run) for run in answered) / len(answered)
    return {"meanRunSeconds": round(seconds, 3), "meanRunUSD": _usd(sum(run.spent for run in answered) // len(answered))}


def _outcome_word(run: RunRecord) -> str:
    if run.verdict is not None and run.verdict.scored:
        return run.verdict.value
    return run.reason.value if run.reason else run.phase.value


def group_spec_fields(group: GroupRecord) -> dict[str, JsonValue]:
    """What of a group's spec may change after its launch, as it is in force."""
    return {"maxCostUSD": _usd(group.cap), "maxActive": group.max_active}
