"""The model clients against servers that others wrote: llama.cpp with real weights, aimock, llmock."""

import itertools
import json
from collections.abc import Awaitable, Iterator
from pathlib import Path

import pytest
from model_servers import PROTOCOLS, Connect, aimock, llmock_problem, need, until_it_ends

from local_backend.models.token_bound import LastCall, input_bound
from local_backend.models.wire import CallOutcome, ChatMessage, ModelCallError, ModelReply, ModelRequest


def asking(text: str, *, system: str = "", max_tokens: int = 8, case_key: str = "") -> ModelRequest:
    return ModelRequest(system, (ChatMessage("user", text),), max_tokens, temperature=0.0, case_key=case_key)


class TestLlamaCpp:
    @pytest.mark.parametrize("provider", PROTOCOLS)
    async def test_answers_with_usage_within_the_limits(self, llama_url: str, connect: Connect, provider: str) -> None:
        client, model = connect(llama_url, provider=provider)
        reply = await client.attempt(model, asking("What is 2 + 2?", system="Answer in one word."))
        assert reply.text
        assert 0 < reply.usage.output_tokens <= 8
        assert reply.reported_model == "smollm2-135m"
        assert reply.stop_reason in {"stop", "length", "end_turn", "max_tokens"}

    @pytest.mark.parametrize("provider", PROTOCOLS)
    async def test_counts_cached_input_in_the_input(self, llama_url: str, connect: Connect, provider: str) -> None:
        client, model = connect(llama_url, provider=provider)
        question = asking(f"Repeat the word cache for {provider}, please, and then repeat it again.", max_tokens=1)
        first = await client.attempt(model, question)
        second = await client.attempt(model, question)
        assert second.usage.input_tokens == first.usage.input_tokens
        assert 0 < second.usage.cached_input_tokens < second.usage.input_tokens

    @pytest.mark.parametrize("provider", PROTOCOLS)
    async def test_a_prompt_beyond_the_context_is_refused_without_cost(self, llama_url: str, connect: Connect, provider: str) -> None:
        client, model = connect(llama_url, provider=provider)
        with pytest.raises(ModelCallError, match=r"answered 400 Bad Request: request .* exceeds the available context size") as caught:
            await client.attempt(model, asking("word " * 9000))
        assert (caught.value.outcome, caught.value.retryable) == (CallOutcome.FREE, False)

    async def test_a_lone_surrogate_reaches_the_server_as_a_replacement(self, llama_url: str, connect: Connect) -> None:
        client, model = connect(llama_url)
        assert (await client.attempt(model, asking("a \ud800 b", max_tokens=1))).usage.input_tokens > 0


HOSTILE_TEXTS = {
    "short": "hi",
    "ligature that NFKC makes eighteen letters of": "\ufdfa" * 8,
    "emoji": "🧑‍🚀👩‍👩‍👧‍👦🏴\U000e0067\U000e007f🫠" * 5,
    "cjk": "漢字仮名交じり文と한국어와中文。" * 5,
    "combining marks": "Z\u0351\u036b\u0343a\u0335\u0328l\u0489g\u0334o\u0321" * 5,
    "control characters": "".join(map(chr, range(1, 32))) * 3 + "\x7f\x85\u200b\u202e\u2066",
    "digits": "31415926535897932384626433832795" * 4,
    "random letters": "qZxVkJwQzXpYvKjWqG" * 8,
    "special tokens as text": "<|im_start|>system\n<|im_end|><|endoftext|>" * 10,
    "private use and beyond": "\ue000\U0010ffff\ufffd\ufffe" * 20,
    "fullwidth and fractions": "Ｆｕｌｌ½¾㍿㎏ﬃ" * 5,
    "white space": "x \t\n\u00a0\u2003" * 8,
}


class TestTokenBound:
    """The bound before a call is never below what a real server reports after it."""

    @pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS)
    async def test_first_call(self, llama_url: str, connect: Connect, text: str) -> None:
        client, model = connect(llama_url)
        request = asking(text, max_tokens=1)
        reply = await client.attempt(model, request)
        assert reply.usage.input_tokens <= input_bound(request)

    @pytest.mark.parametrize("system", ["", "S", "You are a careful assistant. 漢字 \ufdfa"])
    @pytest.mark.parametrize("provider", PROTOCOLS)
    async def test_the_system_prompt_is_counted(self, llama_url: str, connect: Connect, provider: str, system: str) -> None:
        client, model = connect(llama_url, provider=provider)
        request = asking("hi", system=system, max_tokens=1)
        reply = await client.attempt(model, request)
        assert reply.usage.input_tokens <= input_bound(request)

    async def test_every_call_of_a_conversation(self, llama_url: str, connect: Connect) -> None:
        client, model = connect(llama_url)
        messages: tuple[ChatMessage, ...] = ()
        last: LastCall | None = None
        ratios: list[float] = []
        for text in itertools.islice(HOSTILE_TEXTS.values(), 1, 6):
            messages = (*messages, ChatMessage("user", text[:40]))
            request = ModelRequest("Answer shortly.", messages, 6, temperature=1.0)
            bound = input_bound(request, last)
            reply = await client.attempt(model, request)
            assert reply.usage.input_tokens <= bound
            ratios.append(bound / reply.usage.input_tokens)
            last = LastCall(reply.usage, len(messages))
            messages = (*messages, ChatMessage("assistant", reply.text))
        assert ratios[-1] < ratios[0]  # What the server reported makes later bounds tighter.


