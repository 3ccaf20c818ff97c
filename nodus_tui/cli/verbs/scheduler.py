"""`scheduler`: the detached process that does a workspace's work: whether it runs, starting and stopping it, its log."""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import UTC, datetime
from io import TextIOWrapper
from typing import TYPE_CHECKING

import click
from pydantic import JsonValue

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import output_option
from nodus_tui.cli.output import emit, json_text
from nodus_tui.cli.session import with_backend
from nodus_tui.connect import attached_to, chosen_way, local_scheduler
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.regular_files import open_regular
from nodus_tui.contract.scheduler import SchedulerRecord
from nodus_tui.contract.scheduler_view import LARGEST_LOG_BYTES, SchedulerLog
from nodus_tui.remote.holding import Held, held_at, held_words
from nodus_tui.remote.local import LocalScheduler
from nodus_tui.text import safe_text

if TYPE_CHECKING:
    from nodus_tui.contract.resources.job import Job, JobStatus


@click.group("scheduler")
def command() -> None:
    """The process that does this workspace's work. Verbs and the console start it when they need it, and leave it running when they end.

    It ends when asked, or when for some time (`scheduler: {idleExit: 30m}` in the configuration file) no work was unfinished and nobody
    was attached.
    """


@command.command("status")
@output_option("table", "json")
def status(output: str) -> int:
    """Whether it runs, since when, and how many runs are at work. Exit 4 when none runs."""
    scheduler = _scheduler()
    record = scheduler.running()
    held = Held()
    if record is not None:
        try:
            held = asyncio.run(_held(scheduler, record))
        except NodusError as error:
            say(f"what it works on is not known: {error.detail}")
    _show(scheduler, record, held, output)
    return Exit.DONE if record is not None else Exit.INFRASTRUCTURE


@command.command("start")
@output_option("table", "json")
def start(output: str) -> int:
    """Start it where none runs; unfinished groups go on. Nothing else happens where one runs already."""
    return asyncio.run(_start(_scheduler(), output))


@command.command("stop")
def stop() -> int:
    """Ask it to end, and wait until it has.

    Calls in flight may end (`scheduler: {stopGrace: 10s}`); unfinished groups are kept as they are and go on with the next scheduler.
    """
    return asyncio.run(_stop(_scheduler()))


@command.command("restart")
@output_option("table", "json")
def restart(output: str) -> int:
    """Stop it and start a new one, which takes over the work, with the configuration and the keys of today."""

    async def both() -> int:
        scheduler = _scheduler()
        await _stop(scheduler)
        return await _start(scheduler, output)

    return asyncio.run(both())


@command.command("logs")
@click.option("-n", "--lines", type=click.IntRange(min=1), default=50, show_default=True, help="The last lines of it.")
def logs(lines: int) -> int:
    """What it has written to its log; with --connect, to that of the machine there, as an operator."""
    if chosen_way().url:
        return _logs_afar(lines)
    path = _scheduler().log
    try:
        with TextIOWrapper(open_regular(path), encoding="utf-8", errors="backslashreplace") as log:
            last = deque(log, maxlen=lines)
    except FileNotFoundError:
        say(f"there is no log yet: {path} does not exist")
        return Exit.DONE
    except OSError as error:
        raise NodusError(ErrorCode.UNAVAILABLE, f"{path} cannot be read: {error.strerror}") from error
    emit("\n".join(safe_text(line.rstrip("\n")) for line in last))
    say(f"from {path}")
    return Exit.DONE


def _logs_afar(lines: int) -> int:
    async def ask(backend: Backend) -> SchedulerLog:
        return (await backend.scheduler_view(after=-LARGEST_LOG_BYTES, limit=LARGEST_LOG_BYTES)).log

    log = with_backend("look", ask)
    if log.problem:
        say(log.problem)
        return Exit.DONE
    emit("\n".join(safe_text(line) for line in log.text.rstrip("\n").split("\n")[-lines:]))
    say(f"from {log.path}, there")
    return Exit.DONE


def _scheduler() -> LocalScheduler:
    found = local_scheduler()
    if found is None:
        raise NodusError(ErrorCode.NOT_SUPPORTED, "the backend that NODUS_BACKEND names brings no scheduler of its own process")
    return found


async def _held(scheduler: LocalScheduler, record: SchedulerRecord) -> Held:
    async with attached_to(scheduler, record, say) as backend:
        return await held_at(backend)


async def _start(scheduler: LocalScheduler, output: str) -> int:
    record = await scheduler.ensure()
    if record is None:
        say("another process does this workspace's work itself (--in-process): none is started beside it")
        return Exit.INFRASTRUCTURE
    _show(scheduler, record, await _held(scheduler, record), output)
    return Exit.DONE


async def _stop(scheduler: LocalScheduler) -> int:
    record = scheduler.running()
    unfinished: list[str] = []
    jobs: list[str] = []
    if record is not None:
        try:
            async with attached_to(scheduler, record, say) as backend:
                snapshot = await backend.snapshot()
            unfinished = [each.name for each in snapshot.groups if each.status and not each.status.phase.at_rest]
            jobs = [each.name for each in snapshot.jobs if each.status and _stays(each, each.status)]
        except NodusError as error:
            say(f"what it works on is not known: {error.detail}")
    ended = await scheduler.stop()
    if ended is None:
        say("no scheduler runs here")
        return Exit.DONE
    kept = f"; unfinished, and kept for the next one: {', '.join(unfinished)}" if unfinished else ""
    say(f"the scheduler (process {ended.pid}) has ended{kept}")
    if jobs:
        say(f"running jobs need no scheduler and go on: {', '.join(jobs)}; `nodus-tui kill job/NAME` ends one")
    return Exit.DONE


def _stays(job: Job, status: JobStatus) -> bool:
    """Whether a job goes on without a scheduler: every one that runs, but for a server that nobody uses or keeps."""
    unused = job.spec.serve is not None and not job.spec.serve.keep and status.serving is not None and not status.serving.users
    return status.phase in {"Running", "Serving"} and not unused


def _show(scheduler: LocalScheduler, record: SchedulerRecord | None, has: Held, output: str) -> None:
    held = has.names
    active = sum(group.status.going for group in has.groups if group.status is not None)
    if output == "json":
        document: dict[str, JsonValue] = {"running": record is not None, "pid": None, "socket": None, "version": None, "startedAt": None}
        if record is not None:
            told = record.to_document()
            document |= {name: told[name] for name in ("pid", "socket", "version", "startedAt")}
        emit(json_text(document | {"activeRuns": active, "holds": [*held], "home": str(scheduler.home), "log": str(scheduler.log)}))
        return
    if record is None:
        emit(f"no scheduler runs for {safe_text(str(scheduler.home))}; the verbs that work and the console start one")
        left = scheduler.record()
        if left is not None and scheduler.process(left) is None:
            say(f"the last one (process {left.pid}) ended without a word; {scheduler.log} may say why. The next one goes on")
        return
    minutes = int((datetime.now(UTC) - record.started_at).total_seconds() // 60)
    going = sum(bool(group.status and group.status.going) for group in has.groups)
    emit(
        f"process {record.pid}, version {record.version}, for {minutes // 60} h {minutes % 60} min, on {safe_text(record.socket)}\n"
        f"{active} run{'' if active == 1 else 's'} at work in {going} group{'' if going == 1 else 's'}\n"
        f"{f'unfinished: {held_words(held)}' if held else 'nothing is unfinished'}"
    )
