"""Runs whose sandboxes are made by a real Docker engine: from spec to verdict, and when the engine hangs or goes away under them."""

import asyncio
import os
from functools import partial
from pathlib import Path

import pytest
from agents_at_work import content, launch, nothing_left, plays, results_of, worker
from aiohttp import web
from docker_engines import line_to_user_engine, user_engine
from engine_place import Place, at_rest, environment, group, run_status
from model_server import ModelServer, Seen, asks

from local_backend import sandboxing
from local_backend.backend import LocalBackend
from local_backend.sandboxes.choosing import choose_engine
from local_backend.sandboxes.docker.engine import DockerEngine, connect_docker
from nodus_tui.contract.actions import Retry
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase

pytestmark = pytest.mark.timeout(110)

PATIENT, DEADLINE = 20, 3
"""Seconds that the engine has for an answer, in place of a minute: while all is well, and when it fails."""


async def test_an_agent_works_in_a_container_and_is_graded(place: Place, server: ModelServer) -> None:
    plays(server, [asks(("bash", {"command": "id -u; echo made > made.txt"})), asks(("submit", {"answer": "1"}))])
    async with user_engine():
        place.environ = dict(os.environ)
    place.sandboxes = {"engine": "docker"}
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=4, max_active=2))
        found = await at_rest(backend)
        told = await run_status(backend, "campaign-c001")
        transcript = await backend.transcript("campaign-c001")
        made = await content(backend, "campaign-c001", "made.txt")
        assert await nothing_left(backend)
    assert (found.phase, found.coverage.scored) == (GroupPhase.COMPLETED, 4)
    assert told.sandbox is not None
    assert (told.sandbox.engine, told.sandbox.running) == ("docker", False)
    assert results_of(transcript)[0].splitlines()[0] == "1000"
    assert made == b"made\n"


async def answers_within(backend: LocalBackend, seconds: float) -> None:
    """The engine has so long for an answer from now on."""
    engine = await backend.desk.pool.engine()
    assert isinstance(engine, DockerEngine)
    engine.client.deadline = seconds


@pytest.mark.parametrize("how", ["hangs", "goes away"])
async def test_an_engine_that_fails_under_a_run_is_an_infrastructure_failure(
    how: str, place: Place, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = {"docker": partial(connect_docker, deadline=PATIENT)}
    monkeypatch.setattr(sandboxing, "choose_engine", partial(choose_engine, connect=connect))
    async with line_to_user_engine(tmp_path) as line:
        failing = asyncio.Event()

        async def second(seen: Seen) -> web.Response:
            if not failing.is_set():
                failing.set()
                await answers_within(backend, DEADLINE)
                line.hold_up()
                if how == "goes away":
                    line.cut()
            return asks(("bash", {"command": "cat work.txt"}))

        plays(server, [asks(("bash", {"command": "echo x > work.txt"})), second, asks(("submit", {"answer": "1"}))])
        place.environ = {**os.environ, "DOCKER_HOST": line.host}
        place.sandboxes = {"engine": "docker"}
        async with place.backend() as backend:
            await launch(place, backend, environment(), worker(), group(tasks=1))
            await failing.wait()
            asked = 0
            while not (await run_status(backend, "campaign-c001")).phase.ended:
                asked += 1  # The scheduler answers all the while.
                await asyncio.sleep(0.02)
            told = await run_status(backend, "campaign-c001")
            assert asked > 10, "nobody was kept waiting for as long as the engine was"
            assert (told.phase, told.reason, told.verdict) == (RunPhase.FAILED, Reason.INFRASTRUCTURE_FAILURE, None)
            await answers_within(backend, PATIENT)
            line.let_go()
            await backend.act(Retry(group="campaign"))
            assert (await at_rest(backend)).coverage.scored == 1
        async with place.backend("look") as backend:
            assert await nothing_left(backend)
