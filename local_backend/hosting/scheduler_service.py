"""The detached scheduler at work: the workspace's backend, answering on a unix socket until it is asked to stop or has long been idle.

Whoever holds the workspace's lock is its scheduler: of two that start at once one works, and the other ends without a complaint.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

from local_backend.backend import LocalBackend, open_local
from local_backend.daemon.server import Served, serving
from local_backend.hosting.log import log_to
from local_backend.hosting.places import new_record, remove_record, socket_path, write_record
from local_backend.scheduler_here import LOG_NAME, is_alive, read_record
from nodus_tui.contract.backend import BackendOptions
from nodus_tui.contract.configuration import SchedulerSettings
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.job import JobStatus

_log = logging.getLogger(__name__)

HOLD_SECONDS = 3.0
"""How long the workspace's lock is tried for: another process may hold it for the moment of one action."""
HAND_OVER_SECONDS = 120.0
"""How long it is tried for while another scheduler, which is stopping, still holds it."""
_LOOK_SECONDS = 0.1
_IDLE_LOOK_SECONDS = 5.0
_PLACE_LOOK_SECONDS = 1.0
"""How often it is looked at whether the workspace's folder is still there."""


def run(home: Path, config: Path | None, *, detached: bool) -> None:
    """Work until told to stop. What goes wrong is told to the starter and to the log, never to a terminal."""
    log_to(home / LOG_NAME, takes_stderr=detached)
    _log.info("process %d starts", os.getpid())
    try:
        asyncio.run(_run(home, config, detached=detached))
    except Exception:  # noqa: BLE001 - a detached process has no other place to say it than its log
        _log.exception("the scheduler ended by a fault of its own")
        raise SystemExit(1) from None
    _log.info("process %d ends", os.getpid())


def _tell(told: dict[str, object], *, detached: bool) -> None:
    """The one line that a starter waits for; from then on standard output is the log."""
    if detached:
        with contextlib.suppress(OSError):
            os.write(1, json.dumps(told).encode() + b"\n")
        os.dup2(2, 1)


async def _run(home: Path, config: Path | None, *, detached: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        async with _owned(home, config) as backend:
            if backend is None:
                _log.info("another process runs this workspace's work: nothing to do here")
                _tell({"state": "held"}, detached=detached)
                return
            await _work(backend, home, config, stop, detached=detached)
    except NodusError as error:
        _log.error("the scheduler cannot work: %s", "; ".join([error.detail, *(fault.sentence() for fault in error.faults)]))
        _tell({"problem": error.problem().to_document()}, detached=detached)


@contextlib.asynccontextmanager
async def _owned(home: Path, config: Path | None) -> AsyncIterator[LocalBackend | None]:
    """The workspace, open and locked; None when another process keeps its lock."""
    loop = asyncio.get_running_loop()
    async with await open_local(BackendOptions(home=home, config=config, role="work")) as backend:
        began = loop.time()
        while not backend.owns_work:
            record = read_record(home)
            rival = record is not None and is_alive(record)
            if rival and record is not None and not record.stopping:
                break
            if loop.time() - began > (HAND_OVER_SECONDS if rival else HOLD_SECONDS):
                break
            await asyncio.sleep(_LOOK_SECONDS)
        yield backend if backend.owns_work else None


async def _work(backend: LocalBackend, home: Path, config: Path | None, stop: asyncio.Event, *, detached: bool) -> None:
    settings = backend.configuration.scheduler
    path = socket_path(home, os.environ)
    async with serving(backend, socket_path=path) as served:
        record = new_record(path, config, os.environ)
        write_record(home, record)
        _log.info("version %s answers on %s", record.version, path)
        _tell({"state": "ready"}, detached=detached)
        _log.info("stopping: %s", await _until_stopped(backend, served, stop, settings, home))
        with contextlib.suppress(FileNotFoundError):  # Of a folder that was deleted nothing is left to write down.
            write_record(home, record.model_copy(update={"stopping": True}))
    await backend.hand_over(grace_seconds=settings.stop_grace.total_seconds())
    remove_record(home)


async def _until_stopped(backend: LocalBackend, served: Served, stop: asyncio.Event, settings: SchedulerSettings, home: Path) -> str:
    """Return why to stop: asked to, nothing to do for as long as the configuration says, or no workspace any more."""
    loop = asyncio.get_running_loop()
    quiet_since = looked_at = loop.time()
    place = _place_of(home)
    while True:
        try:
            await asyncio.wait_for(stop.wait(), _PLACE_LOOK_SECONDS)
        except TimeoutError:
            if _place_of(home) != place:
                return f"{home} was deleted, moved or replaced"
            if settings.idle_exit == "never" or loop.time() - looked_at < _IDLE_LOOK_SECONDS:
                continue
            looked_at = loop.time()
            if await _unfinished(backend):
                quiet_since = loop.time()
            elif min(loop.time() - quiet_since, served.idle_seconds()) >= settings.idle_exit.total_seconds():
                return "nothing to do and nobody attached"
        else:
            return "asked to"


def _place_of(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from any other that may come to its name; None where there is none."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


async def _unfinished(backend: LocalBackend) -> bool:
    try:
        snapshot = await backend.snapshot()
    except NodusError as error:
        # It is in trouble, so it stays: whoever attaches is told which.
        _log.error("the workspace cannot be read: %s", error.detail)
        return True
    going = any(group.status is not None and not group.status.phase.at_rest for group in snapshot.groups)
    going = going or any(box.status is not None and not box.status.ended for box in snapshot.sandboxes)
    return going or any(job.status is not None and _goes_on(job.status) for job in snapshot.jobs)


def _goes_on(status: JobStatus) -> bool:
    """Whether a scheduler is needed for it: not for a server that waits for somebody to use it, who will start a scheduler."""
    return not status.ended and status.reason != "WaitingForUsers"
