"""A fault of the scheduler's own in one Sandbox: it has failed and says so, its files are kept, its time is booked, and it begins no more.

Where the fault comes up is put in by hand: it is what nobody has thought of.
"""

import pytest
from box_place import box, ended, needs, running, shell, started, status_of
from engine_place import Place

from local_backend.sandbox_kind.box import Box
from local_backend.sandboxes.bubblewrap.process import BubblewrapProcess

pytestmark = pytest.mark.timeout(60)

TELLS = "a fault of the scheduler ended it (_OddError); the scheduler's log has the details"


class _OddError(Exception):
    """What nobody has thought of."""


async def test_a_fault_while_it_runs_keeps_its_files_and_books_its_time(
    any_place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place = any_place

    async def odd(box: Box, *_: object) -> float:
        raise _OddError("odd")

    async with place.backend() as backend:
        await started(place, backend)
        await shell(backend, "echo made >made")
        with monkeypatch.context() as faulty:
            faulty.setattr(Box, "_tell_of_commands", odd)
            over = await ended(backend)
        assert (over.phase, over.reason, over.message, over.files_kept) == ("Failed", "InfrastructureFailure", TELLS, True)
        assert over.cost_usd is not None
        assert over.cost_usd > 0
        assert b"".join([piece async for piece in backend.read_sandbox_file("box", "made")]) == b"made\n"
        assert [each for each in await backend.sandboxes() if each.mine] == []
        assert "_OddError: odd" in caplog.text
        await backend.apply(place.specs(box("another")))
        await running(backend, "another")


async def test_a_fault_at_its_start_is_its_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    await needs("bubblewrap")
    tries: list[str] = []

    async def odd(box: Box) -> str | None:
        tries.append(box.record.name)
        raise _OddError("odd")

    monkeypatch.setattr(Box, "_image", odd)
    async with place.backend() as backend:
        await backend.apply(place.specs(box()))
        over = await ended(backend)
        assert (over.phase, over.reason, over.message, over.started_at) == ("Failed", "InfrastructureFailure", TELLS, None)
        await backend.apply(place.specs(box("another")))
        await ended(backend, "another")
        assert (await status_of(backend)).ended
    assert tries == ["box", "another"]


async def test_a_fault_with_a_commands_output_is_the_commands_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    await needs("bubblewrap")

    async def odd(process: BubblewrapProcess, most: int = 0) -> None:
        raise _OddError("odd")

    async with place.backend() as backend:
        await started(place, backend)
        with monkeypatch.context() as faulty:
            faulty.setattr(BubblewrapProcess, "read", odd)
            done = await shell(backend, "echo hello")
        assert (done.end.exit_code, done.end.message) == (None, "the command was lost by a fault of the scheduler; its log has the details")
        assert (await shell(backend, "echo hello")).stdout == b"hello\n"
