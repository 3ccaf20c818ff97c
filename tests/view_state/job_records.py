"""Jobs as a backend tells of them, for tests of the console."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from console_records import NOW

from nodus_tui.contract.events import Event
from nodus_tui.contract.resources.job import Job, JobSpec, JobStatus, OutputFile, Serving, ServingStatus
from nodus_tui.contract.resources.meta import Metadata
from nodus_tui.contract.resources.training_job import TaskScore, TrainingJob, TrainingJobSpec, TrainingJobStatus


def job(
    name: str = "swe-bench",
    *,
    phase: Any = "Running",
    command: tuple[str, ...] = ("run", "it all"),
    serve: Serving | None = None,
    **status: Any,
) -> Job:
    started = None if phase == "Pending" else NOW - timedelta(minutes=10)
    ended = NOW - timedelta(minutes=4) if phase not in {"Pending", "Running", "Serving"} else None
    known: dict[str, Any] = {
        "phase": phase,
        "cost_usd": Decimal("0.0125") if ended else Decimal(0),
        "rate_usd": Decimal("0.125"),
        "created_at": NOW - timedelta(minutes=11),
        "started_at": started,
        "ended_at": ended,
        "deadline_at": NOW + timedelta(hours=1) if phase == "Running" else None,
        **status,
    }
    spec = JobSpec(command=command, max_cost_usd=Decimal("0.50"), serve=serve)
    return Job(metadata=Metadata(name=name), spec=spec, status=JobStatus(**known))


def server(*, users: tuple[str, ...] = ("hello", "second"), answering: bool = True, **status: Any) -> Job:
    """A job that serves a model."""
    serving = ServingStatus(
        family="qwen",
        model="Qwen/Qwen3-8B",
        address="http://127.0.0.1:8000/v1",
        answering=answering,
        since=NOW - timedelta(minutes=9),
        users=users,
        stops_at=None if users else NOW + timedelta(minutes=1),
        restarts=1,
    )
    known = {"phase": "Serving", "serving": serving, "reason": None if answering else "NotAnswering", **status}
    return job("qwen-server", serve=Serving(family="qwen", model="Qwen/Qwen3-8B", port=8000), **known)


def kept(path: str, size: int = 4) -> OutputFile:
    return OutputFile(path=path, bytes=size, sha256="0" * 64)


def changed(name: str, cursor: int, **status: Any) -> Event:
    return Event(cursor=cursor, at=NOW, change="Changed", kind="Job", name=name, status=status)


def training_job(
    name: str = "smol",
    *,
    phase: Any = "Running",
    environment: str | None = None,
    tasks: tuple[str, ...] = ("arc_easy", "sums"),
    **status: Any,
) -> TrainingJob:
    """A model that is scored."""
    scores = status.pop("scores", ())
    like = job(name, phase=phase, **status).status
    assert like is not None
    spec = TrainingJobSpec.model_validate(
        {
            "runtime": "nodus/evaluate",
            "model": {"uri": "hf://somebody/smol@1a2b3c"},
            "parameters": {} if environment else {"tasks": tasks},
            "environment": environment,
            "resources": {"hardware": ["L4", "RTX-4090"], "accelerators": 2},
            "maxCostUSD": "0.50",
        }
    )
    known = TrainingJobStatus.model_validate({**dict(like), "scores": scores})
    return TrainingJob(metadata=Metadata(name=name), spec=spec, status=known)


def score(task: str = "arc_easy", metric: str = "acc", value: float = 0.375, error: float | None = 0.183, samples: int = 8) -> TaskScore:
    return TaskScore(task=task, metric=metric, value=value, standard_error=error, samples=samples)


def pass_rate(scored: int = 97, total: int = 100) -> tuple[TaskScore, ...]:
    """What an Environment's held-out tasks come to."""
    task = "nodus/arithmetic-v2@2.0.0"
    rate = TaskScore(task=task, metric="passRate", value=0.62, standard_error=0.049, ci95=(0.525, 0.715), samples=scored)
    coverage = TaskScore(task=task, metric="coverage", value=scored / total, samples=total)
    return (rate, coverage, TaskScore(task=task, metric="meanReward", value=0.64, samples=scored))
