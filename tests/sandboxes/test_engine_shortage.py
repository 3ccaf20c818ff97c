"""Engines on a machine that has little left to give, and sandboxes that somebody else removes: each a SandboxError, and nothing stays."""

import asyncio
import contextlib
import os
from pathlib import Path

import pytest
from engine_suite import descriptors_left, files_may_grow_to, found_of, groups_of, is_bubblewrap, request, said, sandbox_of, until

from local_backend.machine_sandboxes import MachineSandboxes
from local_backend.sandboxes.archives import pack
from local_backend.sandboxes.interface import SandboxEngine, SandboxError, User
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.running import fetch_folder, put_archive, put_files, read_file, run

_MOST = 60
"""Files that a start has open at once, and more."""


async def test_a_start_with_few_descriptors_left_is_a_sandbox_or_a_failure_and_leaves_nothing(engine: SandboxEngine) -> None:
    name = f"few-descriptors-{engine.facts.engine}"
    await engine.prepare(None)
    async with sandbox_of(engine, name):  # What an engine loads once is here then.
        pass
    with descriptors_left(0), pytest.raises(OSError, match="Too many open files"):
        os.open(os.devnull, os.O_RDONLY)
    failures, wanted = 0, request(name)
    for count in range(_MOST):
        sandbox = None
        with descriptors_left(count):
            try:
                sandbox = await engine.create(wanted)
            except SandboxError:
                failures += 1
        if sandbox is not None:
            await sandbox.aclose()
        await until(lambda: _none_of(engine, name))
        if sandbox is not None:
            break
    assert failures < _MOST
    # Of the connections to a Docker engine one may be idle, which is all that a start needs.
    assert failures or not is_bubblewrap(engine)


async def _none_of(engine: SandboxEngine, run_name: str) -> bool:
    return not await found_of(engine, run_name)


async def test_with_few_descriptors_left_a_program_starts_or_the_failure_says_why(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, f"few-for-programs-{engine.facts.engine}") as sandbox:
        for act in (
            lambda: run(sandbox, ("true",), timeout=20),
            sandbox.kill_agent,
            sandbox.alive,
            engine.list,
            lambda: put_files(sandbox, {"a": b"x"}, user=User.AGENT, folder=sandbox.workdir),
        ):
            failures = 0
            for count in range(_MOST):
                with descriptors_left(count):
                    try:
                        await act()
                    except SandboxError:
                        failures += 1
                    else:
                        break
            assert failures < _MOST
        assert await said(sandbox, "cat a") == "x"


async def test_files_that_find_no_room_on_this_machine_are_a_failure(engine: SandboxEngine, tmp_path: Path) -> None:
    archive = tmp_path / "many.tar"
    archive.write_bytes(pack({"many": b"x" * 100_000}))
    async with sandbox_of(engine, f"no-room-{engine.facts.engine}") as sandbox:
        with files_may_grow_to(50_000), pytest.raises(SandboxError, match="File too large"):
            await put_archive(sandbox, archive, user=User.AGENT, folder=sandbox.workdir)
        await put_archive(sandbox, archive, user=User.AGENT, folder=sandbox.workdir)
        target = tmp_path / "taken.tar"
        with files_may_grow_to(50_000), pytest.raises(OSError, match="File too large"):
            await fetch_folder(sandbox, sandbox.workdir, user=User.AGENT, target=target, limit_bytes=1 << 20)
        assert os.listdir(tmp_path) == ["many.tar"]  # noqa: PTH208 - names alone are wanted
        assert await said(sandbox, "wc -c <many") == "100000\n"


async def test_an_archive_that_cannot_be_read_is_a_failure_at_once(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, f"failing-disk-{engine.facts.engine}") as sandbox:
        with pytest.raises(SandboxError, match="cannot be read: Input/output error"):
            await put_archive(sandbox, Path("/proc/self/mem"), user=User.AGENT, folder=sandbox.workdir, as_it_is=True)


async def test_whatever_is_done_in_one_that_is_removed_meanwhile_is_a_failure(engine: SandboxEngine, tmp_path: Path) -> None:
    name = f"removed-meanwhile-{engine.facts.engine}"
    for act in (
        lambda sandbox: run(sandbox, ("sh", "-c", "while :; do :; done"), timeout=60),
        lambda sandbox: put_files(sandbox, {str(number): b"x" * 10_000 for number in range(1000)}, user=User.AGENT, folder=sandbox.workdir),
        lambda sandbox: read_file(sandbox, "/dev/zero", limit=10),
        lambda sandbox: fetch_folder(sandbox, "/", user=User.AGENT, target=tmp_path / "all.tar", limit_bytes=1 << 40),
        lambda sandbox: sandbox.kill_agent(),
    ):
        sandbox = await engine.create(request(name))
        (found,) = await found_of(engine, name)
        doing = asyncio.create_task(act(sandbox))
        await asyncio.sleep(0)
        await engine.remove(found)
        with contextlib.suppress(SandboxError):  # What is quicker than the removal is well.
            await doing
        with pytest.raises(SandboxError):
            await act(sandbox)
        assert not await sandbox.alive()
        await sandbox.aclose()
        await until(lambda: _none_of(engine, name))


async def test_one_that_cannot_be_removed_keeps_no_other_from_being(engine: SandboxEngine, tmp_path: Path) -> None:
    if not is_bubblewrap(engine) or engine.facts.isolation != "full":
        pytest.skip("made by a control group inside the sandbox's own")
    owner = this_process(str(tmp_path))
    stuck, other = [await engine.create(request(name, owner=owner)) for name in ("stuck", "other")]
    inner = [group / "inner" for group in groups_of(stuck.id)]
    for each in inner:
        each.mkdir()
    await MachineSandboxes(tmp_path, os.environ).leave_nothing(owner)
    assert [await found_of(engine, name) for name in ("other",)] == [[]]
    assert await found_of(engine, "stuck")
    for each in inner:
        each.rmdir()
    # The first time its processes ended, and its groups did not: now their numbers may be others'.
    await stuck.aclose()
    await other.aclose()
    assert await _none_of(engine, "stuck")


async def test_an_end_that_is_tried_again_reaches_no_process_that_has_the_number_since(
    engine: SandboxEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_bubblewrap(engine) or engine.facts.isolation != "full":
        pytest.skip("made by a control group inside the sandbox's own")
    sandbox = await engine.create(request("twice"))
    inner = [group / "inner" for group in groups_of(sandbox.id)]
    for each in inner:
        each.mkdir()
    with pytest.raises(SandboxError, match="control groups"):
        await sandbox.aclose()
    reached: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, _: reached.append(group))
    for each in inner:
        each.rmdir()
    await sandbox.aclose()
    assert reached == []
    assert await _none_of(engine, "twice")
