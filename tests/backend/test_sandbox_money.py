"""What grading sandboxes are charged: from when there is one, to when there cannot be one any more."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from datetime import timedelta

import pytest
from agents_at_work import launch
from aiohttp import web
from engine_place import Place, agent, at_rest, environment, group, runs
from model_server import ModelServer, Seen, reply

from local_backend.environments.interface import Grade
from local_backend.grading import client
from local_backend.storage.records import SandboxUse
from nodus_tui.contract.actions import Kill

pytestmark = pytest.mark.timeout(60)


async def test_an_answer_that_waits_for_a_grading_sandbox_pays_for_none(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "default_places", lambda: 1)
    place.tasks(
        [{"id": f"t{n}", "prompt": "write", "tests": {"test_it.py": "def test_it(solution): pass\n"}} for n in range(4)], "code.jsonl"
    )

    async def slow(seen: Seen) -> web.Response:
        return reply("```python\nimport time\ntime.sleep(60)\n```")

    server.answer = slow
    grader = {"type": "pytest", "solution": "completion", "timeout": "2m"}
    async with place.backend() as backend:
        await launch(place, backend, environment(grader, file="code.jsonl"), agent(), group(tasks=4))
        while not [each for each in await runs(backend) if each.status is not None and each.status.phase == "Grading"] or not any(
            "grading_at" in text for text in uses(place)
        ):
            await asyncio.sleep(0.02)
        await backend.act(Kill(kind="AgentGroup", name="campaign"))
        await at_rest(backend)
    charged = [use for text in uses(place) if (use := json.loads(text) if text else {}).get("cost")]
    assert len(charged) == 1
    assert not any("grading_at" in text for text in uses(place))


async def test_the_time_of_a_grading_whose_process_broke_is_charged(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grader is a stand-in: its process breaks after it has told that a sandbox is made."""

    async def broke(*_: object, began: Callable[[float], None], **__: object) -> Grade:
        began(30.0)
        return client._failed("it broke")

    monkeypatch.setattr(client.GradingWorker, "grade", broke)
    place.tasks([{"id": "t0", "prompt": "write", "tests": {"test_it.py": "def test_it(solution): pass\n"}}], "code.jsonl")
    async with place.backend() as backend:
        await launch(place, backend, environment({"type": "pytest", "solution": "completion"}, file="code.jsonl"), agent(), group(tasks=1))
        await at_rest(backend)
    (use,) = map(json.loads, uses(place))
    assert use["cost"] > 0
    assert "grading_at" not in use


def uses(place: Place) -> list[str]:
    """The runs' books of sandboxes as they are on the disk."""
    database = sqlite3.connect(place.home / "nodus.db")
    try:
        return [text for (text,) in database.execute("SELECT sandbox FROM runs")]
    finally:
        database.close()


def test_a_grading_sandbox_is_charged_no_longer_than_it_can_have_lived(place: Place) -> None:
    now = place.clock()
    use = SandboxUse(grading_rate=3_600_000_000, grading_at=now - timedelta(hours=60), grading_lifetime=30)
    use.grading_stopped(now)
    assert (use.grading_at, use.settled_seconds, use.cost) == (None, 30, 30_000_000)
    use.grading_stopped(now)
    assert use.cost == 30_000_000


def test_grading_costs_the_rate_of_a_sandbox_without_devices(place: Place) -> None:
    now = place.clock()
    use = SandboxUse(hardware="H100", rate=7_200_000_000, grading_rate=0, started_at=now - timedelta(seconds=1), running=True)
    use.charge_grading(60)
    assert SandboxUse.from_text(use.to_text()) == use
    assert use.cost == 0
    use.stopped(now)
    assert use.cost == 2_000_000


def test_books_of_the_time_before_gradings_had_a_rate_of_their_own_go_on_at_their_rate() -> None:
    assert SandboxUse.from_text('{"rate": 7}').grading_rate == 7


def test_what_was_measured_counts_where_it_is_less_than_the_rate(place: Place) -> None:
    now = place.clock()
    for measured, cost in ((500, 500), (9_000_000, 1_000_000)):
        use = SandboxUse(rate=3_600_000_000, started_at=now - timedelta(seconds=1), running=True)
        use.stopped(now, measured)
        assert use.cost == cost
