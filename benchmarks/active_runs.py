"""Campaigns for measurements of the scheduler itself: so many runs that stay active, or so many that have ended. Simulated models only."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from measuring import BenchmarkError
from msgspec import Struct
from subjects import BATCH, document

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

TURNS = 64
"""Model calls of one conversation that stays active: the most that a task file may ask for."""
_SPREAD = 0.8
"""The latency of one call varies by this share either way, so that runs which start together do not stay in step."""
_START_SECONDS = 120.0
_GROUPS_AT_ONCE = 10
"""Of finished runs: each group has a grader process of its own."""


def configuration(call_seconds: float) -> str:
    """A configuration file with a model that takes about so long for a call, and one that takes no time."""
    models = [_family("slow", {"latencySeconds": call_seconds, "latencySpread": _SPREAD}), _family("instant", {"latencySeconds": 0})]
    return json.dumps({"models": models})


def _family(name: str, behaviour: Mapping[str, object]) -> dict[str, object]:
    price = {"inputPerMTok": "1.00", "outputPerMTok": "5.00", "notional": True}
    simulated = {"accuracy": 0.7, "outputTokens": 20, **behaviour}
    return {
        "family": name,
        "provider": "simulated",
        "name": f"simulated-{name}",
        "maxConcurrency": 1000,
        "price": price,
        "simulated": simulated,
    }


class Workspace(Struct, frozen=True):
    """A state folder, seen from outside its scheduler."""

    home: Path

    def count(self, condition: str) -> int:
        """How many rows of `runs` meet a condition in SQL."""
        return int(self._rows(f"SELECT count(*) FROM runs WHERE {condition}", ())[0][0])

    def last_cursor(self) -> int:
        """Of the newest event."""
        return int(self._rows("SELECT coalesce(max(cursor), 0) FROM events", ())[0][0])

    def changes(self, *, after: int) -> list[tuple[int, str]]:
        """Cursor and time of every event after a cursor, in order."""
        return [(row[0], row[1]) for row in self._rows("SELECT cursor, at FROM events WHERE cursor > ? ORDER BY cursor", (after,))]

    def _rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[int, str]]:
        with closing(sqlite3.connect(f"file:{self.home / 'nodus.db'}?mode=ro", uri=True)) as database:
            return database.execute(sql, parameters).fetchall()


async def launch_active(backend: Backend, workspace: Workspace, folder: Path, *, groups: int, cases: int) -> None:
    """Start the groups, and return when each case holds a slot. Raises BenchmarkError when that does not come about."""
    prompts = [f"Step {turn}: write down the next number." for turn in range(1, TURNS + 1)]
    tasks = [json.dumps({"id": f"task-{place}", "prompt": prompts, "answer": place}) for place in range(cases)]
    (folder / "tasks.jsonl").write_text("\n".join(tasks), "utf-8")
    environment = {"version": "1.0.0", "file": "tasks.jsonl", "grader": {"type": "numeric"}}
    documents = [document("Environment", "long-tasks", environment), _agent("slow")]
    documents += [_group(f"active-{place}", "long-tasks@1.0.0", "slow", cases, place) for place in range(groups)]
    await _apply(backend, documents, folder)

    def all_run() -> bool:
        return workspace.count("phase = 'Running'") == groups * cases

    try:
        async with asyncio.timeout(_START_SECONDS):
            await _until(backend, all_run)
    except TimeoutError:
        running = workspace.count("phase = 'Running'")
        raise BenchmarkError(f"{running} of {groups * cases} runs were active after {_START_SECONDS:.0f} s") from None


async def finish_runs(backend: Backend, workspace: Workspace, runs: int) -> None:
    """Have so many runs of one call each done. Raises BenchmarkError when one has another end."""
    sizes = [min(BATCH, runs - first) for first in range(0, runs, BATCH)]
    for first in range(0, len(sizes), _GROUPS_AT_ONCE):
        some = enumerate(sizes[first : first + _GROUPS_AT_ONCE], first)
        documents = [_group(f"done-{place}", "nodus/arithmetic-v2@2.0.0", "instant", size, place) for place, size in some]
        await _apply(backend, [_agent("instant"), *documents], None)
        so_many = sum(sizes[: first + _GROUPS_AT_ONCE])
        await _until(backend, lambda enough=so_many: workspace.count("ended_at IS NOT NULL") == enough)
    done = workspace.count("phase = 'Succeeded'")
    if done != runs:
        raise BenchmarkError(f"{done} of {runs} runs succeeded")


def _agent(family: str) -> Mapping[str, object]:
    model = {"families": [family], "maxTokens": 100}
    return document("Agent", family, {"model": model, "maxTurns": TURNS, "perRunMaxCostUSD": "100.00"})


def _group(name: str, environment: str, agent: str, cases: int, seed: int) -> Mapping[str, object]:
    evaluation = {"environment": environment, "tasks": cases, "seed": seed}
    return document("AgentGroup", name, {"agent": agent, "maxActive": cases, "maxCostUSD": "10000.00", "evaluation": evaluation})


async def _until(backend: Backend, reached: Callable[[], bool]) -> None:
    """Return once that is so; it is asked after every batch of events."""
    watch = backend.watch(after=(await backend.snapshot()).cursor)
    try:
        while not reached():
            await anext(watch)
    finally:
        if isinstance(watch, AsyncGenerator):
            await watch.aclose()


async def _apply(backend: Backend, documents: Sequence[Mapping[str, object]], folder: Path | None) -> None:
    text = "\n---\n".join(json.dumps(each) for each in documents)
    await backend.apply(load_specs([SpecSource("benchmark.yaml", text.encode(), folder)]))
