"""Sandboxes for the tools' tests: bubblewrap for each, Docker for those marked `every_engine`, plain processes where asked for."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from plain_processes import PlainSandbox

from local_backend.sandboxes.bubblewrap.engine import connect_bubblewrap
from local_backend.sandboxes.docker.engine import connect_docker
from local_backend.sandboxes.interface import Limits, Sandbox, SandboxEngine, SandboxError, SandboxRequest
from local_backend.sandboxes.owner import this_process


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "every_engine: runs on Docker as well, which is slower")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine_name" in metafunc.fixturenames:
        marked = metafunc.definition.get_closest_marker("every_engine") is not None
        metafunc.parametrize("engine_name", ["bubblewrap", "docker"] if marked else ["bubblewrap"])


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[PlainSandbox]:
    """Processes of this machine, without isolation."""
    folder = tmp_path / "task"
    folder.mkdir()
    sandbox = PlainSandbox(folder)
    yield sandbox
    await sandbox.aclose()


@pytest.fixture
async def sandbox(engine_name: str) -> AsyncIterator[Sandbox]:
    """A sandbox of an engine."""
    try:
        engine: SandboxEngine = await (connect_docker if engine_name == "docker" else connect_bubblewrap)(os.environ)
    except SandboxError as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have every engine: {error}")
        pytest.skip(f"{error} (scripts/sandbox_engines runs a command with both engines)")
    limits = Limits(cpus=2, memory_bytes=512 << 20, pids=64, disk_bytes=128 << 20)
    try:
        wanted = SandboxRequest(run="tools-test", purpose="episode", owner=this_process(), lifetime_seconds=300, limits=limits)
        sandbox = await engine.create(wanted)
        try:
            yield sandbox
        finally:
            await sandbox.aclose()
    finally:
        await engine.aclose()
