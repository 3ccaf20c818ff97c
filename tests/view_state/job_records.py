"""Jobs as a backend tells of them, for tests of the console."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from console_records import NOW

from nodus_tui.contract.events import Event
from nodus_tui.contract.resources.job import Job, JobSpec, JobStatus, OutputFile, Serving, ServingStatus
from nodus_tui.contract.resources.meta import Metadata


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
