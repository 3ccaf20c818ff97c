"""Jobs as a backend tells of them, for tests of the console."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from console_records import NOW

from nodus_tui.contract.events import Event
from nodus_tui.contract.resources.job import Job, JobSpec, JobStatus, OutputFile
from nodus_tui.contract.resources.meta import Metadata


def job(name: str = "swe-bench", *, phase: Any = "Running", command: tuple[str, ...] = ("run", "it all"), **status: Any) -> Job:
    started = None if phase == "Pending" else NOW - timedelta(minutes=10)
    ended = NOW - timedelta(minutes=4) if phase not in {"Pending", "Running"} else None
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
    return Job(metadata=Metadata(name=name), spec=JobSpec(command=command, max_cost_usd=Decimal("0.50")), status=JobStatus(**known))


def kept(path: str, size: int = 4) -> OutputFile:
    return OutputFile(path=path, bytes=size, sha256="0" * 64)


def changed(name: str, cursor: int, **status: Any) -> Event:
    return Event(cursor=cursor, at=NOW, change="Changed", kind="Job", name=name, status=status)
