"""Property-based tests from the OpenAPI document: whatever is sent, the answer is one that the document names, and never a failure.

The application is asked directly, and then the server over real TCP; behind both is a real backend with a simulated model. The requests
of an operation are made by its test and not when tests are collected, which every worker does for all of them.
"""

import asyncio
import threading
import unittest
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest
import schemathesis
from api_place import ApiPlace, agent, group, yaml
from hypothesis import HealthCheck, reject, settings
from schemathesis.checks import CheckContext
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.hypothesis import builder
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.schemas import APIOperation, BaseSchema

from local_backend.daemon.access import AccessPolicy, Caller, Limits, Role
from local_backend.daemon.api import create_app
from local_backend.daemon.server import TcpListen, serving
from nodus_tui.contract.errors import ErrorCode, Problem
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

LIMITS = Limits(requests_per_second=1e9, burst=10**9)
ANYBODY = AccessPolicy(identify=lambda _: Caller("fuzz", Role.OPERATOR), limits=LIMITS)
HEADERS = {"Authorization": "Bearer nodus_fuzz"}

DOCUMENT = create_app(None, policy=ANYBODY).openapi()  # type: ignore[arg-type]
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
STREAMS, SPEC_TAKERS = "/v1/watch", ["/v1/apply", "/v1/estimate"]
OTHERS = SCHEMA.exclude(path=[STREAMS, *SPEC_TAKERS])
"""All but the event stream, which has no end and of which only the head is asked for, and the routes below."""
AT_RANDOM = schemathesis.Config.from_dict({"phases": {"coverage": {"enabled": False}}})
SPECS = schemathesis.openapi.from_dict(DOCUMENT, config=AT_RANDOM).include(path=SPEC_TAKERS)
"""The routes whose bodies are of a dozen large types: to walk through every value at the edge of each would take minutes."""

CHECKS = [
    schemathesis.checks.CHECKS.get_one(name)
    for name in ("status_code_conformance", "content_type_conformance", "response_schema_conformance", "response_headers_conformance")
]


class Parts:
    """A backend at work in a thread of its own, since the generator of requests is not asynchronous."""

    def __init__(self, place: ApiPlace) -> None:
        self._place = place
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._stack = AsyncExitStack()
        self.url = ""
        self.token = ""
        self._client: httpx2.AsyncClient | None = None

    def start(self) -> None:
        """Open everything, with a campaign that has run, so that there is something to find."""
        self._thread.start()
        self.token = self._place.token("fuzz", Role.OPERATOR)
        self._here(self._open())

    async def _open(self) -> None:
        backend = await self._stack.enter_async_context(self._place.backend())
        await backend.apply(load_specs([SpecSource("x.yaml", yaml(agent(), group(name="x")))]))
        tokens = self._place.home / "tokens.json"
        served = await self._stack.enter_async_context(serving(backend, listen=TcpListen(), tokens=tokens, limits=LIMITS))
        self.url = f"http://127.0.0.1:{served.port}"
        transport = httpx2.ASGITransport(app=create_app(backend, policy=ANYBODY))
        self._client = await self._stack.enter_async_context(httpx2.AsyncClient(transport=transport, base_url="http://localhost"))

    def stop(self) -> None:
        """Close everything."""
        self._here(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _here(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def asked_directly(self, case: schemathesis.Case) -> httpx2.Response:
        """The application's answer."""
        assert self._client is not None
        asked = case.as_transport_kwargs(base_url="http://localhost", headers=HEADERS)
        content = asked.get("data")
        known = {name: asked[name] for name in ("method", "url", "params", "json") if asked.get(name) is not None}
        return self._here(self._client.request(**known, content=content, headers=_latin(asked["headers"])))  # type: ignore[no-any-return]


def _latin(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as bytes: what is generated is not always ASCII."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """One backend for all requests."""
    made = Parts(ApiPlace(tmp_path_factory.mktemp("fuzz")))
    made.start()
    yield made
    made.stop()


def no_failure(_: CheckContext, response: schemathesis.Response, __: schemathesis.Case) -> None:
    """No 5xx, but for what is valid and has no engine: that is the contract's own answer."""
    if response.status_code >= 500:
        problem = Problem.model_validate_json(response.content)
        assert (response.status_code, problem.code) == (501, ErrorCode.NOT_SUPPORTED), problem
    elif response.status_code >= 400:
        assert Problem.model_validate_json(response.content).status == response.status_code


def operations(schema: BaseSchema) -> pytest.MarkDecorator:
    """A test for each operation."""
    return pytest.mark.parametrize("operation", [each.ok() for each in schema.get_all_operations()], ids=lambda each: each.label)


LEFT_OUT = (
    builder.InvalidHeadersExampleMark,
    builder.InvalidRegexMark,
    builder.MissingPathParameters,
    builder.NonSerializableMark,
    builder.UnsatisfiableExampleMark,
    builder.UnserializablePayloadMark,
)
"""What says that a part of an operation could not be asked for."""


def for_cases(operation: APIOperation, examples: int, holds: Callable[[schemathesis.Case], None]) -> None:
    """Ask for everything at an edge of the operation's document, unless its schema leaves that out, and for so many things at random."""

    def case_by_case(case: schemathesis.Case) -> None:
        try:
            holds(case)
        except httpx2.InvalidURL:  # Longer than any client sends.
            reject()

    health = [HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large]
    known = settings(max_examples=examples, deadline=None, suppress_health_check=health, derandomize=True, database=None)
    config = operation.schema.config
    test = build_operation_test(
        config=config, operation=operation, test_func=known(case_by_case), given_kwargs={}, feedback=FeedbackSources()
    )
    try:
        test()
    except unittest.SkipTest as nothing:
        pytest.fail(f"nothing could be asked: {nothing}")
    assert not [mark for mark in LEFT_OUT if mark.is_set(test)]


def ask_both(case: schemathesis.Case, parts: Parts) -> None:
    """The application, and the server over TCP."""
    checks = [no_failure, *CHECKS]
    case.validate_response(parts.asked_directly(case), checks=checks)
    case.call_and_validate(base_url=parts.url, headers={"Authorization": f"Bearer {parts.token}"}, checks=checks)


@operations(OTHERS)
def test_everything_is_answered_as_documented(operation: APIOperation, parts: Parts) -> None:
    for_cases(operation, 30, lambda case: ask_both(case, parts))


@operations(SPECS)
def test_any_spec_is_answered_as_documented(operation: APIOperation, parts: Parts) -> None:
    for_cases(operation, 20, lambda case: ask_both(case, parts))


@operations(SCHEMA.include(path=STREAMS))
def test_a_stream_opens_or_is_refused_as_documented(operation: APIOperation, parts: Parts) -> None:
    def opens(case: schemathesis.Case) -> None:
        asked = case.as_transport_kwargs(base_url=parts.url, headers={"Authorization": f"Bearer {parts.token}"})
        known = {name: asked[name] for name in ("method", "url", "params") if asked.get(name) is not None}
        with httpx2.stream(**known, headers=_latin(asked["headers"])) as response:
            assert response.status_code < 500
            assert response.status_code == 200 or Problem.model_validate_json(response.read()).status == response.status_code

    for_cases(operation, 30, opens)
