"""What the tests of Sandboxes share: specs, statuses, commands run to their ends."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import aclosing
from datetime import timedelta
from typing import Any, cast

import pytest
from engine_place import Place
from engine_suite import connect

from local_backend.sandboxes.interface import SandboxEngine, SandboxError
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.configuration import SandboxSettings
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxStatus
from nodus_tui.contract.sandbox_exec import ExecEnd, ExecRequest
from nodus_tui.contract.sandboxes import SandboxEngineFact
from nodus_tui.sandbox_commands.command import Finished, run_command

RATE_A_SECOND = "36"
"""US dollars an hour: a cent a second."""


async def needs(engine: str) -> None:
    """Skip where this machine has no such engine; CI has all."""
    try:
        found = await connect(engine)
    except SandboxError as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have every engine: {error}")
        pytest.skip(f"{error} (scripts/sandbox_engines runs a command with both engines)")
    await found.aclose()


async def chosen(settings: SandboxSettings, environ: Mapping[str, str]) -> tuple[SandboxEngine, SandboxEngineFact]:
    """The engine of the settings, taken at its word."""
    found = await connect(settings.engine)
    return found, SandboxEngineFact(engine=settings.engine, isolation="full", reason="it was named")  # type: ignore[arg-type]


def box(name: str = "box", **spec: Any) -> dict[str, Any]:
    """A Sandbox document, of a size that many fit this machine."""
    small = {"memoryGiB": 0.5, "diskGiB": 0.1, "processes": 64, "maxCostUSD": "1000"}
    return {"apiVersion": "nodus.dev/v1", "kind": "Sandbox", "metadata": {"name": name}, "spec": {**small, **spec}}


async def status_of(backend: Backend, name: str = "box") -> SandboxStatus:
    found = await backend.get("Sandbox", name)
    assert isinstance(found, Sandbox)
    assert found.status is not None
    return found.status


async def until(backend: Backend, holds: Callable[[SandboxStatus], bool], name: str = "box") -> SandboxStatus:
    """Its status once something holds, looked at after every batch of events."""
    cursor = (await backend.snapshot()).cursor
    async with aclosing(cast("Any", backend.watch(after=cursor))) as batches:
        while not holds(status := await status_of(backend, name)):
            await anext(batches)
    return status


async def running(backend: Backend, name: str = "box") -> SandboxStatus:
    status = await until(backend, lambda status: status.phase != "Pending", name)
    assert status.phase == "Running", status
    return status


async def ended(backend: Backend, name: str = "box") -> SandboxStatus:
    return await until(backend, lambda status: status.ended, name)


async def started(place: Place, backend: Backend, **spec: Any) -> SandboxStatus:
    """Apply one, and give its status once it runs."""
    await backend.apply(place.specs(box(**spec)))
    return await running(backend)


async def shell(backend: Backend, script: str, name: str = "box", **request: Any) -> Finished:
    """A script run to its end in it."""
    asked = ExecRequest.model_validate({"command": ("sh", "-c", script), **request})
    return await run_command(backend, name, asked, timeout=60)


async def end_of(backend: Backend, session: str, name: str = "box") -> ExecEnd:
    """The end of a command, whatever it wrote."""
    at = 0
    while True:
        async for piece in backend.exec_output(name, session, after=at):
            if isinstance(piece, ExecEnd):
                return piece
            at = piece.offset + len(piece.data)


def forward(place: Place, **time: float) -> None:
    """Put the clock forward."""
    place.clock.ahead += timedelta(**time)


async def soon(condition: Callable[[], Any]) -> None:
    """Wait until something holds that nothing tells of; the test's own time limit ends a wait in vain."""
    while True:
        value = condition()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return
        await asyncio.sleep(0.02)
