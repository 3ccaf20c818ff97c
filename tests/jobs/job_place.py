"""A workspace for tests of jobs: the embedded backend over a real database, and real processes under real supervisors."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

from local_backend.backend import LocalBackend, open_local
from local_backend.jobs.order import read_report
from local_backend.jobs.process_tree import marked
from local_backend.storage.job_records import JobRecord
from nodus_tui.contract.backend import Backend, BackendOptions
from nodus_tui.contract.resources.job import Job, JobStatus
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

CONFIGURATION = 'rates: {CPU: "36"}\njobs: {stopGrace: 2s, maxLogMiB: 1}\n'
"""A cent a second, so that caps are reached in a test's time."""


def job_text(name: str = "work", command: list[str] | str = "true", **spec: Any) -> str:
    """A Job; a command that is one text is a shell's."""
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else command
    document = {
        "apiVersion": "nodus.dev/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"command": words, "maxCostUSD": "100", "network": True, **spec},
    }
    return json.dumps(document, ensure_ascii=False)


def job(name: str = "work", command: list[str] | str = "true", *, folder: Path | None = None, **spec: Any) -> SpecBundle:
    text = job_text(name, command, **spec)
    return load_specs([SpecSource("job.yaml", text.encode(), folder)])


def python(program: str) -> list[str]:
    """A command that runs a Python program."""
    return [sys.executable, "-c", program]


@asynccontextmanager
async def workspace(folder: Path, configuration: str = CONFIGURATION, *, role: Any = "work") -> AsyncIterator[LocalBackend]:
    config = folder / "config.yaml"
    config.write_text(configuration, encoding="utf-8")
    async with await open_local(BackendOptions(home=folder / "home", config=config, role=role)) as backend:
        yield backend


async def job_now(backend: Backend, name: str = "work") -> tuple[Job, JobStatus]:
    found = await backend.get("Job", name)
    assert isinstance(found, Job)
    assert found.status is not None
    return found, found.status


async def until(backend: Backend, *phases: str, reason: str | None = None, name: str = "work") -> JobStatus:
    """The job's status once it is in one of these phases (and has this reason); without any, once it has ended."""
    cursor = (await backend.snapshot()).cursor
    _, status = await job_now(backend, name)
    async with aclosing(cast("Any", backend.watch(after=cursor))) as batches:
        while not (status.phase in phases if phases else status.ended) or reason not in {None, status.reason}:
            await anext(batches)
            _, status = await job_now(backend, name)
    return status


async def whole_log(backend: Backend, name: str = "work") -> str:
    """The log up to its end, piece by piece."""
    text, place = "", 0
    while True:
        piece = await backend.job_log(name, after=place, wait_seconds=5)
        text, place = text + piece.text, piece.next_offset
        if piece.ended:
            return text


async def log_with(backend: Backend, words: str, name: str = "work") -> str:
    """The log once it holds these words."""
    text = ""
    while words not in text:
        piece = await backend.job_log(name, wait_seconds=5)
        assert words in piece.text or not piece.ended, piece.text
        text = piece.text
    return text


async def record_of(backend: LocalBackend, name: str = "work") -> JobRecord:
    rows = await backend._store.read("SELECT * FROM jobs WHERE name = ?", (name,))
    return JobRecord.from_row(rows[0])


async def recorded(backend: LocalBackend, holds: Callable[[JobRecord], bool], name: str = "work") -> JobRecord:
    """A job's record once something holds of it; looked at after each commit."""
    committed = asyncio.Event()
    backend._store.on_commit(committed.set)
    while not holds(record := await record_of(backend, name)):
        await committed.wait()
        committed.clear()
    return record


def job_folder(folder: Path, name: str = "work") -> Path:
    return folder / "home" / "jobs" / name


def report_of(folder: Path, token: str, name: str = "work") -> Any:
    return read_report(job_folder(folder, name), token)


def processes_of(token: str) -> set[int]:
    """Everything that runs of a job."""
    return marked(token)


def supervisor_of(folder: Path, name: str = "work") -> int:
    """The supervisor's pid: the process that holds the job's lock open."""
    found = has_lock_open(folder, name)
    assert found, "no supervisor"
    return found


def has_lock_open(folder: Path, name: str = "work") -> int:
    """The pid of another process that has the job's lock open; 0 where none has."""
    lock = job_folder(folder, name) / "lock"
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            files = [each.readlink() for each in (entry / "fd").iterdir()]
        except OSError:
            continue
        if lock in files:
            return int(entry.name)
    return 0
