"""The gate and the pauses between tries. Time is the event loop's own, turned by hand, so nothing here waits."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.models.calls import ModelClient
from local_backend.models.catalogue import ModelCatalogue
from local_backend.models.rate_limits import ConcurrencyGate, Slot
from local_backend.models.retries import LONGEST_ASKED_PAUSE, LONGEST_PAUSE, RetryPolicy
from local_backend.models.wire import CallOutcome, ModelCallError
from nodus_tui.contract.configuration import Configuration

START = datetime(2026, 3, 1, tzinfo=UTC)


class HandTurnedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]  # Of asyncio's base loop.
            self.now = max(self.now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]

    def clock(self) -> datetime:
        return START + timedelta(seconds=self.now - 1000.0)


def timed(test: Callable[[HandTurnedLoop], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run an async test on a hand-turned loop."""

    def run() -> None:
        with asyncio.Runner(loop_factory=HandTurnedLoop) as runner:
            loop = runner.get_loop()
            assert isinstance(loop, HandTurnedLoop)
            runner.run(test(loop))

    run.__name__ = test.__name__
    return run


def limited(pause: float | None = None) -> ModelCallError:
    return ModelCallError("429", CallOutcome.FREE, retryable=True, retry_after=pause, rate_limited=True, status=429)


def broke() -> ModelCallError:
    return ModelCallError("broke", CallOutcome.UNKNOWN)


async def settle() -> None:
    """Let everything run that can run now."""
    for _ in range(10):
        await asyncio.sleep(0)


class TestGate:
    @pytest.mark.parametrize("pause", [None, 0.0])
    def test_room_is_given_without_yielding(self, pause: float | None) -> None:
        async def scenario() -> None:
            gate = ConcurrencyGate(4, lambda: START)
            if pause is not None:
                gate.note(limited(pause))
            entering = Slot(gate).__aenter__()
            with pytest.raises(StopIteration):
                entering.send(None)
            assert gate.in_flight == 1

        asyncio.run(scenario())

    async def test_never_more_in_flight_than_the_limit_first_come_first_served(self) -> None:
        gate = ConcurrencyGate(3, lambda: START)
        most, order, running = 0, [], 0

        async def call(number: int) -> None:
            nonlocal most, running
            async with Slot(gate):
                running += 1
                most = max(most, running)
                order.append(number)
                await asyncio.sleep(0)
                running -= 1

        await asyncio.gather(*(call(number) for number in range(20)))
        assert most == 3
        assert order == list(range(20))
        assert (gate.in_flight, gate.waiting) == (0, 0)

    async def test_narrows_once_for_calls_that_were_in_flight_together_and_widens_again(self) -> None:
        gate = ConcurrencyGate(16, lambda: START)
        for _ in range(16):
            await gate.acquire()
        for _ in range(16):
            gate.note(limited())
            gate.release()
        assert gate.limit == 8
        await gate.acquire()
        gate.note(limited())
        gate.release()
        assert gate.limit == 4
        for _ in range(400):
            await gate.acquire()
            gate.note(None)
            gate.release()
        assert gate.limit == 16

    async def test_never_narrower_than_one_and_other_failures_do_not_narrow(self) -> None:
        gate = ConcurrencyGate(4, lambda: START)
        for _ in range(10):
            gate.note(broke())
        assert gate.limit == 4
        for _ in range(10):
            gate.note(limited())
        assert gate.limit == 1

    async def test_a_cancelled_call_leaves_no_trace(self) -> None:
        gate = ConcurrencyGate(1, lambda: START)
        await gate.acquire()
        waiting = [asyncio.create_task(gate.acquire()) for _ in range(3)]
        await settle()
        waiting[0].cancel()  # While it waits.
        await settle()
        gate.release()
        waiting[1].cancel()  # In the moment in which it has got its place.
        await settle()
        assert waiting[2].done()
        assert not waiting[2].cancelled()
        assert (gate.in_flight, gate.waiting) == (1, 0)

    async def test_closing_tells_whoever_waits(self) -> None:
        gate = ConcurrencyGate(1, lambda: START)
        await gate.acquire()
        waiting = asyncio.create_task(gate.acquire())
        await settle()
        gate.close()
        with pytest.raises(ModelCallError, match="not sent"):
            await waiting