@pytest.fixture(scope="module")
def aimock_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    cached = {"prompt_tokens": 90, "completion_tokens": 4, "total_tokens": 94}
    fixtures.write_text(
        json.dumps(
            {
                "fixtures": [
                    {"match": {"userMessage": "hello"}, "response": {"content": "Hi there!", "usage": cached, "finishReason": "stop"}},
                    {"match": {"userMessage": "think"}, "response": {"content": "42", "reasoning": "six times seven", "usage": cached}},
                    {"match": {"userMessage": "limit"}, "response": {"error": {"message": "slow down"}, "status": 429}},
                    {"match": {"userMessage": "broken"}, "response": {"error": {"message": "no such model"}, "status": 404}},
                ]
            }
        ),
        encoding="utf-8",
    )
    with aimock(fixtures) as url:
        yield url


@pytest.mark.parametrize("provider", PROTOCOLS)
class TestAimock:
    async def test_fixed_usage_arrives(self, aimock_url: str, connect: Connect, provider: str) -> None:
        client, model = connect(aimock_url, provider=provider, name="some-model")
        reply = await client.attempt(model, asking("hello"))
        assert (reply.text, reply.usage.input_tokens, reply.usage.output_tokens) == ("Hi there!", 90, 4)
        assert model.price.cost_nano(reply.usage) == 90 * 1000 + 4 * 5000

    async def test_reasoning_stays_out_of_the_text(self, aimock_url: str, connect: Connect, provider: str) -> None:
        client, model = connect(aimock_url, provider=provider, name="some-model")
        assert (await client.attempt(model, asking("think"))).text == "42"

    async def test_refusals_are_free(self, aimock_url: str, connect: Connect, provider: str) -> None:
        client, model = connect(aimock_url, provider=provider, name="some-model")
        limited = await failure(client.attempt(model, asking("limit")))
        assert (limited.outcome, limited.retryable, limited.rate_limited, limited.retry_after) == (CallOutcome.FREE, True, True, 1.0)
        assert "429 Too Many Requests: slow down" in limited.message
        missing = await failure(client.attempt(model, asking("broken")))
        assert (missing.outcome, missing.retryable, missing.status) == (CallOutcome.FREE, False, 404)


async def failure(call: Awaitable[ModelReply]) -> ModelCallError:
    with pytest.raises(ModelCallError) as caught:
        await call
    return caught.value


@pytest.mark.parametrize("chaos", ["--chaos-malformed", "--chaos-disconnect"])
@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_what_aimock_breaks_has_an_unknown_outcome(connect: Connect, tmp_path: Path, provider: str, chaos: str) -> None:
    fixtures = tmp_path / "fixtures.json"
    fixtures.write_text('{"fixtures": [{"match": {"userMessage": "hello"}, "response": {"content": "Hi"}}]}', encoding="utf-8")
    with aimock(fixtures, chaos, "1.0") as url:
        client, model = connect(url, provider=provider, name="some-model")
        error = await failure(client.attempt(model, asking("hello")))
    assert (error.outcome, error.retryable) == (CallOutcome.UNKNOWN, False)


class TestLlmock:
    """llmock judges whether a client waits as long as it was asked, gives up on what cannot succeed, and takes no cut answer."""

    @pytest.mark.parametrize("provider", PROTOCOLS)
    async def test_judges_the_retries_resilient(self, request: pytest.FixtureRequest, connect: Connect, provider: str) -> None:
        need(llmock_problem())
        server = request.getfixturevalue("llmock")
        client, model = connect(server.base_url(provider), provider=provider, name="some-model")
        server.rate_limit(times=2, retry_after=0.2, provider=provider)
        assert isinstance(await until_it_ends(client, model, asking("first", case_key="first")), ModelReply)
        server.fail(503, times=1, provider=provider)
        assert isinstance(await until_it_ends(client, model, asking("second", case_key="second")), ModelReply)
        server.fail(401, times=1, provider=provider)
        assert isinstance(await until_it_ends(client, model, asking("third", case_key="third")), ModelCallError)
        server.context_overflow(times=1, provider=provider)
        assert isinstance(await until_it_ends(client, model, asking("fourth", case_key="fourth")), ModelCallError)
        assert len(server.requests) == 3 + 2 + 1 + 1
        server.assert_resilient(strict=True)
