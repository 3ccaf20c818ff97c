"""Results as rows for JSON and CSV, the same from the command line and from the console. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodus_tui.contract.results import CaseResult
from nodus_tui.statistics.scores import figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from nodus_tui.contract.resources.training_job import TaskScore
    from nodus_tui.contract.results import GroupResults

SCORE_TITLES = ("TASK", "METRIC", "VALUE", "SE", "SAMPLES")
"""Of a TrainingJob's scores."""


def case_table(results: Sequence[GroupResults]) -> tuple[list[dict[str, JsonValue]], list[str]]:
    """The cases of some groups, a row each, and the names of the columns."""
    names = ["group", *(field.alias or name for name, field in CaseResult.model_fields.items())]
    return [{"group": each.group, **case.to_document()} for each in results for case in each.results], names


def score_row(score: TaskScore) -> tuple[str, ...]:
    """A score under `SCORE_TITLES`."""
    error = "-" if score.standard_error is None else figure(score.standard_error)
    return score.task, score.metric, figure(score.value), error, f"{score.samples:,}"


def score_table(scores: Sequence[TaskScore]) -> list[dict[str, JsonValue]]:
    """Scores, a row each, with columns named as in `SCORE_TITLES`."""
    return [dict(zip(SCORE_TITLES, score_row(each), strict=True)) for each in scores]
