"""The scheduler is killed with SIGKILL in the middle of sweeps: every cell is made once, no cap is passed, the next one goes on."""

import asyncio
import json
import random
import sqlite3
import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from engine_place import Place, agent, environment
from model_server import ModelServer, Seen, reply, solve
from sweep_work import group_sweep, job_sweep, sweep_in

from nodus_tui.contract.money import nano_from_usd
from nodus_tui.contract.resources.job import Job

pytestmark = pytest.mark.timeout(120)

CHILD = Path(__file__).with_name("sweep_child.py")


async def life(place: Place, spec: Path, until: "asyncio.Event") -> None:
    """One scheduler process from its start to its death by SIGKILL."""
    (place.folder / "config.yaml").write_text(place.configuration, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(CHILD), str(place.home), str(place.folder / "config.yaml"), str(spec), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"applied\n"
    await until.wait()
    process.kill()
    await process.wait()


def rows(place: Place, sql: str) -> list[sqlite3.Row]:
    with closing(sqlite3.connect(place.home / "nodus.db")) as connection:
        connection.row_factory = sqlite3.Row
        return connection.execute(sql).fetchall()


def check(place: Place, cap: str) -> None:
    """What must hold on the disk after any kill: a cell is marked as launched exactly when its group stands there, and no cap is passed."""
    launched = {row["name"] for row in rows(place, "SELECT name FROM sweep_cells WHERE launched")}
    assert launched == {row["name"] for row in rows(place, "SELECT name FROM groups UNION SELECT name FROM jobs")}
    spent = rows(place, "SELECT coalesce(sum(spent + in_flight), 0) AS nano FROM runs")[0]["nano"]
    assert spent <= nano_from_usd(Decimal(cap))
    going = rows(place, "SELECT coalesce(sum(cap), 0) AS nano FROM sweep_cells WHERE state = 'Going'")[0]["nano"]
    rest = rows(
        place,
        "SELECT coalesce(sum(runs.spent), 0) AS nano FROM runs JOIN sweep_cells ON sweep_cells.name = runs.group_name "
        "WHERE sweep_cells.state != 'Going'",
    )[0]["nano"]
    assert going + rest <= nano_from_usd(Decimal(cap))


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_sweep_of_groups_comes_through_the_deaths_of_its_schedulers(place: Place, server: ModelServer, seed: int) -> None:
    chance = random.Random(seed)
    dead = asyncio.Event()
    goal = 0

    async def answer(seen: Seen) -> object:
        if seen.number >= goal:
            dead.set()
        return reply(solve(seen.last_user_text))

    server.answer = answer  # type: ignore[assignment]
    # Room for three of eight cells at once, and for all of them one after the other.
    sweep = group_sweep(shards=4, agents=["worker", "other"], tasks=5, parallel=3, cap="1.70", cell_cap="0.50")
    documents = [environment(), agent(cap="0.10"), agent(name="other", cap="0.10"), sweep]
    spec = place.folder / "spec.yaml"
    spec.write_text("\n---\n".join(map(json.dumps, documents)))
    for _ in range(3):
        goal, dead = len(server.seen) + chance.randint(1, 8), asyncio.Event()
        await life(place, spec, dead)
        check(place, "1.70")
    async with place.backend() as backend:
        done = await sweep_in(backend, "Completed")
        results = await backend.sweep_results("grid")
    check(place, "1.70")
    assert (done.ended, done.failed, done.reserved_usd) == (8, 0, Decimal("0.00"))
    assert [pool.rate.coverage.scored for pool in results.pooled] == [20, 20]
    assert all(len(pool.tasks) == 20 for pool in results.pooled)
    assert len(rows(place, "SELECT 1 FROM runs WHERE attempt = 1")) == 40


async def test_jobs_of_a_sweep_go_on_without_a_scheduler_and_the_next_one_starts_the_rest(place: Place) -> None:
    mark = place.folder / "ran"
    mark.mkdir()
    script = f"import os, pathlib; pathlib.Path({str(mark)!r}, os.environ['NODUS_JOB'] + '-' + str(os.getpid())).touch()"
    spec = place.folder / "spec.yaml"
    spec.write_text(json.dumps(job_sweep(script, repetitions=6, parallel=2)))
    dead = asyncio.Event()

    async def first_is_through() -> None:
        while not list(mark.iterdir()):
            await asyncio.sleep(0.01)
        dead.set()

    looking = asyncio.ensure_future(first_is_through())
    await life(place, spec, dead)
    await looking
    async with place.backend() as backend:
        done = await sweep_in(backend, "Completed")
        jobs = [each for each in (await backend.list("Job")).items if isinstance(each, Job)]
    assert (done.ended, done.failed) == (6, 0)
    assert sorted(path.name.rpartition("-")[0] for path in mark.iterdir()) == [f"grid-{number}" for number in range(1, 7)]
    assert done.cost_usd == sum((each.status.cost_usd for each in jobs if each.status), Decimal(0))


async def test_a_scheduler_that_dies_again_and_again_amid_the_starts_of_cells_starts_each_once(place: Place) -> None:
    """Killed as soon as one cell more stands on the disk, while the others are being started."""
    mark = place.folder / "ran"
    mark.mkdir()
    script = f"import os, pathlib; pathlib.Path({str(mark)!r}, os.environ['NODUS_JOB'] + '-' + str(os.getpid())).touch()"
    spec = place.folder / "spec.yaml"
    spec.write_text(json.dumps(job_sweep(script, repetitions=8, parallel=8)))

    async def launched(more_than: int, dead: asyncio.Event) -> None:
        while await asyncio.to_thread(_launched, place) <= more_than:
            await asyncio.sleep(0.001)
        dead.set()

    for _ in range(3):
        dead = asyncio.Event()
        before = await asyncio.to_thread(_launched, place)
        if before == 8:
            break
        looking = asyncio.ensure_future(launched(before, dead))
        await life(place, spec, dead)
        await looking
        check(place, "100")
    async with place.backend() as backend:
        done = await sweep_in(backend, "Completed")
        jobs = [each for each in (await backend.list("Job")).items if isinstance(each, Job)]
    assert (done.ended, done.failed, len(jobs)) == (8, 0, 8)
    assert sorted(path.name.rpartition("-")[0] for path in mark.iterdir()) == [f"grid-{number}" for number in range(1, 9)]
    assert done.cost_usd == sum((each.status.cost_usd for each in jobs if each.status), Decimal(0))


def _launched(place: Place) -> int:
    """Cells that stand on the disk as launched."""
    if not (place.home / "nodus.db").exists():
        return 0
    try:
        return len(rows(place, "SELECT 1 FROM sweep_cells WHERE launched"))
    except sqlite3.OperationalError:  # The tables are being made.
        return 0
