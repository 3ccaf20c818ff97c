"""From what the harness wrote to scores by task. Pure but for the reading."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from nodus_tui.contract.resources.training_job import TaskScore


class NoResultsError(Exception):
    """The harness ended well and left nothing that can be read; the text is a sentence."""


class HarnessResults(Struct, frozen=True):
    """What stands in its results."""

    scores: tuple[TaskScore, ...]
    tasks: dict[str, dict[str, Any]]
    """By task: version, hash, samples scored, samples there are, worked examples."""
    versions: dict[str, str] = field(default_factory=dict)
    """Of the packages that it tells."""
    model: dict[str, Any] = field(default_factory=dict)
    """What it says of the model: parameters, type of its numbers."""


def read_results(folder: Path) -> HarnessResults:
    """The newest results below a folder. Raises NoResultsError."""
    found = sorted(folder.rglob("results_*.json"))
    if not found:
        raise NoResultsError("the harness ended without writing results")
    try:
        whole = json.loads(found[-1].read_text(encoding="utf-8"))
        return _results(whole)
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise NoResultsError(f"the harness's results cannot be read ({type(error).__name__}: {error})") from None


def read_answers(folder: Path, task: str) -> dict[str, str]:
    """A task's completions by the id of their prompt. Raises NoResultsError."""
    found = sorted(folder.rglob(f"samples_{task}_*.jsonl"))
    if not found:
        raise NoResultsError("the harness ended without writing what the model answered")
    answers: dict[str, str] = {}
    try:
        with found[-1].open(encoding="utf-8") as lines:
            for line in lines:
                sample = json.loads(line)
                answers[str(sample["doc"]["id"])] = _text(sample["filtered_resps"])
    except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
        raise NoResultsError(f"what the model answered cannot be read ({type(error).__name__}: {error})") from None
    return answers


def _text(answer: Any) -> str:
    while isinstance(answer, list):
        answer = answer[0]
    return str(answer)


def _results(whole: Mapping[str, Any]) -> HarnessResults:
    counts: Mapping[str, Any] = whole.get("n-samples", {})
    subtasks: Mapping[str, Any] = whole.get("group_subtasks", {})
    scores: list[TaskScore] = []
    for task, figures in whole["results"].items():
        scores += _scores(task, figures, _samples(task, figures, counts, subtasks))
    tasks = {
        task: {
            "version": whole.get("versions", {}).get(task),
            "hash": whole.get("task_hashes", {}).get(task),
            "samples": count.get("effective"),
            "of": count.get("original"),
            "fewshot": whole.get("n-shot", {}).get(task),
        }
        for task, count in counts.items()
    }
    versions = {name: str(whole[f"{name}_version"]) for name in ("lm_eval", "transformers") if whole.get(f"{name}_version")}
    config = whole.get("config", {})
    told = {"model_num_parameters": "parameters", "model_dtype": "dtype"}
    return HarnessResults(tuple(scores), tasks, versions, {ours: config[name] for name, ours in told.items() if name in config})


def _samples(task: str, figures: Mapping[str, Any], counts: Mapping[str, Any], subtasks: Mapping[str, Any]) -> int:
    if task in counts:
        return int(counts[task]["effective"])
    members = subtasks.get(task, ())
    return sum(_samples(each, {}, counts, subtasks) for each in members) if members else int(figures.get("sample_len") or 0)


def _scores(task: str, figures: Mapping[str, Any], samples: int) -> list[TaskScore]:
    made = []
    for key, value in figures.items():
        metric, comma, way = key.partition(",")
        if not comma or metric.endswith("_stderr") or metric == "bypass" or not _number(value):
            continue
        error = figures.get(f"{metric}_stderr,{way}")
        made.append(
            TaskScore(
                task=task,
                metric=metric if way == "none" else f"{metric} ({way})",
                value=float(value),
                standard_error=float(error) if error is not None and _number(error) else None,
                samples=samples,
            )
        )
    return made


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
