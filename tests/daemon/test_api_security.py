"""Who does not belong is refused, on real sockets: tokens, roles, hosts, origins, sizes, slowness, and ways out of the workspace."""

import asyncio
import itertools
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from api_place import YAML, ApiPlace, agent, environment, group, over_socket, over_tcp, yaml
from fastapi.routing import iter_route_contexts

from local_backend.daemon.access import AccessPolicy, Limits, Role
from local_backend.daemon.api import create_app
from local_backend.daemon.server import Served
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, Problem
from nodus_tui.contract.http import BUNDLE_TYPE, PROBLEM_TYPE, VERSION_HEADER
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs
from nodus_tui.contract.spec_loading.packing import pack_bundle

HARMLESS = {("POST", "/v1/estimate")}
"""What is no GET and yet open to a viewer. A dry run is the other thing, and has its own test."""


@asynccontextmanager
async def _served(place: ApiPlace, **limits: Any) -> AsyncIterator[tuple[Backend, Served]]:
    async with place.backend() as backend, place.serving(backend, limits=Limits(**limits)) as served:
        yield backend, served


def _problem(response: httpx2.Response, status: int, code: ErrorCode) -> Problem:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM_TYPE
    assert response.headers[VERSION_HEADER]
    problem = Problem.model_validate_json(response.content)
    assert (problem.status, problem.code) == (status, code)
    return problem


def _every_route(backend: Backend) -> list[tuple[str, str]]:
    """Method and path of all that the application answers, hidden routes included."""
    app = create_app(backend, policy=AccessPolicy(identify=lambda _: None))
    found = []
    for route in iter_route_contexts(app.routes):
        assert route.path is not None
        assert route.methods
        path = route.path.replace("{name:path}", "x").replace("{name}", "x").replace("{kind}", "Agent")
        found += [(method, path) for method in sorted(route.methods)]
    assert len(found) > 10
    return found


async def test_without_a_valid_token_no_route_says_anything(place: ApiPlace) -> None:
    revoked = place.token("gone", Role.OPERATOR)
    place.tokens.revoke("gone")
    valid = place.token("here", Role.OPERATOR)
    wrong = {
        "none": {},
        "unknown": {"Authorization": "Bearer nodus_" + "A" * 43},
        "revoked": {"Authorization": f"Bearer {revoked}"},
        "shortened": {"Authorization": f"Bearer {valid[:-1]}"},
        "other scheme": {"Authorization": f"Basic {valid}"},
        "bare": {"Authorization": valid},
    }
    async with _served(place) as (backend, served), over_tcp(served, None) as client:
        for method, path in [*_every_route(backend), ("GET", "/"), ("GET", "/v1/unknown"), ("TRACE", "/v1/info")]:
            for headers in wrong.values():
                response = await client.request(method, path, headers=headers)
                assert response.status_code == 401, (method, path, headers)
                assert response.headers["www-authenticate"].startswith("Bearer")
                if method != "HEAD":
                    problem = _problem(response, 401, ErrorCode.UNAUTHORIZED)
                    assert not any(token in problem.detail for token in (revoked, valid, valid[:-1]))
        in_query = await client.get("/v1/info", params={"access_token": valid})
        _problem(in_query, 401, ErrorCode.UNAUTHORIZED)
        twice = await client.get("/v1/info", headers=[("Authorization", f"Bearer {valid}"), ("Authorization", f"Bearer {valid}")])
        _problem(twice, 401, ErrorCode.UNAUTHORIZED)


async def test_a_revoked_token_is_refused_at_its_next_request(place: ApiPlace) -> None:
    token = place.token("one", Role.VIEWER)
    async with _served(place) as (_, served), over_tcp(served, token) as client:
        assert (await client.get("/v1/info")).status_code == 200
        place.tokens.revoke("one")
        _problem(await client.get("/v1/info"), 401, ErrorCode.UNAUTHORIZED)


async def test_a_viewer_can_look_at_everything_and_act_on_nothing(place: ApiPlace) -> None:
    token = place.token("looker", Role.VIEWER)
    async with _served(place) as (backend, served), over_tcp(served, token) as client:
        acting = [each for each in _every_route(backend) if each[0] not in {"GET", "HEAD"} and each not in HARMLESS]
        assert acting
        for method, path in acting:
            problem = _problem(await client.request(method, path, content=b"{}"), 403, ErrorCode.FORBIDDEN)
            assert "operator" in problem.detail
        for path in ("/v1/sandboxes/box/exec/0/output", "/v1/sandboxes/box/%65xec/0/output?after=0"):
            _problem(await client.get(path), 403, ErrorCode.FORBIDDEN)
        info = await client.get("/v1/info")
        assert info.json()["role"] == "viewer"
        assert (await client.get("/v1/openapi.json")).status_code == 200


