"""Sweeps at work in tests: their documents, and waiting for how they stand."""

import sys
from collections.abc import Callable
from typing import Any

from engine_place import Place, until

from local_backend.backend import LocalBackend
from nodus_tui.contract.outcomes import ApplyOutcome
from nodus_tui.contract.resources.sweep import Sweep, SweepStatus
from nodus_tui.contract.sweep_results import SweepCell

PYTHON = [sys.executable, "-c"]


def group_sweep(
    *,
    cap: str = "10.00",
    cell_cap: str = "1.00",
    tasks: int = 2,
    parallel: int = 2,
    name: str = "grid",
    repetitions: int = 1,
    **matrix: Any,
) -> dict[str, Any]:
    """A Sweep document over groups that score the task file."""
    evaluation = {"environment": "numbers@1.0.0", "tasks": tasks, "seed": 3}
    template = {"kind": "AgentGroup", "spec": {"agent": "worker", "maxActive": 4, "maxCostUSD": cell_cap, "evaluation": evaluation}}
    return sweep_document(template, cap=cap, parallel=parallel, name=name, repetitions=repetitions, **matrix)


def job_sweep(
    script: str = "pass",
    *,
    cap: str = "10.00",
    cell_cap: str = "0.10",
    parallel: int = 2,
    name: str = "grid",
    repetitions: int = 1,
    **matrix: Any,
) -> dict[str, Any]:
    """A Sweep document over jobs that run a Python script on this machine."""
    spec = {"command": [*PYTHON, script], "maxCostUSD": cell_cap, "cpus": 0.1, "memoryGiB": 0.1, "network": True}
    template = {"kind": "Job", "spec": spec}
    return sweep_document(template, cap=cap, parallel=parallel, name=name, repetitions=repetitions, **matrix)


def sweep_document(template: dict[str, Any], *, cap: str, parallel: int, name: str, repetitions: int, **matrix: Any) -> dict[str, Any]:
    """A Sweep document."""
    return {
        "apiVersion": "nodus.dev/v1",
        "kind": "Sweep",
        "metadata": {"name": name, "labels": {"team": "a"}},
        "spec": {"maxCostUSD": cap, "maxParallel": parallel, "repetitions": repetitions, "template": template, "matrix": matrix},
    }


async def launch(place: Place, backend: LocalBackend, *documents: dict[str, Any]) -> ApplyOutcome:
    """Apply documents."""
    return await backend.apply(place.specs(*documents), author="somebody")


async def sweep_status(backend: LocalBackend, name: str = "grid") -> SweepStatus:
    """How a sweep stands."""
    found = await backend.get("Sweep", name)
    assert isinstance(found, Sweep)
    assert found.status is not None
    return found.status


async def cell(backend: LocalBackend, number: int, name: str = "grid") -> SweepCell:
    """A cell, by its place from 1."""
    return (await backend.sweep_results(name)).cells[number - 1]


async def sweep_until(backend: LocalBackend, holds: Callable[[SweepStatus], bool], name: str = "grid") -> SweepStatus:
    """The sweep's status once something holds of it."""

    async def settled() -> bool:
        return holds(await sweep_status(backend, name))

    await until(backend, settled)
    return await sweep_status(backend, name)


async def sweep_in(backend: LocalBackend, phase: str, name: str = "grid") -> SweepStatus:
    """The sweep's status once it is in a phase."""
    return await sweep_until(backend, lambda status: status.phase == phase, name)


async def cell_until(backend: LocalBackend, number: int, holds: Callable[[SweepCell], bool], name: str = "grid") -> SweepCell:
    """A cell once something holds of it."""

    async def settled() -> bool:
        return holds(await cell(backend, number, name))

    await until(backend, settled)
    return await cell(backend, number, name)
