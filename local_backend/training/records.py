"""What is kept of an evaluation: results.json and provenance.json. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from local_backend.training.files import fingerprint
from local_backend.training.held_out import SPLIT, Case
from local_backend.training.order import EvaluationOrder
from local_backend.training.scores import HarnessResults
from nodus_tui.contract.evaluation import HARNESS
from nodus_tui.contract.resources.training_job import TaskScore
from nodus_tui.statistics.pass_rate import PassRateSummary
from nodus_tui.values import fields_of


class Findings(Struct):
    """What is known of one attempt so far."""

    order: EvaluationOrder
    started_at: datetime
    hardware: str
    ended_at: datetime | None = None
    complete: bool = False
    problem: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    commit: str = ""
    model_files: dict[str, str] = field(default_factory=dict)
    model_bytes: int = 0
    tasks: dict[str, Any] = field(default_factory=dict)
    """Of benchmarks, as they were fetched."""
    harness: HarnessResults | None = None
    scores: tuple[TaskScore, ...] = ()
    digest: str = ""
    cases: Sequence[Case] = ()
    summary: PassRateSummary | None = None
    command: Sequence[str] = ()
    chat_template: bool = False
    offline: str = ""
    seconds: float = 0.0
    cached: int = 0
    notes: list[str] = field(default_factory=list)


def results(findings: Findings) -> dict[str, Any]:
    """results.json."""
    order = findings.order
    document: dict[str, Any] = {
        "job": order.job,
        "complete": findings.complete,
        "model": order.uri,
        "scores": [each.to_document() for each in findings.scores],
    }
    if findings.problem:
        document["problem"] = findings.problem
    if findings.harness is not None and order.environment is None:
        document["tasks"] = findings.harness.tasks
    if findings.summary is not None and order.environment is not None:
        document["environment"] = {
            "name": order.environment.name,
            "version": order.environment.version,
            "split": SPLIT,
            "seed": order.seed,
            "digest": findings.digest,
            **_summary(findings.summary),
            "results": [each.to_document() for each in findings.cases],
        }
    return document


def _summary(summary: PassRateSummary) -> dict[str, Any]:
    return {
        "passRate": summary.pass_rate,
        "standardError": summary.standard_error,
        "standardErrorMethod": summary.standard_error_method.value,
        "ci95": list(summary.ci95) if summary.ci95 else None,
        "ciMethod": summary.ci_method.value,
        "meanReward": summary.mean_reward,
        "coverage": {"scored": summary.scored, "total": summary.total, "worst": summary.worst, "best": summary.best},
    }


def provenance(findings: Findings) -> dict[str, Any]:
    """provenance.json: enough to run the same evaluation again, and to see whether it was the same."""
    order, model = findings.order, findings.order.model
    described: dict[str, Any] = {"uri": order.uri}
    if model.kind == "served":
        described |= {"family": model.family, "name": model.name, "baseURL": model.place, "dialect": model.dialect}
    if findings.model_files:
        described |= {"sha256": fingerprint(findings.model_files), "bytes": findings.model_bytes, "files": findings.model_files}
    if findings.commit:
        described["commit"] = findings.commit
    if findings.harness is not None:
        described |= findings.harness.model
    document: dict[str, Any] = {
        "job": order.job,
        "runtime": "nodus/evaluate",
        "model": described,
        "harness": {"name": HARNESS, "version": findings.versions.get("lm_eval")},
        "versions": findings.versions,
        "parameters": order.parameters,
        "seed": order.seed,
        "image": order.image.reference if order.image is not None else None,
        "hardware": {"name": findings.hardware, "devices": order.devices, "cpus": order.cpus},
        "offline": findings.offline or None,
        "chatTemplate": findings.chat_template,
        "command": list(findings.command),
        "answersFromEarlierAttempts": findings.cached,
        "scoringSeconds": round(findings.seconds, 3),
        "startedAt": findings.started_at.isoformat(),
        "endedAt": findings.ended_at.isoformat() if findings.ended_at else None,
        "notes": findings.notes,
    }
    if order.environment is not None:
        named = {name: value for name, value in fields_of(order.environment).items() if name in {"name", "version", "source"}}
        document["environment"] = {**named, "split": SPLIT, "seed": order.seed, "digest": findings.digest or None}
    else:
        hashes = findings.harness.tasks if findings.harness is not None else {}
        document["tasks"] = {
            name: {"version": task["version"], "samples": task["samples"], "of": task["all"], "hash": hashes.get(name, {}).get("hash")}
            for name, task in findings.tasks.items()
        }
        document["includePaths"] = list(order.include_paths)
    return document
