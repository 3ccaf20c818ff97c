"""Engine suite: nothing of a sandbox stays, whoever ends it and however its owner ended."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import pytest
from engine_suite import connect, found_of, groups_of, is_bubblewrap, marked, owner_command, request, said, sandbox_of, until

from local_backend.sandboxes.bubblewrap.records import Records, records_folder
from local_backend.sandboxes.interface import FoundSandbox, Owner, Sandbox, SandboxEngine, SandboxError
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.reaper import reap, running
from nodus_tui.values import replace


class _Only:
    """An engine that knows of some runs only: other tests have theirs at the same time."""

    def __init__(self, engine: SandboxEngine, *runs: str) -> None:
        self._engine = engine
        self._runs = runs

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    async def list(self) -> list[FoundSandbox]:
        return [each for each in await self._engine.list() if each.run in self._runs]


def _mounts(sandbox_id: str) -> int:
    # By the sandbox's own name: others come and go meanwhile.
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8").count(sandbox_id)


async def test_what_is_listed_of_a_sandbox(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "listed", purpose="check") as sandbox:
        (found,) = await found_of(engine, "listed")
        assert (found.id, found.engine, found.purpose, found.network) == (sandbox.id, engine.facts.engine, "check", False)
        assert found.owner == this_process()
        assert found.image == sandbox.image == await engine.prepare(None)
        assert found.created_at is not None
        assert abs((found.created_at - sandbox.started_at).total_seconds()) < 60
        assert found in await running([engine])


async def test_nothing_stays_of_a_sandbox_that_was_ended(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "gone") as sandbox:
        process = await sandbox.spawn(["sh", "-c", "trap '' TERM HUP; while :; do sleep 1; done # nodus-marker-gone"])
        await until(lambda: marked("nodus-marker-gone"))
        assert not is_bubblewrap(engine) or engine.facts.isolation == "weaker" or groups_of(sandbox.id)
        assert await sandbox.alive()
    await process.aclose()
    assert marked("nodus-marker-gone") == []
    assert await found_of(engine, "gone") == []
    assert groups_of(sandbox.id) == []
    assert _mounts(sandbox.id) == 0
    assert not await sandbox.alive()


async def test_nothing_stays_of_a_start_that_was_cancelled(engine: SandboxEngine) -> None:
    await engine.prepare(None)
    for pause in (0, 0.005, 0.02, 0.05):
        task = asyncio.create_task(engine.create(request("cancelled-start")))
        await asyncio.wait({task}, timeout=pause)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):  # As it should be, unless it was faster.
            await (await task).aclose()
    await until(lambda: _none_of(engine, "cancelled-start"))


async def test_one_that_is_removed_while_it_starts_is_a_failure_and_leaves_nothing(engine: SandboxEngine) -> None:
    name = f"removed-start-{engine.facts.engine}"
    await engine.prepare(None)
    for _ in range(8):
        start = asyncio.create_task(engine.create(request(name)))
        while not (found := await found_of(engine, name)) and not start.done():
            await asyncio.sleep(0)
        found = found or await found_of(engine, name)  # It may have come, and be ready, between two looks.
        await asyncio.gather(*(engine.remove(each) for each in found for _ in range(3)))
        # Whoever was just too late to be stopped has a sandbox that does not live.
        with contextlib.suppress(SandboxError):
            sandbox = await start
            assert not await sandbox.alive()
            await sandbox.aclose()
        await until(lambda: _none_of(engine, name))


async def _none_of(engine: SandboxEngine, run_name: str) -> bool:
    return not await found_of(engine, run_name)


async def test_one_that_another_process_made_can_be_removed(engine: SandboxEngine) -> None:
    name = f"other-{engine.facts.engine}"
    owner = await asyncio.create_subprocess_exec(*owner_command(engine.facts.engine, name), stdout=asyncio.subprocess.PIPE)
    try:
        assert owner.stdout is not None
        sandbox_id = (await asyncio.wait_for(owner.stdout.readline(), 60)).decode().strip()
        (found,) = await found_of(engine, name)
        assert found.id == sandbox_id
        removed, kept, failures = await reap([_Only(engine, name)])  # type: ignore[list-item]  # All but `list` is the engine's.
        assert (removed, kept, failures) == ([], 1, [])
        await engine.remove(found)
        assert await found_of(engine, name) == []
        assert marked(f"done # {name}") == []
        assert groups_of(found) == []
        await engine.remove(found)  # It is gone already: no matter.
    finally:
        owner.kill()
        await owner.wait()


async def test_after_kill_9_of_the_owner_nothing_is_left_once_it_is_reaped(engine: SandboxEngine) -> None:
    name = f"killed-{engine.facts.engine}"
    owner = await asyncio.create_subprocess_exec(*owner_command(engine.facts.engine, name), stdout=asyncio.subprocess.PIPE)
    assert owner.stdout is not None
    sandbox_id = (await asyncio.wait_for(owner.stdout.readline(), 60)).decode().strip()
    await until(lambda: marked(f"done # {name}"))
    owner.kill()
    await owner.wait()
    if is_bubblewrap(engine):
        # Its init notices by itself, before anybody reaps.
        await until(lambda: not marked(f"done # {name}"))
    _, kept, failures = await reap([_Only(engine, name)])  # type: ignore[list-item]  # All but `list` is the engine's.
    assert (kept, failures) == (0, [])
    assert await found_of(engine, name) == []
    assert marked(f"done # {name}") == []
    assert groups_of(sandbox_id) == []


async def test_a_hung_owner_does_not_keep_a_sandbox_beyond_its_lifetime(engine: SandboxEngine) -> None:
    if not is_bubblewrap(engine):
        pytest.skip("the container's own init keeps its lifetime; the Docker engine's tests show it")
    async with sandbox_of(engine, "hung", lifetime_seconds=5) as sandbox:
        process = await sandbox.spawn(["sh", "-c", "while :; do sleep 1; done # nodus-marker-hung"])
        loop = asyncio.get_running_loop()
        # The scheduler's side reads and sends nothing, as if it hung.
        loop.remove_reader(sandbox._control._socket.fileno())  # type: ignore[attr-defined]
        await until(lambda: not marked("nodus-marker-hung"))
        await process.aclose()


async def test_owners_elsewhere_are_left_alone(engine: SandboxEngine) -> None:
    elsewhere = replace(this_process(), host="elsewhere.invalid")
    async with sandbox_of(engine, "elsewhere", owner=elsewhere):
        removed, kept, failures = await reap([_Only(engine, "elsewhere")])  # type: ignore[list-item]  # All but `list` is the engine's.
        assert (removed, kept, failures) == ([], 1, [])


async def test_a_sandbox_whose_owner_is_recorded_dead_is_reaped(engine: SandboxEngine) -> None:
    boot, namespace, ticks = this_process().started.split("/")
    dead = replace(this_process(), started=f"{boot}/{namespace}/{int(ticks) - 1}")
    sandbox = await _created(engine, "dead-owner", dead)
    removed, kept, failures = await reap([_Only(engine, "dead-owner")])  # type: ignore[list-item]  # All but `list` is the engine's.
    # Another reaper on this machine may have been faster; then it is gone all the same.
    assert [each.id for each in removed] in ([sandbox.id], [])
    assert (kept, failures) == (0, [])
    await until(lambda: _not_alive(sandbox))
    await sandbox.aclose()
    assert await found_of(engine, "dead-owner") == []


async def _created(engine: SandboxEngine, run_name: str, owner: Owner) -> Sandbox:
    """A sandbox of a dead owner, which other reapers of this machine may remove while it starts."""
    for _ in range(5):
        with contextlib.suppress(SandboxError):
            return await engine.create(request(run_name, owner=owner))
    return await engine.create(request(run_name, owner=owner))


async def _not_alive(sandbox: object) -> bool:
    return not await sandbox.alive()  # type: ignore[attr-defined]


async def test_init_that_is_killed_is_a_sandbox_that_is_gone_and_leaves_nothing() -> None:
    engine = await connect("bubblewrap")
    async with sandbox_of(engine, "init-killed") as sandbox:
        process = await sandbox.spawn(["sleep", "900"])
        (record,) = [each for each in Records(records_folder(os.environ)).all() if each.id == sandbox.id]
        assert record.init is not None
        os.kill(record.init, signal.SIGKILL)
        with pytest.raises(Exception, match="The sandbox has ended"):
            await process.wait()
        assert not await sandbox.alive()
        await process.aclose()
    assert await found_of(engine, "init-killed") == []
    assert groups_of(sandbox.id) == []
    await engine.aclose()


async def test_a_record_whose_process_is_another_one_now_harms_nobody() -> None:
    engine = await connect("bubblewrap")
    victim = await asyncio.create_subprocess_exec("sleep", "900")
    records = Records(records_folder(os.environ))
    sandbox = await engine.create(request("stale-record"))
    (record,) = [each for each in records.all() if each.id == sandbox.id]
    await sandbox.aclose()
    records.take(replace(record, init=victim.pid, init_started="1"))
    (found,) = await found_of(engine, "stale-record")
    await engine.remove(found)
    assert await found_of(engine, "stale-record") == []
    assert victim.returncode is None
    os.kill(victim.pid, 0)
    victim.kill()
    await victim.wait()
    await engine.aclose()


async def test_two_sandboxes_never_share_a_host_user() -> None:
    engine = await connect("bubblewrap")
    async with sandbox_of(engine, "first-user") as first, sandbox_of(engine, "second-user") as second:
        maps = [await said(each, "cat /proc/self/uid_map") for each in (first, second)]
        assert engine.facts.isolation == "weaker" or maps[0].split()[1] != maps[1].split()[1]
    await engine.aclose()
