"""Fixtures: the tests' NVML, and a watch over it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nvml_here import Nvml, compile_library

from local_backend.hardware.watch import HardwareWatch


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def nvml(tmp_path: Path, nvml_library: Path) -> Nvml:
    return Nvml(tmp_path / "nvml", nvml_library)


@pytest.fixture
async def watch(nvml: Nvml, tmp_path: Path) -> AsyncIterator[HardwareWatch]:
    """Its samples follow each other quickly."""
    made = HardwareWatch(tmp_path, nvml.environ, lambda: datetime.now(UTC), period=0.05)
    yield made
    await made.aclose()
