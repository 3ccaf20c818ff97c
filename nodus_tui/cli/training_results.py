"""What a TrainingJob has come to, for `results`: its scores, and an Environment's verdicts."""

import json
from typing import Any

from nodus_tui.cli.details import results_text
from nodus_tui.cli.jobs import status_of
from nodus_tui.cli.output import csv_text, json_text, pairs_text, table_text, yaml_text
from nodus_tui.cli.rows import cap_text, progress_text
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.training_job import TaskScore, TrainingJob
from nodus_tui.statistics.scores import figure

RESULTS_PATH = "outputs/results.json"

_SCORE_TITLES = ("TASK", "METRIC", "VALUE", "SE", "SAMPLES")
_CASE_TITLES = ("TASK", "VERDICT", "REWARD", "MESSAGE")


async def training_results(backend: Backend, name: str) -> tuple[TrainingJob, dict[str, Any]]:
    """The job, and its results.json where it has ended and left one; else what its status says. Raises NodusError."""
    job = await backend.get("TrainingJob", name)
    if not isinstance(job, TrainingJob):
        raise TypeError(f"the backend gave a {job.kind} for TrainingJob {name}")
    status = status_of(job)
    standing: dict[str, Any] = {"job": name, "complete": False, "model": job.spec.model.uri, "scores": []}
    if not status.ended or all(each.path != RESULTS_PATH for each in status.outputs):
        return job, standing
    pieces = [piece async for piece in backend.read_job_file(name, RESULTS_PATH)]
    try:
        document: dict[str, Any] = json.loads(b"".join(pieces))
    except ValueError:
        raise NodusError(ErrorCode.UNAVAILABLE, f"{RESULTS_PATH} of {name} is no JSON") from None
    return job, document


def training_text(job: TrainingJob, document: dict[str, Any], output: str, *, summary: bool) -> str:
    """The results in one of the formats of `results`. JSON and YAML are results.json itself."""
    if output == "json":
        return json_text(document)
    if output == "yaml":
        return yaml_text([document])
    scores = job.status.scores if job.status else ()
    rows = [_score_row(each) for each in scores]
    if output == "csv":
        return csv_text([dict(zip(_SCORE_TITLES, row, strict=True)) for row in rows], _SCORE_TITLES)
    parts = [] if summary or not rows else [table_text(_SCORE_TITLES, rows, right=frozenset({"VALUE", "SE", "SAMPLES"}))]
    cases = (document.get("environment") or {}).get("results") or []
    if cases and not summary:
        parts.append(table_text(_CASE_TITLES, [_case_row(each) for each in cases], right=frozenset({"REWARD"})))
    return "\n\n".join([*parts, _summary(job)])


def _score_row(score: TaskScore) -> tuple[str, ...]:
    error = "-" if score.standard_error is None else figure(score.standard_error)
    return score.task, score.metric, figure(score.value), error, f"{score.samples:,}"


def _case_row(case: dict[str, Any]) -> tuple[str, ...]:
    reward = case.get("reward")
    return (
        str(case.get("taskId")),
        str(case.get("verdict") or "-"),
        "-" if reward is None else figure(reward),
        str(case.get("message") or ""),
    )


def _summary(job: TrainingJob) -> str:
    status = status_of(job)
    phase = ": ".join(part for part in (status.phase, status.reason or "", status.message) if part)
    return pairs_text(
        [
            ("TrainingJob", f"{job.name} ({phase})"),
            ("Done", "" if status.ended else progress_text(status)),
            ("Results", results_text(job)),
            ("Model", job.spec.model.uri),
            ("Cost", f"{display_usd(status.cost_usd)} of {cap_text(job)}"),
        ]
    )
