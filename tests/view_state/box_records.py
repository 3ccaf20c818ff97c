"""Sandboxes as a backend tells of them, for tests of the console."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from console_records import NOW

from nodus_tui.contract.events import Event
from nodus_tui.contract.resources.meta import Metadata
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxSpec, SandboxStatus
from nodus_tui.contract.sandboxes import SandboxFact


def box(name: str = "scratch", *, phase: Any = "Running", cap: str = "0.10", spec: dict[str, Any] | None = None, **status: Any) -> Sandbox:
    """One that has run for ten minutes, idle for the last four of them, or has stopped after six."""
    started = None if phase == "Pending" else NOW - timedelta(minutes=10)
    ended = NOW - timedelta(minutes=4) if phase in {"Stopped", "Failed"} else None
    runs = phase == "Running"
    known: dict[str, Any] = {
        "phase": phase,
        "engine": "" if phase == "Pending" else "bubblewrap",
        "image": "" if phase == "Pending" else "nodus/base@sha256:" + "4c" * 32,
        "cost_usd": Decimal("0.0125") if ended else Decimal(0),
        "rate_usd": Decimal("0.125"),
        "created_at": NOW - timedelta(minutes=11),
        "started_at": started,
        "ended_at": ended,
        "idle_since": NOW - timedelta(minutes=4) if runs else None,
        "stops_at": NOW + timedelta(minutes=37) if runs else None,
        "files_kept": phase == "Stopped",
        **status,
    }
    document = SandboxSpec(max_cost_usd=Decimal(cap), env={"GREETING": "hello"}, **(spec or {}))
    return Sandbox(metadata=Metadata(name=name), spec=document, status=SandboxStatus(**known))


def some_boxes() -> dict[str, Sandbox]:
    """One in each state that a person meets."""
    waiting = {"reason": "WaitingForSandbox", "message": "4 of 4 sandboxes run on this machine"}
    over = {"reason": "MaxCostReached", "message": "it was stopped before it cost more than $0.0125"}
    failed = {"reason": "InfrastructureFailure", "message": "its scheduler ended; its files are lost", "files_kept": False}
    boxes = (
        box(),
        box("build", idle_since=None, commands=2, cap="0.022"),
        box("going-soon", idle_since=NOW - timedelta(minutes=9, seconds=20), spec={"network": True, "image": "python:3.12"}),
        box("queue", phase="Pending", **waiting),
        box("yesterday", phase="Stopped", cap="0.0125", **over),
        box("broken", phase="Failed", isolation="weaker", notes=("weaker than it could be",), **failed),
    )
    return {each.name: each for each in boxes}


def fact(run: str = "repairs-c001", *, purpose: str = "episode", **more: Any) -> SandboxFact:
    known: dict[str, Any] = {
        "id": f"nodus-{run}-{purpose}",
        "engine": "bubblewrap",
        "run": run,
        "purpose": purpose,
        "image": "nodus/base@sha256:" + "4c" * 32,
        "created_at": NOW - timedelta(minutes=3),
        "owner_host": "here",
        "owner_pid": 4711,
        "owner_alive": True,
        "workspace": "/home/me/.nodus",
        "mine": True,
        "cost_usd": Decimal("0.00625"),
        **more,
    }
    return SandboxFact(**known)


def some_facts() -> tuple[SandboxFact, ...]:
    """Those of a run, of its grader, of another workspace, of nobody, and one of the kind, which stands elsewhere."""
    return (
        fact(),
        fact("repairs-c002", purpose="grading", created_at=NOW - timedelta(seconds=9)),
        fact("theirs-c003", mine=False, workspace="/home/other/.nodus", cost_usd=None, network=True),
        fact("gone-c009", mine=False, owner_alive=False, cost_usd=None, created_at=NOW - timedelta(hours=9)),
        fact("scratch", purpose="sandbox"),
    )


def changed(name: str, cursor: int, **status: Any) -> Event:
    return Event(cursor=cursor, at=NOW, change="Changed", kind="Sandbox", name=name, status=status)
