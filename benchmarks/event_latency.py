"""How long a change takes to reach whoever looks on, in process, over the unix socket and over TCP, while a thousand runs are active.

    python benchmarks/event_latency.py [--repeat 3] [--seconds 10] [--write]

And what a snapshot of ten thousand runs takes, and the scheduler's memory. docs/benchmarks.md says what exactly is measured. It needs the
package's `dev` extra, for a certificate of its own.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

import psutil
from active_runs import TURNS, Workspace, configuration, finish_runs, launch_active
from arrivals import Arrival, arrivals, latencies_ms, now_ns, percentiles
from latency_report import MARKS, Measurements, Memory, SnapshotTaken, Window, tables
from measured_scheduler import Certificates, IdleProbe, MeasuredScheduler
from measuring import BenchmarkError
from report import machine_facts, write
from subjects import BATCH

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import NodusError
from nodus_tui.remote.backend import RemoteBackend

_DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
_WARM_SECONDS = 1.0
"""A reader has watched so long before a change counts: connecting is not what is measured."""
_STANDSTILL_MS = 500.0
"""An idle process that comes back so late says that the machine, or this share of it, stood still: that window is no measurement."""
_TRIES = 5
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how long events and snapshots take to reach a client.")
    parser.add_argument("--groups", type=int, default=10, help="groups that are active (default 10)")
    parser.add_argument("--cases", type=int, default=BATCH, help="cases of each, all at once (default %(default)s)")
    parser.add_argument("--call-seconds", type=float, default=5.0, help="latency of the simulated model, on average (default 5)")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of each window (default 10)")
    parser.add_argument("--settle", type=float, default=20.0, help="seconds before the first window, in which runs get out of step")
    parser.add_argument("--finished", type=int, default=10_000, help="runs in the snapshot (default 10,000)")
    parser.add_argument("--repeat", type=int, default=3, help="trials, each a fresh scheduler; snapshots: three times as many (default 3)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    options = parser.parse_args(given)
    if min(options.groups, options.cases, options.finished, options.repeat) < 1 or options.cases > BATCH:
        parser.error(f"--groups, --cases, --finished and --repeat are 1 or more, --cases at most {BATCH}")
    if min(options.call_seconds, options.seconds) <= 0 or options.settle < 0:
        parser.error("--call-seconds and --seconds are more than 0, --settle is not less")
    return options


# Events and memory.

Reader = Callable[[int, datetime], Awaitable[list[Arrival]]]
"""Watches from a cursor on, until changes come that were made after a moment."""


async def _trial_active(options: argparse.Namespace, folder: Path, certificates: Certificates, measured: Measurements) -> None:
    """A fresh scheduler with all runs active, watched by each way in turn."""
    async with AsyncExitStack() as stack:
        scheduler = await stack.enter_async_context(MeasuredScheduler.start(folder, configuration(options.call_seconds), certificates))
        workspace = Workspace(scheduler.home)
        probe = await stack.enter_async_context(IdleProbe.start())
        idle = scheduler.process.memory_info().rss
        async with RemoteBackend(scheduler.on_socket) as client:
            await launch_active(client, workspace, folder, groups=options.groups, cases=options.cases)
        await asyncio.sleep(options.settle)
        active = scheduler.process.memory_info().rss
        readers: list[tuple[str, Reader | None]] = [
            ("by nobody", None),
            ("in process", scheduler.watch_inside),
        ]
        for label, backend in await _remotes(stack, scheduler):
            readers.append((label, _watching(backend)))
        for label, reader in readers:
            window = await _steady_window(scheduler, probe, workspace, reader, options, measured)
            measured.windows.setdefault(label, []).append(window)
            if window.latency is not None:
                print(f"  {label}: p50 {window.latency.p50:.1f} ms, p99 {window.latency.p99:.1f} ms", file=sys.stderr)
        after = scheduler.process.memory_info().rss
        graders = sum(child.memory_info().rss for child in scheduler.process.children(recursive=True))
        measured.memory.append(Memory(idle, active, after, graders))


async def _remotes(stack: AsyncExitStack, scheduler: MeasuredScheduler) -> list[tuple[str, Backend]]:
    """The ways from another process."""
    addresses = {
        "over the unix socket": scheduler.on_socket,
        "over TCP with TLS": scheduler.on_tcp,
        "over TCP with TLS, through `serve`": await stack.enter_async_context(scheduler.served()),
    }
    return [(label, await stack.enter_async_context(RemoteBackend(address))) for label, address in addresses.items()]


def _watching(backend: Backend) -> Reader:
    async def watch(after: int, until: datetime) -> list[Arrival]:
        return await arrivals(backend, after=after, until=until)

    return watch


async def _steady_window(
    scheduler: MeasuredScheduler,
    probe: IdleProbe,
    workspace: Workspace,
    reader: Reader | None,
    options: argparse.Namespace,
    measured: Measurements,
) -> Window:
    """A window in which the machine did not stand still. Raises BenchmarkError when there is none."""
    for _ in range(_TRIES):
        window = await _window(scheduler, probe, workspace, reader, options)
        if window.machine_lag.most < _STANDSTILL_MS:
            return window
        measured.standstills += 1
        print(f"  the machine stood still for {window.machine_lag.most:,.0f} ms: once more", file=sys.stderr)
    raise BenchmarkError(
        f"the machine stood still for more than {_STANDSTILL_MS:.0f} ms in {_TRIES} windows in a row: measure when it is free"
    )


async def _window(
    scheduler: MeasuredScheduler,
    probe: IdleProbe,
    workspace: Workspace,
    reader: Reader | None,
    options: argparse.Namespace,
) -> Window:
    """Watch for the window's length. Raises BenchmarkError when a run was not active all the time."""
    start_cursor = workspace.last_cursor()
    begin = now_ns() + round(1e9 * _WARM_SECONDS)
    end = begin + round(1e9 * options.seconds)
    await scheduler.take_lags()
    await probe.take_lags()
    used, began = _processor_seconds(scheduler.process), time.perf_counter()
    batches: list[Arrival] = []
    if reader is not None:
        batches = await reader(start_cursor, _EPOCH + timedelta(microseconds=(end + scheduler.wall_offset_ns) // 1000))
    else:
        await asyncio.sleep(_WARM_SECONDS + options.seconds)
    share = (_processor_seconds(scheduler.process) - used) / (time.perf_counter() - began)
    lags, machine_lags = await scheduler.take_lags(), await probe.take_lags()
    running = workspace.count("phase = 'Running'")
    if running != options.groups * options.cases:
        raise BenchmarkError(
            f"{running} of {options.groups * options.cases} runs were active at a window's end: each has {TURNS} calls, so give them more "
            "time with --call-seconds, or shorten the windows with --seconds"
        )
    told = [(cursor, _moment_ns(at) - scheduler.wall_offset_ns) for cursor, at in workspace.changes(after=start_cursor)]
    changes = [(cursor, at) for cursor, at in told if begin <= at < end]
    counted = [cursor for cursor, at in batches if begin <= at < end]
    return Window(
        latency=percentiles(latencies_ms(changes, batches)) if reader is not None else None,
        events_per_second=len(changes) / options.seconds,
        events_per_batch=len(changes) / len(counted) if counted else None,
        lag=percentiles(lags),
        machine_lag=percentiles(machine_lags),
        processor_share=share,
    )


def _processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _moment_ns(at: str) -> int:
    return (datetime.fromisoformat(at) - _EPOCH) // timedelta(microseconds=1) * 1000


# Snapshots.


async def _snapshots(options: argparse.Namespace, folder: Path, certificates: Certificates, measured: Measurements) -> None:
    """One scheduler with all its runs ended, asked for everything by each way in turn."""
    async with AsyncExitStack() as stack:
        scheduler = await stack.enter_async_context(MeasuredScheduler.start(folder, configuration(options.call_seconds), certificates))
        async with RemoteBackend(scheduler.on_socket) as client:
            await finish_runs(client, Workspace(scheduler.home), options.finished)
        ways: list[tuple[str, Callable[[], Awaitable[float]]]] = [("in process", scheduler.snapshot_inside)]
        ways += [(label, _taking(backend, options.finished)) for label, backend in await _remotes(stack, scheduler)]
        for _, take in ways:
            await take()  # Not counted: it connects, and builds what was never built.
        for _ in range(3 * options.repeat):
            for label, take in ways:
                await scheduler.take_lags()
                ms = await take()
                measured.snapshots.setdefault(label, []).append(SnapshotTaken(ms, max(await scheduler.take_lags())))
        measured.finished_runs, measured.snapshot_bytes = options.finished, await scheduler.snapshot_size()


def _taking(backend: Backend, runs: int) -> Callable[[], Awaitable[float]]:
    async def take() -> float:
        began = now_ns()
        made = await backend.snapshot(runs_of="")
        ms = (now_ns() - began) / 1e6
        if len(made.runs) != runs:
            raise BenchmarkError(f"the snapshot held {len(made.runs)} of {runs} runs")
        return ms

    return take


# All of it.


def _sync_ms(folder: Path) -> float:
    """What the disk takes for one small synced write, which every commit waits for."""
    taken = []
    with (folder / "sync").open("wb") as file:
        for _ in range(50):
            file.write(bytes(4096))
            file.flush()
            began = now_ns()
            os.fsync(file.fileno())
            taken.append((now_ns() - began) / 1e6)
    return median(taken)


async def measure_all(options: argparse.Namespace) -> str:
    """Every trial, and the text for the document. Raises BenchmarkError or NodusError."""
    before = os.getloadavg()[0]
    measured = Measurements(options.groups * options.cases)
    with tempfile.TemporaryDirectory(prefix="nodus-benchmark-") as name:
        root = Path(name)
        certificates = Certificates.make(root)
        sync = _sync_ms(root)
        for trial in range(options.repeat):
            print(f"trial {trial + 1} of {options.repeat}", file=sys.stderr)
            await _trial_active(options, _made(root / f"trial-{trial}"), certificates, measured)
        print(f"snapshots of {options.finished:,} runs", file=sys.stderr)
        await _snapshots(options, _made(root / "snapshots"), certificates, measured)
    facts = (
        f"Trials, each a fresh scheduler: {options.repeat}; snapshots by each way, in turn: {3 * options.repeat}; "
        f"medians (least to most). A call takes {options.call_seconds:g} s on average, a window {options.seconds:g} s. "
        f"{machine_facts((before, os.getloadavg()[0]))} A small synced write to its disk takes {sync:.1f} ms. "
        f"Windows measured again because the machine stood still in them for more than {_STANDSTILL_MS:.0f} ms: {measured.standstills}."
    )
    return f"{facts}\n\n{tables(measured)}"


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main(given: Sequence[str]) -> int:
    """Measure, print the tables, and write them where asked. The exit status says only whether it could be measured."""
    options = _arguments(given)
    try:
        text = asyncio.run(measure_all(options))
        print(text)
        if options.write:
            asked = [each for each in given if each != "--write"]
            niceness = os.nice(0)
            before = [f"nice -n {niceness}"] if niceness else []
            write(_DOCUMENT, f"`{' '.join([*before, 'python benchmarks/event_latency.py', *asked])}`\n\n{text}", marks=MARKS)
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except NodusError as error:
        print(f"error: {'; '.join([error.detail, *(fault.sentence() for fault in error.faults)])}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
