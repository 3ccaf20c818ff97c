"""A model server that misbehaves is an infrastructure failure of that run, charged its worst case when the outcome is unknown."""

import asyncio
import json

import pytest
from aiohttp import web
from engine_place import Place, agent, at_rest, environment, group, run_status
from model_server import ModelServer, Seen, reply

from nodus_tui.contract.phases import CallState, CaseState, Reason, RunPhase

pytestmark = pytest.mark.timeout(30)


async def _garbage(_: Seen) -> web.StreamResponse:
    return web.Response(body=b"\x00\xff<html>not json", content_type="application/json")


async def _no_usage(_: Seen) -> web.StreamResponse:
    body = json.loads(reply("1").text or "")
    del body["usage"]
    return web.json_response(body)


async def _no_choices(_: Seen) -> web.StreamResponse:
    return web.json_response({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})


async def _negative_usage(_: Seen) -> web.StreamResponse:
    return reply("1", usage={"prompt_tokens": -5, "completion_tokens": 1})


async def _counts_nothing(_: Seen) -> web.StreamResponse:
    return reply("1", usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})


UNKNOWN_OUTCOMES = {
    "counts nothing": _counts_nothing,
    "garbage": _garbage,
    "no usage": _no_usage,
    "no choices": _no_choices,
    "negative usage": _negative_usage,
}


@pytest.mark.parametrize("answer", UNKNOWN_OUTCOMES.values(), ids=UNKNOWN_OUTCOMES.keys())
async def test_an_unusable_reply_is_charged_its_worst_case_and_never_a_verdict(place: Place, server: ModelServer, answer: object) -> None:
    server.answer = answer  # type: ignore[assignment]
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(), group(tasks=2)))
        found = await at_rest(backend)
        results = await backend.results("campaign")
        first = await run_status(backend, "campaign-c001")
        transcript = await backend.transcript("campaign-c001")
    assert found.verdicts == {"InfrastructureFailure": 2}
    assert results.pass_rate is None
    assert {item.state for item in results.results} == {CaseState.UNSCORED}
    assert {item.verdict for item in results.results} == {None}
    assert {item.reason for item in results.results} == {Reason.INFRASTRUCTURE_FAILURE}
    assert first.phase is RunPhase.FAILED
    assert first.cost_usd == first.unconfirmed_usd == transcript.calls[0].reserved_usd > 0
    assert transcript.calls[0].state == CallState.UNCONFIRMED
    assert results.cost.unconfirmed_usd == results.cost.model_usd
    assert len(server.seen) == 2, "what may have been paid is not repeated by itself"


async def test_a_connection_that_closes_before_the_answer_is_charged_its_worst_case(place: Place) -> None:
    """A raw socket server of our own: it reads the request and hangs up."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{")
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    place.base_url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    async with listener, place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(), group(tasks=1)))
        found = await at_rest(backend)
        first = await run_status(backend, "campaign-c001")
    assert found.verdicts == {"InfrastructureFailure": 1}
    assert first.unconfirmed_usd == first.cost_usd > 0


async def test_a_server_that_is_not_there_costs_nothing_and_every_try_is_on_record(place: Place) -> None:
    place.base_url = "http://127.0.0.1:9/v1"
    place.max_tries = 2
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(), group(tasks=1)))
        found = await at_rest(backend)
        transcript = await backend.transcript("campaign-c001")
        results = await backend.results("campaign")
    assert found.verdicts == {"InfrastructureFailure": 1}
    assert results.cost.model_usd == 0
    assert [call.attempt for call in transcript.calls] == [1, 2]
    assert {call.state for call in transcript.calls} == {CallState.RELEASED}


async def test_a_rate_limited_call_waits_visibly_and_is_tried_again(place: Place, server: ModelServer) -> None:
    let_go = asyncio.Event()

    async def limited(seen: Seen) -> web.StreamResponse:
        if seen.number == 1:
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"retry-after": "0.2"})
        await let_go.wait()
        return reply("1")

    server.answer = limited
    place.tasks([{"id": "one", "prompt": "say 1", "answer": "1"}])
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(), group(tasks=1)))
        await server.until_seen(2)
        let_go.set()
        await at_rest(backend)
        transcript = await backend.transcript("campaign-c001")
    assert [call.state for call in transcript.calls] == [CallState.RELEASED, CallState.SETTLED]
    assert "slow down" in transcript.calls[0].error
    assert len(server.seen) == 2


async def test_a_refusal_that_no_retry_can_mend_ends_the_run_at_once_without_cost(place: Place, server: ModelServer) -> None:
    async def refuse(_: Seen) -> web.StreamResponse:
        return web.json_response({"error": {"message": "no such model \x1b[31m"}}, status=404)

    server.answer = refuse
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(), group(tasks=1)))
        await at_rest(backend)
        first = await run_status(backend, "campaign-c001")
    assert len(server.seen) == 1
    assert first.cost_usd == 0
    assert "no such model" in first.message
    assert "\x1b" not in first.message


async def test_usage_above_the_bound_is_booked_as_reported_and_marked(place: Place, server: ModelServer) -> None:
    async def dear(_: Seen) -> web.StreamResponse:
        return reply("1", usage={"prompt_tokens": 500000, "completion_tokens": 10, "total_tokens": 500010})

    server.answer = dear
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(), group(tasks=1)))
        ended = await at_rest(backend)
        transcript = await backend.transcript("campaign-c001")
        found = await run_status(backend, "campaign-c001")
    assert "1 run was billed above the cap" in ended.message
    assert transcript.calls[0].over_bound
    assert transcript.calls[0].cost_usd == found.cost_usd > transcript.calls[0].reserved_usd
