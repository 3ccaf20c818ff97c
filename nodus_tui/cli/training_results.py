"""What a TrainingJob has come to, for `results`: its scores, and an Environment's verdicts."""

from typing import Any

from nodus_tui.cli.details.jobs import results_text
from nodus_tui.cli.jobs import status_of
from nodus_tui.cli.output import csv_text, json_text, pairs_text, table_text, yaml_text
from nodus_tui.cli.rows.jobs import cap_text, progress_text
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.result_formats import SCORE_TITLES, score_row, score_table
from nodus_tui.statistics.scores import figure
from nodus_tui.training_results import training_document
from nodus_tui.view_state.words import phase_words

_CASE_TITLES = ("TASK", "VERDICT", "REWARD", "MESSAGE")


async def training_results(backend: Backend, name: str) -> tuple[TrainingJob, dict[str, Any]]:
    """The job, and its results.json where it has ended and left one; else what its status says. Raises NodusError."""
    job = await backend.get("TrainingJob", name)
    if not isinstance(job, TrainingJob):
        raise TypeError(f"the backend gave a {job.kind} for TrainingJob {name}")
    return job, await training_document(backend, job)


def training_text(job: TrainingJob, document: dict[str, Any], output: str, *, summary: bool) -> str:
    """The results in one of the formats of `results`. JSON and YAML are results.json itself."""
    if output == "json":
        return json_text(document)
    if output == "yaml":
        return yaml_text([document])
    scores = job.status.scores if job.status else ()
    if output == "csv":
        return csv_text(score_table(scores), SCORE_TITLES)
    rows = [score_row(each) for each in scores]
    parts = [] if summary or not rows else [table_text(SCORE_TITLES, rows, right=frozenset({"VALUE", "SE", "SAMPLES"}))]
    cases = (document.get("environment") or {}).get("results") or []
    if cases and not summary:
        parts.append(table_text(_CASE_TITLES, [_case_row(each) for each in cases], right=frozenset({"REWARD"})))
    return "\n\n".join([*parts, _summary(job)])


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
    phase = phase_words(status.phase, status.reason, status.message)
    return pairs_text(
        [
            ("TrainingJob", f"{job.name} ({phase})"),
            ("Done", "" if status.ended else progress_text(status)),
            ("Results", results_text(job)),
            ("Model", job.spec.model.uri),
            ("Cost", f"{display_usd(status.cost_usd)} of {cap_text(job)}"),
        ]
    )
