"""Sandboxes for the tools' tests: plain processes everywhere, and each real engine of this machine."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from plain_processes import PlainSandbox

from local_backend.sandboxes.interface import Sandbox


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[PlainSandbox]:
    """Processes of this machine, without isolation."""
    folder = tmp_path / "task"
    folder.mkdir()
    sandbox = PlainSandbox(folder)
    yield sandbox
    await sandbox.aclose()


@pytest.fixture
async def sandbox(plain: PlainSandbox) -> Sandbox:
    return plain
