"""What all tests share: a state of their own, and that no scheduler stays behind."""

import contextlib
import gc
import json
import os
import signal
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

_MODULE = "local_backend.hosting.scheduler_process"
_RECORD = "scheduler.json"
GARBAGE_AFTER = 100_000
"""New objects after which Python's collector takes a turn. A console that was closed is some tens of thousands."""


def pytest_configure() -> None:
    """Signals mean the same in every test, also where the tests were started in the background or by something that ignores some; and no
    example is too slow.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    # How long an example takes says more about the machine than about what is tested.
    settings.register_profile("unhurried", deadline=None)
    settings.load_profile("unhurried")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files whose tests may take long come early, the longest first, so that at the end no worker is left with one of them while the others
    have nothing. They wait for other processes most of the time: the others come in between, which use the processors meanwhile.
    """
    longest: dict[Path, float] = {}
    for item in items:
        mark = item.get_closest_marker("timeout")
        longest[item.path] = max(longest.get(item.path, 0.0), float(mark.args[0]) if mark is not None else 0.0)
    long = sorted((path for path in longest if longest[path]), key=lambda path: -longest[path])
    others = [path for path in longest if not longest[path]]
    turns = [path for pair in zip_longest(long, others) for path in pair if path is not None]
    place = {path: number for number, path in enumerate(turns)}
    items.sort(key=lambda item: place[item.path])


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: Python's collector need not look through it again and again, nor as often as it does."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER, 10, 10)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test touches the user's own workspace, configuration or keys; a scheduler that it started ends with it."""
    monkeypatch.setenv("NODUS_HOME", str(tmp_path / "nodus-home"))
    # Tests of the detached scheduler unset this; all others do their work in the process that asks.
    monkeypatch.setenv("NODUS_IN_PROCESS", "1")
    for name in ("NODUS_CONFIG", "NODUS_URL", "NODUS_TOKEN", "NODUS_CA", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    yield
    # Not by `rglob`, which fails where a folder goes while it looks: schedulers and supervisors may be on their way out.
    records = [Path(folder, _RECORD) for folder, _, names in os.walk(tmp_path) if _RECORD in names]
    for pid in [pid for pid in map(_recorded, records) if pid is not None]:
        end_schedulers([process for process in schedulers_below(tmp_path) if process.pid == pid])


def _recorded(record: Path) -> int | None:
    """Whose record it is; a scheduler that ends in order takes it away."""
    try:
        return int(json.loads(record.read_text(encoding="utf-8"))["pid"])
    except FileNotFoundError:
        return None


def end_schedulers(found: list[psutil.Process]) -> None:
    """Kill what has not ended by itself meanwhile, and wait for its end."""
    for process in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(found)


def schedulers_below(folder: Path) -> list[psutil.Process]:
    """The schedulers at work whose state folder lies below a folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if _MODULE in words and process.info["status"] != psutil.STATUS_ZOMBIE and "--home" in words:
            home = Path(words[words.index("--home") + 1])
            if home.is_relative_to(folder):
                found.append(process)
    return found


@pytest.fixture(scope="session", autouse=True)
def _nothing_stays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A scheduler that a test left behind fails the run, and is ended."""
    yield
    _, left = psutil.wait_procs(schedulers_below(tmp_path_factory.getbasetemp()), timeout=30)  # Some may be on their way out.
    end_schedulers(left)
    assert not left, f"tests left schedulers behind: {left}"
