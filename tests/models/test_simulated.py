"""The simulated model: deterministic, within its limits, and as rude as it is told to be."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.models.providers.simulated import Simulated
from local_backend.models.token_bound import LastCall, input_bound
from local_backend.models.wire import CallOutcome, ChatMessage, ModelCallError, ModelReply, ModelRequest
from nodus_tui.contract.configuration import SimulatedBehaviour
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER, UNREADABLE_REPLY, WRONG_PLACEHOLDER


def request(key: str, *, max_tokens: int = 1000, text: str = "hi") -> ModelRequest:
    return ModelRequest("S", (ChatMessage("user", text),), max_tokens, case_key=key)


def model(**behaviour: Any) -> Simulated:
    return Simulated(SimulatedBehaviour(**behaviour))


async def ask(simulated: Simulated, key: str, timeout: float = 60, **more: Any) -> ModelReply:
    return await simulated.complete(request(key, **more), timeout=timeout)


async def texts(simulated: Simulated, count: int) -> list[str]:
    return [(await ask(simulated, f"case {number}")).text for number in range(count)]


async def test_the_same_seed_and_case_give_the_same_reply() -> None:
    behaviour = {"accuracy": 0.5, "invalid": 0.1, "output_tokens": 50, "output_spread": 0.5}
    first, again = model(**behaviour), model(**behaviour)
    forwards = [await ask(first, f"case {number}") for number in range(40)]
    backwards = [await ask(again, f"case {number}") for number in reversed(range(40))]
    assert forwards == backwards[::-1]
    assert [await ask(model(seed=1, **behaviour), f"case {number}") for number in range(40)] != forwards


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [({"accuracy": 1}, REFERENCE_PLACEHOLDER), ({"accuracy": 0}, WRONG_PLACEHOLDER), ({"invalid": 1}, UNREADABLE_REPLY)],
)
async def test_shares_of_nothing_and_everything(behaviour: dict[str, float], text: str) -> None:
    assert set(await texts(model(**behaviour), 200)) == {text}


async def test_shares_come_out_about_right() -> None:
    replies = await texts(model(accuracy=0.7, invalid=0.2), 2000)
    assert replies.count(UNREADABLE_REPLY) == pytest.approx(400, abs=80)
    assert replies.count(REFERENCE_PLACEHOLDER) == pytest.approx(0.7 * 1600, abs=100)


async def test_output_varies_within_its_spread_and_its_limit() -> None:
    lengths = {(await ask(model(output_tokens=100, output_spread=0.2), f"{number}")).usage.output_tokens for number in range(300)}
    assert min(lengths) >= 80
    assert max(lengths) <= 120
    assert len(lengths) > 20
    cut = await ask(model(output_tokens=100), "case", max_tokens=7)
    assert (cut.usage.output_tokens, cut.stop_reason) == (7, "length")
    assert (await ask(model(output_tokens=7), "case", max_tokens=7)).stop_reason == "stop"


@given(st.text(), st.lists(st.text(), min_size=1, max_size=4), st.integers(0, 500))
def test_usage_never_exceeds_the_bound(system: str, prompts: list[str], output: int) -> None:
    async def converse() -> None:
        simulated = model(output_tokens=output)
        messages: tuple[ChatMessage, ...] = ()
        last: LastCall | None = None
        for prompt in prompts:
            messages = (*messages, ChatMessage("user", prompt))
            asked = ModelRequest(system, messages, 200, case_key=prompt)
            reply = await simulated.complete(asked, timeout=1)
            assert 0 < reply.usage.input_tokens <= input_bound(asked, last)
            assert reply.usage.output_tokens <= 200
            last = LastCall(reply.usage, len(messages))
            messages = (*messages, ChatMessage("assistant", reply.text))

    asyncio.run(converse())


async def outcomes(simulated: Simulated, key: str, tries: int) -> list[ModelReply | ModelCallError]:
    """How several tries of one call end."""
    ends: list[ModelReply | ModelCallError] = []
    for _ in range(tries):
        try:
            ends.append(await ask(simulated, key))
        except ModelCallError as error:
            ends.append(error)
    return ends


async def test_a_rate_limited_call_gets_through_after_one_or_two_refusals() -> None:
    simulated = model(rate_limited=1, retry_after_seconds=3)
    refusals = set()
    for number in range(40):
        ends = await outcomes(simulated, f"case {number}", 3)
        refused = [end for end in ends if isinstance(end, ModelCallError)]
        assert {(end.outcome, end.retryable, end.rate_limited, end.retry_after, end.status) for end in refused} == {
            (CallOutcome.FREE, True, True, 3, 429)
        }
        assert isinstance(ends[0], ModelCallError)
        got_through = next(place for place, end in enumerate(ends) if isinstance(end, ModelReply))
        refusals.add(got_through)
    assert refusals == {1, 2}


async def test_failures_have_an_unknown_outcome_each_time() -> None:
    simulated = model(failures=0.5)
    failed = 0
    for number in range(40):
        first, second = await outcomes(simulated, f"case {number}", 2)
        assert type(first) is type(second)
        if isinstance(first, ModelCallError):
            assert (first.outcome, first.retryable) == (CallOutcome.UNKNOWN, False)
            failed += 1
    assert 5 < failed < 35


async def test_without_latency_it_never_yields() -> None:
    """A coroutine that finishes on its first step has not waited for anything."""
    call = ask(model(), "case")
    with pytest.raises(StopIteration):
        call.send(None)


async def test_latency_beyond_the_timeout_is_an_unknown_outcome() -> None:
    with pytest.raises(ModelCallError, match="no complete answer within") as caught:
        await ask(model(latency_seconds=3600), "case", timeout=0.01)
    assert caught.value.outcome is CallOutcome.UNKNOWN
