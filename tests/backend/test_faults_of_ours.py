"""A fault of the scheduler's own in one run or one grading: that run fails and says so, its money and work are kept, all others go on.

Where the fault comes up is put in by hand: it is what nobody has thought of.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from agents_at_work import content, launch, nothing_left, plays, worker
from engine_place import NUMBERS, Place, agent, at_rest, environment, group, run_status, runs
from model_server import ModelServer, asks

from local_backend.backend import LocalBackend
from local_backend.environments.client import EnvironmentWorker
from local_backend.episodes import episode
from local_backend.tools.toolbox import Toolbox
from nodus_tui.contract.actions import Retry
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import CallState, GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.contract.resources.agent_run import AgentRun

pytestmark = pytest.mark.timeout(60)

TELLS = "its log has the details"


class _OddError(Exception):
    """What nobody has thought of."""


def failing_where(act: Callable[..., Any], odd: Callable[..., bool], error: Exception) -> Callable[..., Any]:
    def acts(*args: Any, **named: Any) -> Any:
        if odd(*args, **named):
            raise error
        return act(*args, **named)

    return acts


async def ten_numbers(place: Place, backend: LocalBackend) -> None:
    place.tasks(NUMBERS[:10])
    await launch(place, backend, environment(), agent(), group(tasks=10))


async def the_lost_one(backend: LocalBackend) -> AgentRun:
    (lost,) = [run for run in await runs(backend) if run.status and run.status.phase is RunPhase.FAILED]
    return lost


async def test_a_fault_in_one_conversation_is_that_runs_failure(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as faulty:
        odd = failing_where(episode.next_step, lambda prompts, *_: tuple(prompts) == ("say 2",), _OddError("odd"))
        faulty.setattr(episode, "next_step", odd)
        async with place.backend() as backend:
            await ten_numbers(place, backend)
            found = await at_rest(backend)
            lost = await the_lost_one(backend)
    assert (found.phase, found.verdicts) == (GroupPhase.COMPLETED, {"Correct": 9, "InfrastructureFailure": 1})
    assert lost.status is not None
    assert lost.status.reason is Reason.INFRASTRUCTURE_FAILURE
    assert lost.status.message == f"a fault of the scheduler ended it (_OddError); the scheduler's {TELLS.removeprefix('its ')}"
    assert f"run {lost.metadata.name} was ended by a fault of the scheduler" in caplog.text
    assert "_OddError: odd" in caplog.text
    async with place.backend() as backend:
        await backend.act(Retry(group="campaign"))
        assert (await at_rest(backend)).verdicts == {"Correct": 10}
    assert server.served == 10


async def test_a_fault_after_a_call_has_left_charges_it_and_ends_no_other(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = failing_where(episode._costs_nothing, lambda reply: reply.text == "2", _OddError("odd"))
    monkeypatch.setattr(episode, "_costs_nothing", odd)
    async with place.backend() as backend:
        await ten_numbers(place, backend)
        found = await at_rest(backend)
        lost = await the_lost_one(backend)
        (call,) = (await backend.transcript(lost.metadata.name)).calls
    assert (found.phase, found.verdicts) == (GroupPhase.COMPLETED, {"Correct": 9, "InfrastructureFailure": 1})
    assert call.state == CallState.UNCONFIRMED
    assert lost.status is not None
    assert lost.status.cost_usd == call.reserved_usd > 0
    assert found.money.reserved_usd == 0
    assert found.money.spent_usd + found.money.left_usd == found.money.cap_usd


@pytest.mark.parametrize(
    ("error", "said"),
    [(_OddError("odd"), "_OddError"), (NodusError(ErrorCode.UNAVAILABLE, "the grader is away"), "the grader is away")],
)
async def test_a_fault_in_one_grading_is_an_infrastructure_failure_of_its_run(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception, said: str
) -> None:
    with monkeypatch.context() as faulty:
        odd = failing_where(EnvironmentWorker.grade, lambda _, task, *__, **___: task == "n2", error)
        faulty.setattr(EnvironmentWorker, "grade", odd)
        async with place.backend() as backend:
            await ten_numbers(place, backend)
            found = await at_rest(backend)
            lost = await the_lost_one(backend)
    assert (found.phase, found.verdicts) == (GroupPhase.COMPLETED, {"Correct": 9, "InfrastructureFailure": 1})
    assert lost.status is not None
    assert lost.status.message == f"the grader failed: a fault of the scheduler ({said}); {TELLS}"
    assert "Traceback" in caplog.text
    async with place.backend() as backend:
        # Its answer is paid and kept: it is graded again, and no model is asked.
        await backend.act(Retry(group="campaign"))
        assert (await at_rest(backend)).verdicts == {"Correct": 10}
    assert server.served == 10


async def test_a_fault_in_a_tool_ends_its_sandbox_and_keeps_its_files(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    plays(
        server,
        [
            asks(("write", {"path": "made.txt", "content": "paid"})),
            asks(("bash", {"command": "cat made.txt"})),
            asks(("submit", {"answer": "1"})),
        ],
    )
    with monkeypatch.context() as faulty:
        first = asyncio.Event()  # Of two runs the one that comes first.

        def odd(_: Toolbox, call: Any) -> bool:
            if call.name != "bash" or first.is_set():
                return False
            first.set()
            return True

        faulty.setattr(Toolbox, "call", failing_where(Toolbox.call, odd, _OddError("odd")))
        async with place.backend() as backend:
            await launch(place, backend, environment(), worker(), group(tasks=2))
            found = await at_rest(backend)
            lost = await the_lost_one(backend)
            name = lost.metadata.name
            told = await run_status(backend, name)
            kept = await content(backend, name, "made.txt")
            assert await nothing_left(backend)
    assert found.phase is GroupPhase.COMPLETED
    assert (told.reason, kept) == (Reason.INFRASTRUCTURE_FAILURE, b"paid")
    assert told.sandbox is not None
    assert (told.sandbox.running, told.sandbox.files_kept) == (False, True)
    served = server.served
    async with place.backend() as backend:
        await backend.act(Retry(group="campaign"))
        await at_rest(backend)
        verdicts = {run.status.verdict for run in await runs(backend) if run.status}
    assert verdicts <= {Verdict.CORRECT, Verdict.INCORRECT}
    assert server.served == served + 1  # It went on from its paid turns.
