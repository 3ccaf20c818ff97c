"""Clocks that jump: deadlines go by the time that really passed, and count on over restarts."""

from datetime import UTC, datetime, timedelta

import pytest
from engine_place import Place, agent, at_rest, environment, group, in_phase, status
from model_server import ModelServer

from local_backend.clock import SteadyClock
from nodus_tui.contract.phases import GroupPhase

pytestmark = pytest.mark.timeout(60)


class _Machine:
    """A machine's two clocks, in a test's hands."""

    def __init__(self) -> None:
        self.wall = datetime(2026, 3, 29, 0, 59, tzinfo=UTC)
        self.passed = 5_000_000_000

    def pass_time(self, span: timedelta) -> None:
        self.wall += span
        self.passed += span // timedelta(microseconds=1) * 1000

    def clock(self) -> SteadyClock:
        return SteadyClock(wall=lambda: self.wall, elapsed_ns=lambda: self.passed)


def test_it_tells_the_wall_clocks_time_at_its_start_and_what_passed_since() -> None:
    machine = _Machine()
    clock = machine.clock()
    assert clock() == machine.wall
    machine.pass_time(timedelta(hours=3, microseconds=7))
    assert clock() == machine.wall


@pytest.mark.parametrize("jump", [timedelta(days=400), timedelta(days=-400)])
def test_a_wall_clock_that_is_set_does_not_move_it(jump: timedelta) -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(timedelta(minutes=1))
    before = clock()
    machine.wall += jump
    assert clock() == before
    machine.pass_time(timedelta(minutes=1))
    assert clock() == before + timedelta(minutes=1)


def test_the_real_one_never_goes_back_and_is_near_the_wall_clock() -> None:
    clock = SteadyClock()
    seen = [clock() for _ in range(1000)]
    assert seen == sorted(seen)
    assert abs(datetime.now(UTC) - clock()) < timedelta(minutes=1)


async def _stalled(place: Place) -> datetime:
    """A group that waits at its cap; its deadline."""
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(cap="0.10"), group(tasks=3, cap="0.05", timeout="30m")))
        await in_phase(backend, GroupPhase.STALLED)
        deadline = (await status(backend)).deadline_at
    assert deadline is not None
    return deadline


async def test_the_timeout_counts_on_while_no_scheduler_runs(place: Place, server: ModelServer) -> None:
    await _stalled(place)
    place.clock.ahead += timedelta(minutes=31)
    async with place.backend() as backend:
        assert (await at_rest(backend)).verdicts == {"EvaluationTimeout": 3}


async def test_the_timeout_counts_on_over_a_clock_that_was_set_back(place: Place, server: ModelServer) -> None:
    deadline = await _stalled(place)
    place.clock.ahead -= timedelta(days=2)
    async with place.backend() as backend:
        moved = (await status(backend)).deadline_at
        assert moved is not None
        assert timedelta(0) <= (deadline - moved) - timedelta(days=2) + timedelta(minutes=1) < timedelta(minutes=2)
        assert (await status(backend)).phase is GroupPhase.STALLED
    place.clock.ahead += timedelta(minutes=31)
    async with place.backend() as backend:
        assert (await at_rest(backend)).verdicts == {"EvaluationTimeout": 3}
