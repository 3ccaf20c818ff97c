"""What the routes answer over a real backend: every call of the contract, faults all in one answer, and a repeated POST that acts once."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from api_place import YAML, ApiPlace, agent, document, environment, group, over_socket, yaml

from local_backend.daemon.server import Served
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.errors import ErrorCode, Problem
from nodus_tui.contract.events import Snapshot
from nodus_tui.contract.http import BUNDLE_TYPE, IDEMPOTENCY_HEADER, PROBLEM_TYPE, VERSION_HEADER
from nodus_tui.contract.outcomes import ActionOutcome, ApplyOutcome
from nodus_tui.contract.resources.agent_run import Transcript
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.results import GroupResults
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs, read_specs
from nodus_tui.contract.spec_loading.packing import pack_bundle

BUNDLE = {"Content-Type": BUNDLE_TYPE}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def parts(place: ApiPlace) -> AsyncIterator[tuple[Backend, Served, httpx2.AsyncClient]]:
    """A backend, its server, and a client on the unix socket."""
    async with place.backend() as backend, place.serving(backend) as served, over_socket(served) as client:
        yield backend, served, client


Parts = tuple[Backend, Served, httpx2.AsyncClient]


def _problem(response: httpx2.Response, status: int, code: ErrorCode) -> Problem:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM_TYPE
    problem = Problem.model_validate_json(response.content)
    assert (problem.status, problem.code) == (status, code)
    return problem


async def _completed(backend: Backend, name: str = "campaign") -> None:
    async for _ in backend.watch(after=0):
        found = await backend.get("AgentGroup", name)
        if found.to_document()["status"]["phase"] == "Completed":  # type: ignore[index,call-overload]
            return


async def test_every_answer_is_what_the_backend_says(parts: Parts) -> None:
    backend, _, client = parts
    applied = await client.post("/v1/apply", content=yaml(agent(), group()), headers=YAML)
    assert [each.outcome for each in ApplyOutcome.model_validate_json(applied.content).documents] == ["created", "created"]
    assert applied.headers[VERSION_HEADER]
    await _completed(backend)
    assert BackendInfo.model_validate_json((await client.get("/v1/info")).content) == await backend.info()
    assert (await client.get("/v1/resources/AgentGroup/campaign")).json() == (await backend.get("AgentGroup", "campaign")).to_document()
    assert GroupResults.model_validate_json((await client.get("/v1/groups/campaign/results")).content) == await backend.results("campaign")
    whole = Snapshot.model_validate_json((await client.get("/v1/snapshot?runsOf=")).content)
    assert whole == await backend.snapshot(runs_of="")
    assert Snapshot.model_validate_json((await client.get("/v1/snapshot")).content) == await backend.snapshot()
    assert (await client.get("/v1/snapshot?runsOf=campaign")).json()["runs"] == [run.to_document() for run in whole.runs]
    run = whole.runs[0].name
    assert Transcript.model_validate_json((await client.get(f"/v1/runs/{run}/transcript")).content) == await backend.transcript(run)
    first = (await client.get("/v1/resources/AgentRun", params={"group": "campaign", "limit": 2})).json()
    second = (await client.get("/v1/resources/AgentRun", params={"limit": 2, "after": first["nextAfter"], "currentOnly": "false"})).json()
    assert [each["metadata"]["name"] for each in first["items"] + second["items"]] == [each.name for each in whole.runs]
    assert second["nextAfter"] == ""
    estimated = await client.post("/v1/estimate?minutesPerCase=2.5", content=yaml(agent(), group()), headers=YAML)
    assert [(each["group"], each["sandboxMinutes"]) for each in estimated.json()["estimates"]] == [("campaign", 7.5)]
    assert (await client.post("/v1/stop-work?graceSeconds=0")).status_code == 204


async def test_all_faults_of_a_yaml_body_come_in_one_answer(parts: Parts) -> None:
    _, _, client = parts
    text = b"apiVersion: nodus.dev/v1\nkind: Agent\nmetadata: {name: a}\nspec: {sistem: x}\n---\n" + yaml(
        document("AgentGroup", "g", {"agent": "nobody", "maxActive": 0, "maxCostUSD": "1.00", "inputs": ["x"]})
    )
    for query in ("", "?dryRun=true"):
        problem = _problem(await client.post(f"/v1/apply{query}", content=text, headers=YAML), 422, ErrorCode.INVALID_SPEC)
        paths = [fault.path for fault in problem.faults]
        assert "spec.sistem" in paths
        assert "spec.maxActive" in paths
        assert "spec.agent" in paths
        assert all(fault.file == "<request>" and fault.line for fault in problem.faults)
    assert (await client.get("/v1/resources/Agent")).json()["items"] == []


async def test_a_packed_bundle_keeps_the_clients_files_and_lines(parts: Parts, place: ApiPlace) -> None:
    _, _, client = parts
    sources = [
        SpecSource("one.yaml", b"# a remark\n" + yaml(agent()), place.folder),
        SpecSource("two.yaml", yaml(environment("none.jsonl")), None),
    ]
    problem = _problem(
        await client.post("/v1/apply", content=pack_bundle(load_specs(sources)), headers=BUNDLE), 422, ErrorCode.INVALID_SPEC
    )
    assert [(fault.file, fault.line, fault.path) for fault in problem.faults] == [("two.yaml", 1, "spec.file")]
    mended = read_specs([SpecSource("x.yaml", yaml({**agent(), "spec": {"sistem": "x"}}))]).bundle
    packed = pack_bundle(mended)
    _problem(await client.post("/v1/apply", content=packed, headers=BUNDLE), 422, ErrorCode.INVALID_SPEC)
    assert (await client.post("/v1/apply?dryRun=true", content=packed, headers=BUNDLE)).status_code in {200, 422}
    twice = json.loads(pack_bundle(load_specs([SpecSource("x.yaml", yaml(agent()))])))
    twice["documents"] *= 2
    problem = _problem(await client.post("/v1/apply", content=json.dumps(twice), headers=BUNDLE), 422, ErrorCode.INVALID_SPEC)
    assert "twice" in problem.faults[0].message


def _packed(**changes: Any) -> str:
    packed = json.loads(pack_bundle(load_specs([SpecSource("x.yaml", yaml(agent()))])))
    packed["documents"][0] |= changes
    return json.dumps(packed)


NO_BUNDLES = [
    b"",
    b"null",
    b"[]",
    b"\xff\xfe",
    b'{"documents": 1}',
    b'{"documents": [{}], "checkingOnly": false, "unread": []}',
    b"[" * 100_000,
    _packed(file="\ud800").encode(),
    _packed(folder="\0").encode(),
    _packed(folder=7).encode(),
    _packed(index=1e400).encode(),
    _packed(index="x").encode(),
    _packed(positions=[[["spec"], 1e400, 1]]).encode(),
    _packed(positions=[[[["spec"]], 1, 1]]).encode(),
    _packed(document={"kind": ["Agent"]}).encode(),
    _packed(document={"kind": "Nothing"}).encode(),
    _packed(standIns=[["spec", None]]).encode(),
]


async def test_a_body_that_is_no_bundle_is_refused_and_breaks_nothing(parts: Parts) -> None:
    _, _, client = parts
    for body in NO_BUNDLES:
        for path in ("/v1/apply", "/v1/apply?dryRun=true", "/v1/estimate"):
            response = await client.post(path, content=body, headers=BUNDLE)
            assert response.status_code in {200, 422}, (body[:200], response.text)


NO_ACTIONS = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'{"action": "explode"}',
    b'{"action": "kill", "kind": "AgentGroup"}',
    b'{"action": "kill", "kind": "Agent", "name": "x"}',
    b'{"action": "kill", "kind": "AgentGroup", "name": "\\ud800"}',
    b'{"action": "kill", "kind": "AgentGroup", "name": "x", "extra": 1}',
    b'{"action": "extendCap", "kind": "AgentGroup", "name": "x", "capUSD": 1.5}',
    b'{"action": "extendCap", "kind": "AgentGroup", "name": "x", "capUSD": "NaN"}',
    b"[" * 100_000,
    b"\xff\xfe",
]


async def test_an_action_that_is_none_is_refused_with_its_faults(parts: Parts) -> None:
    _, _, client = parts
    for body in NO_ACTIONS:
        problem = _problem(await client.post("/v1/actions", content=body, headers=JSON), 422, ErrorCode.INVALID_REQUEST)
        assert problem.faults
        assert problem.detail


async def test_what_does_not_exist_and_what_does_not_fit_is_refused_by_the_backends_own_codes(parts: Parts) -> None:
    _, _, client = parts
    for path in ("/v1/resources/Agent/none", "/v1/groups/none/results", "/v1/runs/none/transcript", "/v1/resources/AgentRun?group=none"):
        _problem(await client.get(path), 404, ErrorCode.NOT_FOUND)
    kill = {"action": "kill", "kind": "AgentGroup", "name": "none"}
    _problem(await client.post("/v1/actions", json=kill), 404, ErrorCode.NOT_FOUND)
    job = document("Job", "j", {"command": ["true"], "hardware": "Abacus", "maxCostUSD": "1.00"})
    _problem(await client.post("/v1/apply", content=yaml(job), headers=YAML), 501, ErrorCode.NOT_SUPPORTED)
    _problem(await client.post("/v1/apply", content=b"x", headers={"Content-Type": "text/plain"}), 415, ErrorCode.INVALID_REQUEST)
    _problem(await client.post("/v1/apply", content=b"x"), 415, ErrorCode.INVALID_REQUEST)
    _problem(await client.post("/v1/actions", content=b"{}", headers=YAML), 415, ErrorCode.INVALID_REQUEST)
    _problem(await client.get("/v1/nothing"), 404, ErrorCode.NOT_FOUND)
    refused = await client.post("/v1/info")
    _problem(refused, 405, ErrorCode.INVALID_REQUEST)
    assert refused.headers["allow"] == "GET"


async def test_new_work_under_a_budget_that_blocks_is_402_and_nothing_of_its_spec_is_applied(parts: Parts) -> None:
    backend, _, client = parts
    budget = document("Budget", "month", {"limitUSD": "0.000000001", "period": "Monthly"})
    # The first is the one that meets the limit.
    assert (await client.post("/v1/apply", content=yaml(budget, agent(), group("first")), headers=YAML)).status_code == 200
    async for _ in backend.watch(after=0):
        found = await backend.get("Budget", "month")
        assert isinstance(found, Budget)
        if found.status is not None and found.status.blocking:
            break
    job = document("Job", "second", {"command": ["true"], "maxCostUSD": "1.00"})
    for documents in ((agent("another"), group("second")), (agent("another"), job)):
        problem = _problem(await client.post("/v1/apply", content=yaml(*documents), headers=YAML), 402, ErrorCode.BUDGET_EXCEEDED)
        assert "budget month" in problem.detail
    listed = {kind: (await client.get(f"/v1/resources/{kind}")).json()["items"] for kind in ("Agent", "AgentGroup", "Job")}
    assert {kind: [each["metadata"]["name"] for each in items] for kind, items in listed.items()} == {
        "Agent": ["worker"],
        "AgentGroup": ["first"],
        "Job": [],
    }


BAD_PARAMETERS = [
    ("/v1/apply?dryrun=true", "dryRun"),
    ("/v1/apply?dryRun=true&dryRun=false", "stands twice"),
    ("/v1/apply?dryRun=perhaps", "query.dryRun"),
    ("/v1/stop-work?graceSeconds=nan", "query.graceSeconds"),
    ("/v1/stop-work?graceSeconds=-1", "query.graceSeconds"),
    ("/v1/stop-work?graceSeconds=1e999", "query.graceSeconds"),
    ("/v1/estimate?minutesPerCase=0", "query.minutesPerCase"),
    ("/v1/estimate?minutesPerCase=NaN", "query.minutesPerCase"),
    ("/v1/estimate?minutesPerCase=1e1000000", "query.minutesPerCase"),
]


async def test_a_parameter_that_is_misspelt_or_out_of_bounds_is_refused_before_anything_is_done(parts: Parts) -> None:
    _, _, client = parts
    for path, fault in BAD_PARAMETERS:
        problem = _problem(await client.post(path, content=yaml(agent()), headers=YAML), 422, ErrorCode.INVALID_REQUEST)
        assert fault in problem.detail
        assert (await client.get("/v1/resources/Agent")).json()["items"] == []


async def test_a_repeated_apply_acts_once_and_gives_the_first_answer_again(parts: Parts) -> None:
    _, _, client = parts
    key = {IDEMPOTENCY_HEADER: "first"}
    answers = await asyncio.gather(*(client.post("/v1/apply", content=yaml(agent(), group()), headers={**YAML, **key}) for _ in range(5)))
    assert {each.status_code for each in answers} == {200}
    assert len({each.content for each in answers}) == 1
    assert [each["outcome"] for each in answers[0].json()["documents"]] == ["created", "created"]
    again = await client.post("/v1/apply", content=yaml(agent(), group()), headers=YAML)
    assert [each["outcome"] for each in again.json()["documents"]] == ["unchanged", "unchanged"]
    other = await client.post("/v1/apply", content=yaml(agent("another")), headers={**YAML, **key})
    assert "used for another request" in _problem(other, 409, ErrorCode.CONFLICT).detail
    assert (await client.get("/v1/resources/Agent/another")).status_code == 404


async def test_applies_at_the_same_time_do_not_get_in_each_others_way(parts: Parts) -> None:
    _, _, client = parts
    answers = await asyncio.gather(*(client.post("/v1/apply", content=yaml(agent(), group()), headers=YAML) for _ in range(8)))
    assert [each.status_code for each in answers] == [200] * 8
    outcomes = [document["outcome"] for each in answers for document in each.json()["documents"]]
    assert sorted(outcomes) == ["created"] * 2 + ["unchanged"] * 14


async def test_a_repeated_action_acts_once_and_gives_the_first_answer_again(parts: Parts) -> None:
    backend, _, client = parts
    await client.post("/v1/apply", content=yaml(agent(), group()), headers=YAML)
    await _completed(backend)
    delete = {"action": "delete", "kind": "AgentGroup", "name": "campaign"}
    key = {IDEMPOTENCY_HEADER: "the-key"}
    answers = await asyncio.gather(*(client.post("/v1/actions", json=delete, headers=key) for _ in range(5)))
    answers.append(await client.post("/v1/actions", json={**delete, "requestId": "the-key"}))
    assert len({each.content for each in answers}) == 1
    assert ActionOutcome.model_validate_json(answers[0].content).changed
    _problem(await client.post("/v1/actions", json=delete), 404, ErrorCode.NOT_FOUND)
    another = {"action": "delete", "kind": "Agent", "name": "worker"}
    _problem(await client.post("/v1/actions", json=another, headers=key), 409, ErrorCode.CONFLICT)
    differing = await client.post("/v1/actions", json={**another, "requestId": "another"}, headers=key)
    _problem(differing, 400, ErrorCode.INVALID_REQUEST)
    for no_key in ("x" * 201, "two words", "\u00e9"):
        refused = await client.post("/v1/actions", json=another, headers=httpx2.Headers({IDEMPOTENCY_HEADER: no_key}, encoding="latin-1"))
        _problem(refused, 422, ErrorCode.INVALID_REQUEST)
    assert (await client.get("/v1/resources/Agent/worker")).status_code == 200