@timed
async def test_a_pause_holds_back_every_call_until_it_ends(loop: HandTurnedLoop) -> None:
    gate = ConcurrencyGate(8, loop.clock)
    gate.note(limited(30))
    gate.note(limited(10))  # A shorter one does not shorten it.
    assert gate.paused_until() == START + timedelta(seconds=30)
    entered: list[float] = []

    async def call() -> None:
        async with Slot(gate):
            entered.append(loop.time())

    await asyncio.gather(*(call() for _ in range(3)))
    assert entered == [1030.0] * 3
    assert gate.paused_until() is None


@timed
async def test_a_pause_that_grows_while_calls_wait_for_it(loop: HandTurnedLoop) -> None:
    gate = ConcurrencyGate(8, loop.clock)
    gate.note(limited(10))
    waiting = asyncio.create_task(gate.acquire())
    await settle()
    gate.note(limited(60))
    await waiting
    assert loop.time() == 1060.0


@timed
async def test_a_pause_beyond_the_maximum_is_cut(loop: HandTurnedLoop) -> None:
    gate = ConcurrencyGate(8, loop.clock)
    gate.note(limited(19_288))
    assert gate.paused_until() == START + timedelta(seconds=LONGEST_ASKED_PAUSE)


class TestClient:
    async def test_families_of_one_endpoint_and_model_share_a_gate(self) -> None:
        entry = {"provider": "openai", "name": "m", "baseURL": "http://127.0.0.1:1/v1", "price": "free"}
        models = [{"family": "a", **entry}, {"family": "b", **entry}, {"family": "c", **entry, "name": "other"}]
        catalogue = ModelCatalogue(Configuration.model_validate({"models": models}), {})
        client = ModelClient(catalogue)
        a, b, c = (catalogue.resolve([family]) for family in "abc")
        assert client.gate(a) is client.gate(b)
        assert client.gate(a) is not client.gate(c)
        client.note(a, limited(60))
        assert client.paused_until(b) is not None
        assert client.paused_until(c) is None
        await client.aclose()


def free_error(pause: float | None = None) -> ModelCallError:
    return ModelCallError("busy", CallOutcome.FREE, retryable=True, retry_after=pause)


class TestRetryPolicy:
    def test_what_may_have_been_paid_is_never_repeated(self) -> None:
        assert RetryPolicy(6).delay(1, broke()) is None
        assert RetryPolicy(6).gave_up(1, broke()) == "broke"

    def test_tries_end(self) -> None:
        policy = RetryPolicy(3)
        assert policy.delay(2, free_error()) is not None
        assert policy.delay(3, free_error()) is None
        assert policy.gave_up(3, free_error()) == "gave up after 3 tries: busy"
        assert RetryPolicy(1).gave_up(1, free_error()) == "gave up after 1 try: busy"

    def test_a_pause_that_is_too_long_is_not_waited_for(self) -> None:
        policy = RetryPolicy(6)
        assert policy.delay(1, free_error(301)) is None
        assert (
            policy.gave_up(1, free_error(19_288)) == "the server asks for a pause of 19,288 s, longer than the 300 s that are waited: busy"
        )
        assert policy.delay(1, free_error(300)) == 300

    @given(st.integers(1, 18), st.text(), st.none() | st.floats(0, 300))
    def test_every_pause_is_bounded_and_keeps_what_was_asked(self, attempt: int, key: str, asked: float | None) -> None:
        pause = RetryPolicy(20, key).delay(attempt, free_error(asked))
        assert pause is not None
        assert pause == RetryPolicy(20, key).delay(attempt, free_error(asked))
        if asked is None:
            assert 0 < pause <= LONGEST_PAUSE
        else:
            assert asked <= pause <= LONGEST_ASKED_PAUSE

    def test_pauses_double_and_calls_do_not_come_back_together(self) -> None:
        longest = [max(RetryPolicy(20, f"{key}").delay(attempt, free_error()) or 0 for key in range(200)) for attempt in (1, 2, 3, 12)]
        assert longest == pytest.approx([0.5, 1, 2, 60], rel=0.05)
        assert len({RetryPolicy(20, f"{key}").delay(1, free_error()) for key in range(200)}) == 200
