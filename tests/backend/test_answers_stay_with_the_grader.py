"""The expected answer enters no database, transcript, event, log, nor any answer of the backend: a canary is searched for everywhere."""

import json
import logging
from decimal import Decimal

import pytest
from engine_place import Place, agent, at_rest, environment, group, runs
from model_server import ModelServer, Seen, reply

from nodus_tui.contract.actions import Retry
from nodus_tui.contract.backend import Query
from nodus_tui.contract.errors import NodusError

pytestmark = pytest.mark.timeout(60)

CANARY = "zanzibar-7741-heron"

GRADERS = {
    "exact": ({"type": "exact"}, f"the {CANARY}"),
    "regex": ({"type": "regex"}, f"{CANARY}|x"),
    "json": ({"type": "json"}, json.dumps({"secret": CANARY})),
}


@pytest.mark.parametrize("name", GRADERS)
@pytest.mark.parametrize("family", ["own", "sim"])
async def test_no_canary_anywhere(place: Place, server: ModelServer, caplog: pytest.LogCaptureFixture, name: str, family: str) -> None:
    caplog.set_level(logging.DEBUG)
    grader, answer = GRADERS[name]
    place.tasks([{"id": f"t{n}", "prompt": f"question {n}", "answer": answer, "metadata": {"n": n}} for n in range(4)])

    async def wrong(_: Seen) -> object:
        return reply("certainly not it")

    server.answer = wrong  # type: ignore[assignment]
    told: list[str] = []
    async with place.backend() as backend:
        documents = (environment(grader), agent(family), group(tasks=4, repetitions=2))
        told.append((await backend.apply(place.specs(*documents))).model_dump_json())
        await at_rest(backend)
        told.append((await backend.act(Retry(group="campaign"))).model_dump_json())
        told.append((await backend.results("campaign")).model_dump_json())
        told.append((await backend.snapshot(runs_of="")).model_dump_json())
        told.append((await backend.info()).model_dump_json())
        told += [item.model_dump_json() for item in await backend.estimate(place.specs(*documents), minutes_per_case=Decimal(1))]
        for kind in ("Agent", "AgentGroup", "AgentRun", "Environment"):
            told += [item.model_dump_json() for item in (await backend.list(kind, Query(current_only=False))).items]
        for run in await runs(backend, current_only=False):
            told.append((await backend.transcript(run.name)).model_dump_json())
        last = (await backend.snapshot()).cursor
        async for batch in backend.watch(after=0):
            told.append(batch.model_dump_json())
            if batch.cursor >= last:
                break
        place.tasks([{"id": "t1", "prompt": "q"}])
        with pytest.raises(NodusError) as refused:
            await backend.apply(place.specs(environment(grader, version="2")))
        told.append(refused.value.problem().model_dump_json())
        stored = b"".join(path.read_bytes() for path in place.home.iterdir())
    assert len(told) > 20
    assert CANARY not in "\n".join(told)
    assert CANARY.encode() not in stored
    assert CANARY not in caplog.text
    assert all(CANARY not in json.dumps(each.body) for each in server.seen)