async def test_a_viewer_checks_specs_but_changes_nothing(place: ApiPlace) -> None:
    token = place.token("looker", Role.VIEWER)
    specs = yaml(agent(), group())
    async with _served(place) as (_, served), over_tcp(served, token) as client:
        checked = await client.post("/v1/apply?dryRun=true", content=specs, headers=YAML)
        assert [each["outcome"] for each in checked.json()["documents"]] == ["created", "created"]
        assert checked.json()["dryRun"] is True
        for query in (
            "",
            "?dryRun=false",
            "?dryRun=1",
            "?dryRun=true&dryRun=false",
            "?dryRun=true&dryrun=false",
            "?dryRun=true&%64ryRun=0",
        ):
            response = await client.post(f"/v1/apply{query}", content=specs, headers=YAML)
            assert response.status_code in {403, 422}, query
        listed = await client.get("/v1/resources/Agent")
        assert listed.json() == {"items": [], "nextAfter": ""}


async def test_an_operators_name_stands_as_the_author_whatever_the_request_says(place: ApiPlace) -> None:
    token = place.token("night-shift", Role.OPERATOR)
    async with _served(place) as (_, served), over_tcp(served, token) as client:
        applied = await client.post("/v1/apply?author=somebody", content=yaml(agent(), group()), headers=YAML)
        assert applied.status_code == 200
        kill = {"action": "kill", "kind": "AgentGroup", "name": "campaign", "author": "somebody"}
        done = await client.post("/v1/actions", json=kill)
        assert done.json()["author"] == "night-shift"
    async with _served(place) as (_, served), over_socket(served) as client:
        done = await client.post("/v1/actions", json=kill)
        assert done.json()["author"] == "somebody"


async def test_a_foreign_host_is_refused(place: ApiPlace) -> None:
    token = place.token("one", Role.OPERATOR)
    async with _served(place) as (_, served), over_tcp(served, token) as client:
        for host in ("evil.example", "localhost.evil.example:80", "[::2]", ""):
            _problem(await client.get("/v1/info", headers={"Host": host}), 403, ErrorCode.FORBIDDEN)
        assert (await client.get("/v1/info", headers={"Host": f"localhost:{served.port}"})).status_code == 200


async def test_a_web_page_is_refused_on_both_sockets(place: ApiPlace) -> None:
    token = place.token("one", Role.OPERATOR)
    async with _served(place) as (_, served), over_tcp(served, token) as client, over_socket(served) as local:
        for each, origin in itertools.product((client, local), ("https://evil.example", "null", "http://localhost", "")):
            response = await each.get("/v1/info", headers={"Origin": origin})
            _problem(response, 403, ErrorCode.FORBIDDEN)
            assert "access-control-allow-origin" not in response.headers
            preflight = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            _problem(await each.request("OPTIONS", "/v1/actions", headers=preflight), 403, ErrorCode.FORBIDDEN)


