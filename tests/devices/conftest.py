"""The NVML library of the hardware tests, and the workspaces of the jobs' and the backend's, serve here too."""

import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent.parent / folder) for folder in ("hardware", "jobs", "backend", "training")]

from nvml_here import Nvml, compile_library

from local_backend.devices import desk as desk_module
from local_backend.hardware import watch as watch_module


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def nvml(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> Nvml:
    """Found by the probe of every backend here, whose looks follow each other quickly."""
    made = Nvml(tmp_path / "nvml", library)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(made.folder))
    monkeypatch.setattr(desk_module, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(watch_module, "_FIRST_RATES_SECONDS", 0)
    monkeypatch.setitem(watch_module.HardwareWatch.__init__.__kwdefaults__, "period", 0.05)
    return made
