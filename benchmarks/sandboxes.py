"""Sandboxes: start, run a program, remove; fifty at once; a batch of a hundred code cases. With the loop's lag meanwhile.

    scripts/sandbox_engines .venv/bin/python benchmarks/sandboxes.py [--repeat 3] [--count 30] [--write]

Every engine that answers is measured in turns in one run. The peers' default is two sandboxes for each processor: the batch is run so, and
with ten at once. docs/benchmarks.md says what is compared and what came out.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from measured_scheduler import IdleProbe
from measuring import BenchmarkError
from report import machine_facts, write

from local_backend.backend import LocalBackend, open_local
from local_backend.sandboxes.bubblewrap.engine import connect_bubblewrap
from local_backend.sandboxes.docker.engine import connect_docker
from local_backend.sandboxes.interface import SandboxEngine, SandboxError, SandboxRequest, User
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.running import run
from nodus_tui.contract.backend import BackendOptions
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

_DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
_MARKS = ("<!-- sandboxes: written by benchmarks/sandboxes.py --write -->", "<!-- end of sandboxes -->")
_CASES = 100
_TICK_SECONDS = 0.005

Figures = dict[tuple[str, str], list[float]]
"""By row and column, one figure a repeat."""


class LoopLag:
    """How late the event loop comes back to a timer, in milliseconds."""

    def __init__(self) -> None:
        self.late: list[float] = []

    @asynccontextmanager
    async def watched(self):  # type: ignore[no-untyped-def]  # a context manager of nothing
        ticking = asyncio.create_task(self._tick())
        try:
            yield self
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)

    async def _tick(self) -> None:
        while True:
            due = time.perf_counter() + _TICK_SECONDS
            await asyncio.sleep(_TICK_SECONDS)
            self.late.append(max(0.0, 1000 * (time.perf_counter() - due)))

    def percentile(self, share: float) -> float:
        ordered = sorted(self.late)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _request(place: int) -> SandboxRequest:
    return SandboxRequest(run=f"benchmark-{place}", purpose="probe", owner=this_process("benchmark"), lifetime_seconds=600)


async def _timed(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return 1000 * (time.perf_counter() - began)


async def _one_by_one(engine: SandboxEngine, count: int, row: str, figures: Figures) -> None:
    """Medians over `count` sandboxes, one after the other."""
    columns: dict[str, list[float]] = defaultdict(list)
    for place in range(count):
        began = time.perf_counter()
        sandbox = await engine.create(_request(place))
        columns["start (ms)"].append(1000 * (time.perf_counter() - began))
        columns["run `true` (ms)"].append(await _timed(run(sandbox, ["true"], user=User.AGENT, timeout=30)))
        columns["run Python (ms)"].append(await _timed(run(sandbox, ["python3", "-I", "-c", "pass"], user=User.AGENT, timeout=30)))
        columns["remove (ms)"].append(await _timed(sandbox.aclose()))
    for column, values in columns.items():
        figures[row, column].append(median(values))


async def _at_once(engine: SandboxEngine, count: int, row: str, figures: Figures) -> None:
    """So many sandboxes started together, a program run in each, and all removed."""

    async def one(place: int) -> None:
        sandbox = await engine.create(_request(place))
        try:
            done = await run(sandbox, ["true"], user=User.AGENT, timeout=120)
            if done.exit_code != 0:
                raise BenchmarkError(f"a sandbox of {row} ran `true` and got {done}")
        finally:
            await sandbox.aclose()

    lag = LoopLag()
    async with IdleProbe.start() as idle, lag.watched():
        await idle.take_lags()
        milliseconds = await _timed(asyncio.gather(*(one(place) for place in range(count))))
        late = sorted(await idle.take_lags())
    figures[row, f"{count} at once (s)"].append(milliseconds / 1000)
    figures[row, "loop lag p99 (ms)"].append(lag.percentile(0.99))
    figures[row, "an idle process's (ms)"].append(late[min(len(late) - 1, int(0.99 * len(late)))])


async def _batch(engine: str, at_once: int, figures: Figures, row: str) -> None:
    """A hundred code cases from spec to verdicts: agents with tools in their sandboxes, graded in others."""
    with tempfile.TemporaryDirectory(prefix="nodus-benchmark-") as folder:
        home = Path(folder)
        config = home / "config.yaml"
        config.write_text(
            f"sandboxes: {{engine: {engine}, maxRunning: {at_once}}}\n"
            "models: [{family: pretend, provider: simulated, name: pretend-1, simulated: {accuracy: 0.7, toolCalls: 4}}]\n",
            encoding="utf-8",
        )
        spec = (
            "apiVersion: nodus.dev/v1\nkind: Agent\nmetadata: {name: worker}\n"
            "spec: {model: {families: [pretend]}, tools: [bash, read, write, edit, submit]}\n---\n"
            "apiVersion: nodus.dev/v1\nkind: AgentGroup\nmetadata: {name: batch}\n"
            f'spec: {{agent: worker, maxActive: {at_once}, maxCostUSD: "100.00", '
            f"evaluation: {{environment: nodus/code-v1@1.0.0, tasks: 25, repetitions: {_CASES // 25}}}}}\n"
        )
        lag = LoopLag()
        async with await open_local(BackendOptions(home / "home", config, "work")) as backend:
            await backend.info(probe=True)  # Choosing an engine is no part of a batch.
            async with lag.watched():
                began = time.perf_counter()
                await backend.apply(load_specs([SpecSource("batch.yaml", spec.encode(), home)]))
                await _ended(backend)
                seconds = time.perf_counter() - began
            results = await backend.results("batch")
    if results.coverage.scored != _CASES:
        raise BenchmarkError(
            f"{row}: {results.coverage.scored} of {_CASES} cases were scored: {[each.message for each in results.results][:3]}"
        )
    figures[row, f"{_CASES} cases (s)"].append(seconds)
    figures[row, "cases a minute"].append(60 * _CASES / seconds)
    figures[row, "loop lag p99 (ms)"].append(lag.percentile(0.99))
    figures[row, "loop lag, most (ms)"].append(max(lag.late))


async def _ended(backend: LocalBackend) -> None:
    async for _ in backend.watch(after=0):
        found = await backend.get("AgentGroup", "batch")
        if isinstance(found, AgentGroup) and found.status is not None and found.status.phase.at_rest:
            return


def _table(figures: Figures) -> str:
    rows = list(dict.fromkeys(row for row, _ in figures))
    columns = list(dict.fromkeys(column for _, column in figures))
    lines = [f"| | {' | '.join(columns)} |", f"| --- | {' | '.join('---:' for _ in columns)} |"]
    for row in rows:
        cells = [_cell(figures[row, column], column) for column in columns]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(values: Sequence[float], column: str) -> str:
    digits = 0 if column == "cases a minute" else 1
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), median(values), max(values)))
    return f"**{middle}** ({low} to {high})"


async def _measure(options: argparse.Namespace) -> str:
    engines: list[SandboxEngine] = []
    for connect in (connect_bubblewrap, connect_docker):
        try:
            engines.append(await connect(os.environ))
        except SandboxError as error:
            print(f"not measured: {error}", file=sys.stderr)
    if not engines:
        raise BenchmarkError("no sandbox engine answers here")
    alone: Figures = defaultdict(list)
    batches: Figures = defaultdict(list)
    two_each = 2 * (os.cpu_count() or 1)
    for engine in engines:
        await engine.prepare(None)
        await _at_once(engine, 2, engine.facts.engine, defaultdict(list))  # Not counted: the first ones make the image's files known.
    for repeat in range(options.repeat):
        for engine in engines:
            name = f"{engine.facts.engine} {engine.facts.version}"
            await _one_by_one(engine, options.count, name, alone)
            await _at_once(engine, 50, name, alone)
            print(f"{repeat + 1}/{options.repeat} {name}: sandboxes measured", file=sys.stderr)
        for engine in engines:
            for at_once in (two_each, 10):
                row = f"{engine.facts.engine}, {at_once} at once" + (" (two a processor)" if at_once == two_each else "")
                await _batch(engine.facts.engine, at_once, batches, row)
                print(f"{repeat + 1}/{options.repeat} {row}: batch measured", file=sys.stderr)
    for engine in engines:
        await engine.aclose()
    return f"{_table(alone)}\n\n{_table(batches)}"


def main(given: Sequence[str]) -> int:
    """Measure, print the tables, and write them where asked. The exit status says only whether it could be measured."""
    parser = argparse.ArgumentParser(description="Measure sandboxes and batches of cases in them.")
    parser.add_argument("--repeat", type=int, default=3, help="rounds over every engine (default 3)")
    parser.add_argument("--count", type=int, default=30, help="sandboxes one by one in each round (default 30)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    options = parser.parse_args(given)
    before = os.getloadavg()[0]
    try:
        tables = asyncio.run(_measure(options))
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 1
    command = f"python benchmarks/sandboxes.py --repeat {options.repeat} --count {options.count}"
    text = (
        f"`{command}`\n\nMedians (least to most) over {options.repeat} rounds taken in turns. "
        f"{machine_facts((before, os.getloadavg()[0]))}\n\n{tables}"
    )
    print(text)
    if options.write:
        write(_DOCUMENT, text, marks=_MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
