"""The Docker engine itself, beyond what every engine must do: labels, lifetimes, starts that fail, programs that cannot begin."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from docker_engines import line_to_user_engine, output, request, runs_at, sandbox_of, shell, until, user_engine

from local_backend.sandboxes.docker.engine import connect_docker
from local_backend.sandboxes.interface import Limits, SandboxError, SandboxGoneError, SandboxRefusedError, User
from local_backend.sandboxes.owner import this_process


async def test_a_sandbox_is_known_by_its_labels() -> None:
    async with user_engine() as engine, sandbox_of(engine, "labels") as sandbox:
        found = next(each for each in await engine.list() if each.id == sandbox.id)
        assert (found.run, found.purpose, found.owner, found.network) == ("labels", "episode", this_process(), False)
        assert found.image == sandbox.image == await engine.prepare(None)
        assert found.created_at is not None
        assert abs((found.created_at - sandbox.started_at).total_seconds()) < 60
        await engine.remove(found)
        assert not await sandbox.alive()
        assert await runs_at(engine, "labels") == []


async def test_a_sandbox_goes_by_itself_when_its_lifetime_is_over() -> None:
    async with user_engine() as engine:
        sandbox = await engine.create(request("short-lived", lifetime_seconds=4))
        with pytest.raises(SandboxGoneError):
            await output(await sandbox.spawn(["sleep", "1000"]))
        await until(lambda: _nothing_of(engine, "short-lived"))
        assert not await sandbox.alive()
        with pytest.raises(SandboxGoneError):
            await sandbox.spawn(["true"])
        await sandbox.aclose()


async def _nothing_of(engine: object, run: str) -> bool:
    return not await runs_at(engine, run)  # type: ignore[arg-type]


async def test_nothing_of_a_cancelled_start_stays() -> None:
    async with user_engine() as engine:
        await engine.prepare(None)
        task = asyncio.create_task(engine.create(request("cancelled")))
        await until(lambda: task.done() or _something_of(engine, "cancelled"))
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await task).aclose()
        assert await runs_at(engine, "cancelled") == []


async def _something_of(engine: object, run: str) -> bool:
    return bool(await runs_at(engine, run))  # type: ignore[arg-type]


async def test_many_starts_at_once() -> None:
    async with user_engine() as engine:
        sandboxes = await asyncio.gather(*[engine.create(request(f"many-{number}")) for number in range(12)])
        names = await asyncio.gather(*[shell(each, "echo mine >file; cat /etc/hostname; ls") for each in sandboxes])
        assert [name[0] for name in names] == [b"sandbox\nfile\n"] * 12
        await asyncio.gather(*[each.aclose() for each in sandboxes])
        ids = {each.id for each in await engine.list()}
        assert not ids & {each.id for each in sandboxes}


async def test_what_cannot_begin_is_an_error_and_no_output() -> None:
    async with user_engine() as engine, sandbox_of(engine, "beginning") as sandbox:
        with pytest.raises(SandboxError, match="could not be started in /nowhere"):
            await sandbox.spawn(["true"], cwd="/nowhere")
        # A program that begins and fails is no error of the engine.
        assert (await output(await sandbox.spawn(["no-such-program"])))[2] == 127
        assert await shell(sandbox, "printf 'nodus:'; exit 9") == (b"nodus:", b"", 9)


async def test_streams_stay_apart_and_stdin_ends_while_output_goes_on() -> None:
    async with user_engine() as engine, sandbox_of(engine, "streams") as sandbox:
        process = await sandbox.spawn(["sh", "-c", "echo first >&2; wc -c; echo last >&2; echo after"])
        piece = bytes(range(256)) * 256
        for _ in range(40):
            await process.write(piece)
        await process.close_stdin()
        assert await output(process) == (b"2621440\nafter\n", b"first\nlast\n", 0)


async def test_output_that_nobody_reads_holds_the_program_up_and_is_whole_afterwards() -> None:
    async with user_engine() as engine, sandbox_of(engine, "flood") as sandbox:
        process = await sandbox.spawn(["sh", "-c", "head -c 30000000 /dev/zero; echo done >/tmp/done; echo end >&2"])
        stdout, stderr, code = await output(process)
        assert (len(stdout), stderr, code) == (30_000_000, b"end\n", 0)


async def test_output_that_nobody_takes_keeps_nobody_from_ending() -> None:
    async with user_engine() as engine, sandbox_of(engine, "untaken") as sandbox:
        # More than is taken in ahead, less than all buffers on the way hold together: it ends, and some of it waits at the engine.
        untaken = await sandbox.spawn(["head", "-c", "500000", "/dev/zero"])
        assert await shell(sandbox, "echo another") == (b"another\n", b"", 0)
        flooding = await sandbox.spawn(["yes"])
        assert await flooding.read() is not None
        await sandbox.kill_agent()
        assert await untaken.wait() == 0
        assert len((await output(untaken))[0]) == 500_000
        assert (await output(flooding))[2] == 137


async def test_a_program_that_reads_no_more_is_told_apart_from_a_sandbox_that_ended() -> None:
    async with user_engine() as engine, sandbox_of(engine, "deaf") as sandbox:
        process = await sandbox.spawn(["true"])
        assert await output(process) == (b"", b"", 0)
        with pytest.raises(SandboxError) as caught:
            for _ in range(1000):
                await process.write(b"x" * 65_536)
        assert not isinstance(caught.value, SandboxGoneError)
        await process.close_stdin()


async def test_signals_are_128_and_their_number() -> None:
    async with user_engine() as engine, sandbox_of(engine, "signals") as sandbox:
        assert (await shell(sandbox, "kill -TERM $$"))[2] == 143
        assert (await shell(sandbox, "kill -KILL $$"))[2] == 137


async def test_the_agents_end_comes_also_when_it_has_taken_all_processes() -> None:
    bomb = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        print(flush=True)\n"
    async with user_engine() as engine, sandbox_of(engine, "bomb", limits=Limits(memory_bytes=256 << 20, pids=32)) as sandbox:
        process = await sandbox.spawn(["python3", "-c", bomb])
        assert await process.read() is not None  # No process is left by now.
        await sandbox.kill_agent()
        await process.aclose()
        stdout, _, _ = await shell(sandbox, "for each in /proc/[0-9]*; do echo $each; done | wc -l")
        # The init, its program, and the ones that count.
        assert int(stdout) <= 5
        assert (await shell(sandbox, "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null"))[0].split() == [b"32"]


async def test_roots_programs_outlive_the_agents() -> None:
    async with user_engine() as engine, sandbox_of(engine, "two-users", purpose="grading") as sandbox:
        root = await sandbox.spawn(["sh", "-c", "read line; echo $line; cat /proc/self/oom_score_adj"], user=User.ROOT, cwd="/")
        agent = await sandbox.spawn(["sh", "-c", "cat /proc/self/oom_score_adj; sleep 1000"])
        assert await agent.read() == ("stdout", b"1000\n")
        await sandbox.kill_agent()
        assert (await output(agent))[2] == 137
        await root.write(b"still here\n")
        assert await output(root) == (b"still here\n0\n", b"", 0)


async def test_refusals_name_what_must_change() -> None:
    async with user_engine() as engine:
        for workdir in ("/", "relative", "/a/../b", "/proc/x", "/grader", "/a:b"):
            with pytest.raises(SandboxRefusedError, match="work folder"):
                await engine.create(request("refused", workdir=workdir))
        with pytest.raises(SandboxRefusedError, match="an extra folder"):
            await engine.create(request("refused", extra_folders=("/sys/x",)))
        with pytest.raises(SandboxRefusedError, match="is no name of an image"):
            await engine.create(request("refused", image="NO/Name"))
        with pytest.raises(SandboxRefusedError, match="is not this machine's"):
            await engine.create(request("refused", image=f"nodus/base@sha256:{'0' * 64}"))
        assert await runs_at(engine, "refused") == []


async def test_who_was_let_go_of_says_so(tmp_path: Path) -> None:
    async with line_to_user_engine(tmp_path) as line:
        engine = await connect_docker({"DOCKER_HOST": line.host})
        await engine.aclose()
        with pytest.raises(SandboxError, match="was let go of"):
            await engine.list()


async def test_no_engine_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot be reached"):
        await connect_docker({"DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"})


async def test_extra_folders_are_both_users_and_hide_what_the_image_has() -> None:
    async with user_engine() as engine, sandbox_of(engine, "extra", purpose="grading", extra_folders=("/tests", "/opt")) as sandbox:
        assert (await shell(sandbox, "echo agents >/tests/agents; ls -A /opt"))[:2] == (b"", b"")
        assert await shell(sandbox, "echo roots >/tests/roots; cat /tests/agents", User.ROOT) == (b"agents\n", b"", 0)
        _, stderr, code = await shell(sandbox, "rm -f /tests/roots")
        assert code != 0
        assert b"not permitted" in stderr
