"""What agents leave on a disk that is full: it waits in their sandboxes, no commit fails for it, and nothing that was paid is lost."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from agents_at_work import at_hand, plays, worker
from engine_place import at_rest, environment, group, run_status, until
from model_server import ModelServer, asks
from small_disk import DiskPlace, small_disk

from nodus_tui.contract.actions import Kill
from nodus_tui.contract.phases import Reason, RunPhase, Verdict

pytestmark = pytest.mark.timeout(60)

_MIB = 1 << 20


@pytest.mark.parametrize("killed", [False, True])
async def test_files_that_have_no_room_wait_for_it_in_the_sandbox(tmp_path: Path, server: ModelServer, killed: bool) -> None:
    plays(server, [asks(("bash", {"command": "head -c 12M /dev/urandom > work"})), asks(("submit", {"answer": "1"}))])
    async with AsyncExitStack() as stack:
        disk = stack.enter_context(small_disk(tmp_path / "disk", mebibytes=12))
        place = DiskPlace(tmp_path, server.base_url, disk=disk.folder)
        place.tasks([{"id": "n1", "prompt": "say 1", "answer": "1"}])
        backend = await stack.enter_async_context(place.backend())
        backend._rooms.space.floor = 4 * _MIB
        await backend.apply(place.specs(environment(), worker(), group(tasks=1)))

        async def waits() -> bool:
            return (await run_status(backend, "campaign-c001")).reason is Reason.DISK_ALMOST_FULL

        await until(backend, lambda: at_hand(waits))
        waiting = await run_status(backend, "campaign-c001")
        assert waiting.phase is RunPhase.RUNNING
        assert waiting.message == (
            "the disk is full: the agent's files wait in its sandbox until there is room, or a limit of the sandbox is reached"
        )
        assert backend._rooms.space.room(), "what others need is left to them"
        if killed:
            await backend.act(Kill(kind="AgentGroup", name="campaign"))
            ended = await run_status(backend, "campaign-c001")
            assert (ended.phase, ended.reason) == (RunPhase.CANCELLED, Reason.KILLED)
            return
        disk.grow(64)
        await at_rest(backend)
        done = await run_status(backend, "campaign-c001")
    assert (done.phase, done.verdict) == (RunPhase.SUCCEEDED, Verdict.CORRECT)
    assert done.sandbox is not None
    assert done.sandbox.files_kept
    assert len(server.seen) == 2