async def _counted_chunks(size: int, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"#" * size


async def test_a_body_that_is_too_long_is_refused_with_and_without_its_length(place: ApiPlace) -> None:
    token = place.token("one", Role.OPERATOR)
    async with _served(place, body_bytes=100_000) as (_, served), over_tcp(served, token) as client, over_socket(served) as local:
        for each in (client, local):
            for path in ("/v1/apply", "/v1/actions", "/v1/estimate", "/v1/stop-work"):
                whole = await each.post(path, content=b"#" * 100_001, headers=YAML)
                assert "100,000 bytes" in _problem(whole, 413, ErrorCode.INVALID_REQUEST).detail
                chunked = await each.post(path, content=_counted_chunks(10_000, 30), headers=YAML)
                assert "content-length" not in chunked.request.headers
                _problem(chunked, 413, ErrorCode.INVALID_REQUEST)
            with_a_get = await each.request("GET", "/v1/info", content=b"#" * 100_001)
            _problem(with_a_get, 413, ErrorCode.INVALID_REQUEST)
            just_fits = await each.post("/v1/estimate", content=b"#" * 100_000, headers=YAML)
            assert _problem(just_fits, 422, ErrorCode.INVALID_SPEC).faults


async def _raw(served: Served, sent: bytes) -> bytes:
    """All that the server says to these bytes until it closes; nothing more is sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        writer.write(sent)
        await writer.drain()
        return await reader.read()
    finally:
        writer.close()


async def test_a_length_that_is_a_lie_does_not_hold_a_connection(place: ApiPlace) -> None:
    token = place.token("one", Role.OPERATOR)
    head = f"POST /v1/actions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: %s\r\n\r\n{{"
    async with _served(place, body_seconds=0.2, linger_seconds=0.1) as (_, served):
        slow = await _raw(served, (head % 100).encode())
        assert slow.startswith(b"HTTP/1.1 408 ")
        assert b"did not arrive within 0.2 s" in slow
        huge = await _raw(served, (head % ("9" * 14)).encode())
        assert huge.startswith(b"HTTP/1.1 413 ")
        for no_number in ("-1", "1e9", "9" * 400):
            assert (await _raw(served, (head % no_number).encode())).startswith(b"HTTP/1.1 4")


async def test_a_head_that_never_ends_does_not_hold_a_connection(place: ApiPlace) -> None:
    async with _served(place, header_seconds=0.2) as (_, served):
        assert await _raw(served, b"") == b""
        assert await _raw(served, b"GET /v1/info HTTP/1.1\r\nHost: local") == b""
    async with _served(place) as (_, served):
        endless = await _raw(served, b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000)
        assert endless.startswith(b"HTTP/1.1 400 ")


async def test_more_connections_than_allowed_are_closed_and_the_others_go_on(place: ApiPlace) -> None:
    token = place.token("one", Role.OPERATOR)
    async with _served(place, connections=2) as (_, served), over_tcp(served, token) as client:
        assert (await client.get("/v1/info")).status_code == 200
        held_reader, held = await asyncio.open_connection("127.0.0.1", served.port)
        with pytest.raises(ConnectionError):
            # The third: cut as soon as it is there.
            await _raw_reset(served)
        assert (await client.get("/v1/info")).status_code == 200
        held.close()
        assert await held_reader.read() == b""


async def _raw_reset(served: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        if await reader.read() == b"":
            raise ConnectionResetError
    finally:
        writer.close()


async def test_too_many_requests_of_one_token_are_told_how_long_to_wait(place: ApiPlace) -> None:
    busy, calm = place.token("busy", Role.VIEWER), place.token("calm", Role.VIEWER)
    limits = {"requests_per_second": 0.001, "burst": 3}
    async with _served(place, **limits) as (_, served), over_tcp(served, busy) as client, over_tcp(served, calm) as other:
        for _ in range(3):
            assert (await client.get("/v1/info")).status_code == 200
        refused = await client.get("/v1/info")
        assert "busy" in _problem(refused, 429, ErrorCode.RATE_LIMITED).detail
        assert 900 <= int(refused.headers["retry-after"]) <= 1000
        assert (await other.get("/v1/info")).status_code == 200
        async with over_socket(served) as local:
            for _ in range(5):
                assert (await local.get("/v1/info")).status_code == 200


WAYS_OUT = [
    "../../../../etc/passwd",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%252e%252e%252fetc%252fpasswd",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "tokens.json",
    "..%5c..%5ctokens.json",
    "x%00.json",
    "%ff%fe",
    "file:%2f%2f%2fetc%2fpasswd",
]
TEMPLATES = ("/v1/resources/Agent/{}", "/v1/resources/{}", "/v1/groups/{}/results", "/v1/runs/{}/transcript", "/v1/{}", "/{}")


async def test_names_lead_nowhere(place: ApiPlace) -> None:
    token = place.token("one", Role.OPERATOR)
    async with _served(place) as (_, served):
        for name, template in itertools.product(WAYS_OUT, TEMPLATES):
            # Raw bytes: a client would tidy the path up.
            path = template.format(name)
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
            answer = (await _raw(served, head.encode())).decode()
            assert "root:" not in answer
            assert "sha256" not in answer
            status = int(answer.split()[1])
            assert status == 404 or (status == 200 and '"items":[]' in answer), (path, answer)


async def test_a_client_on_the_network_makes_the_server_read_no_file(place: ApiPlace) -> None:
    secret = place.folder / "secret.jsonl"
    secret.write_text('{"id": "a", "prompt": "the prompt nobody may see", "answer": "1"}\n')
    token = place.token("one", Role.OPERATOR)
    broken = {**agent("broken"), "spec": {}}
    async with _served(place) as (_, served), over_tcp(served, token) as client:
        for file in (str(secret), "secret.jsonl", "../secret.jsonl", "/dev/zero", "/proc/self/environ"):
            for documents in ([environment(file)], [environment(file), broken]):
                for query in ("", "?dryRun=true"):
                    text = yaml(*documents)
                    as_yaml = await client.post(f"/v1/apply{query}", content=text, headers=YAML)
                    found = _problem(as_yaml, 422, ErrorCode.INVALID_SPEC)
                    assert "over the network may not name one" in found.faults[0].message
                    assert found.faults[0].path == "spec.file"
                    assert found.faults[0].line == 1
                    assert "nobody may see" not in as_yaml.text
            bundle = load_specs([SpecSource("mine.yaml", yaml(environment(file)), place.folder)])
            packed = await client.post("/v1/apply", content=pack_bundle(bundle), headers={"Content-Type": BUNDLE_TYPE})
            found = _problem(packed, 422, ErrorCode.INVALID_SPEC)
            assert [(fault.file, fault.path) for fault in found.faults] == [("mine.yaml", "spec.file")]
        estimated = await client.post("/v1/estimate", content=yaml(environment(str(secret)), agent(), group()), headers=YAML)
        assert [each["group"] for each in estimated.json()["estimates"]] == ["campaign"]
    async with _served(place) as (_, served), over_socket(served) as local:
        applied = await local.post("/v1/apply", content=yaml(environment(str(secret))), headers=YAML)
        assert applied.json()["documents"][0]["message"] == "version 1.0.0, tasks: 0 train, 1 test"
        relative = await local.post("/v1/apply", content=yaml(environment("secret.jsonl")), headers=YAML)
        assert "no folder" in _problem(relative, 422, ErrorCode.INVALID_SPEC).faults[0].message


@pytest.mark.parametrize(("path", "status"), [("/v1/apply?dryRun=true", 200), ("/v1/apply?dryRun=true", 422), ("/v1/estimate", 200)])
async def test_what_an_editor_asks_with_each_pause_is_no_news_for_the_log(
    place: ApiPlace, caplog: pytest.LogCaptureFixture, path: str, status: int
) -> None:
    text = yaml(agent(), group()) if status == 200 else "kind: Agen"
    with caplog.at_level(logging.DEBUG):
        async with _served(place) as (_, served), over_socket(served) as client:
            assert (await client.post(path, content=text, headers=YAML)).status_code == status
            assert (await client.post("/v1/apply", content=yaml(agent(), group()), headers=YAML)).status_code == 200
    assert [record.levelno for record in caplog.records if "POST /v1/" in record.getMessage()] == [logging.DEBUG, logging.INFO]


async def test_no_token_comes_into_a_log_or_an_answer(place: ApiPlace, caplog: pytest.LogCaptureFixture) -> None:
    token = place.token("one", Role.OPERATOR)
    said = []
    with caplog.at_level(logging.DEBUG):
        async with _served(place) as (_, served), over_tcp(served, token) as client, over_tcp(served, None) as stranger:
            said.append(await client.get("/v1/info"))
            said.append(await client.get("/v1/nothing", params={"token": token}))
            said.append(await client.get("/v1/info", params={"token": "x"}))
            said.append(await client.get(f"/v1/{token}"))
            said.append(await client.get(f"/v1/resources/Agent/{token}"))
            said.append(await client.post("/v1/actions", content=b"{", headers={"Content-Type": "application/json"}))
            said.append(await stranger.get("/v1/info", headers={"Authorization": f"Bearer {token}x"}))
            (place.home / "tokens.json").write_text("{")
            said.append(await client.get("/v1/info"))
    assert [each.status_code for each in said] == [200, 404, 422, 404, 404, 422, 401, 500]
    ours = [record for record in caplog.records if record.name.startswith(("local_backend", "uvicorn", "asyncio"))]
    assert any("/v1/info" in record.getMessage() for record in ours)
    beats = [record.levelno for record in ours if record.getMessage().endswith("GET /v1/info 200")]
    assert beats == [logging.DEBUG]
    assert any(record.levelno == logging.INFO and "GET /v1/nothing 404" in record.getMessage() for record in ours)
    secret = token.removeprefix("nodus_")
    assert not any(secret in logging.Formatter().format(record) for record in ours)
    assert not any(secret in each.text for each in said)


def test_the_document_names_every_route_and_its_refusals(tmp_path: Path) -> None:
    app = create_app(None, policy=AccessPolicy(identify=lambda _: None))  # type: ignore[arg-type]
    document = json.loads(json.dumps(app.openapi()))
    operations = [each for path in document["paths"].values() for each in path.values()]
    assert len(operations) == 30
    for operation in operations:
        for status in ("401", "403", "404", "413", "422", "429", "default"):
            assert list(operation["responses"][status]["content"]) == [PROBLEM_TYPE]
    assert document["security"] == [{"token": []}]
    text = json.dumps(document)
    assert "HTTPValidationError" not in text
    references = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert references <= set(document["components"]["schemas"])
