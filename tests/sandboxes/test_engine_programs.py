"""Engine suite: programs in a sandbox, their streams, their ends, and what ends them."""

import asyncio

import pytest
from engine_suite import python, request, said, sandbox_of, shell, until

from local_backend.sandboxes.interface import Limits, SandboxEngine, SandboxError, SandboxGoneError, User
from local_backend.sandboxes.running import run


async def test_output_exit_codes_and_stdin(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "streams") as sandbox:
        done = await shell(sandbox, "cat; echo out; echo err >&2; exit 7", stdin=b"in\n")
        assert (done.exit_code, done.stdout, done.stderr) == (7, b"in\nout\n", b"err\n")
        assert (done.timed_out, done.flooded, done.dropped) == (False, False, 0)


async def test_all_bytes_pass_unchanged_both_ways(engine: SandboxEngine) -> None:
    data = bytes(range(256)) * 4096
    async with sandbox_of(engine, "bytes") as sandbox:
        done = await run(sandbox, ["cat"], stdin=data, timeout=30, keep=2 * len(data) + 2)
        assert done.stdout == data


@pytest.mark.parametrize(("end", "code"), [("kill -9 $$", 137), ("kill -TERM $$", 143), ("exit 255", 255), ("true", 0)])
async def test_how_a_program_ended(engine: SandboxEngine, end: str, code: int) -> None:
    async with sandbox_of(engine, "ends") as sandbox:
        assert (await shell(sandbox, end)).exit_code == code


async def test_a_program_that_is_not_there(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "absent") as sandbox:
        assert (await run(sandbox, ["no-such-program"], timeout=30)).exit_code in {126, 127}
        with pytest.raises(SandboxError, match="/no/such/folder"):
            await sandbox.spawn(["true"], cwd="/no/such/folder")


async def test_where_a_program_runs_and_with_what(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "where", environ={"GIVEN": "request", "BOTH": "request"}) as sandbox:
        assert await said(sandbox, "pwd") == "/task\n"
        done = await shell(sandbox, 'pwd; echo "$GIVEN $BOTH $HOME"', cwd="/tmp", environ={"BOTH": "call"})
        assert done.stdout == b"/tmp\nrequest call /home/agent\n"


async def test_words_of_a_command_are_not_a_shells(engine: SandboxEngine) -> None:
    words = ["a b", "$HOME", "'quoted'", "line\nbreak", "é", ""]
    async with sandbox_of(engine, "words") as sandbox:
        done = await run(sandbox, ["printf", "%s|", *words], timeout=30)
        assert done.stdout.decode() == "".join(f"{word}|" for word in words)


async def test_a_large_command_passes(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "large") as sandbox:
        done = await run(sandbox, ["sh", "-c", 'printf %s "$1" | wc -c', "sh", "x" * 100_000], timeout=30)
        assert done.stdout.split() == [b"100000"]


async def test_a_program_that_reads_no_stdin_ends_all_the_same(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "deaf") as sandbox:
        done = await run(sandbox, ["true"], stdin=b"x" * (1 << 20), timeout=30)
        assert done.exit_code == 0


async def test_a_dialogue_over_the_streams(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "dialogue") as sandbox:
        process = await sandbox.spawn(["cat"])
        for word in (b"one\n", b"two\n"):
            await process.write(word)
            assert await process.read() == ("stdout", word)
        await process.close_stdin()
        assert await process.read() is None
        assert await process.wait() == 0
        await process.aclose()


async def test_a_program_that_takes_too_long_is_ended_with_its_children(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "slow") as sandbox:
        done = await shell(sandbox, "trap '' TERM; echo begun; setsid sleep 900 & sleep 900 & while :; do sleep 900; done", timeout=4.0)
        assert (done.exit_code, done.timed_out, done.stdout) == (None, True, b"begun\n")
        assert await said(sandbox, "pgrep -u 1000 -c sleep || true") == "0\n"


async def test_a_stopped_program_is_ended_too(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "stopped") as sandbox:
        assert (await shell(sandbox, "kill -STOP $$; sleep 900", timeout=1.0)).timed_out
        assert await said(sandbox, "pgrep -u 1000 -c . || true", user=User.ROOT) == "0\n"


async def test_a_flood_of_output_is_cut_and_its_program_ended(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "flood") as sandbox:
        done = await run(sandbox, ["yes", "flood"], timeout=60, keep=1000, flood=1 << 20)
        assert (done.exit_code, done.flooded, done.timed_out) == (None, True, False)
        assert len(done.stdout) < 1100
        assert done.dropped > (1 << 20) - 2000
        assert await said(sandbox, "pgrep -u 1000 -c yes || true") == "0\n"


async def test_long_output_keeps_its_head_and_its_tail(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "long") as sandbox:
        done = await shell(sandbox, "echo first; seq 100000; echo last", keep=100)
        assert done.stdout.startswith(b"first\n1\n2\n")
        assert done.stdout.endswith(b"100000\nlast\n")
        assert b"bytes left out" in done.stdout
        assert done.dropped == len("first\nlast\n") + sum(len(str(n)) + 1 for n in range(1, 100_001)) - 100


async def test_a_program_left_in_the_background_holds_nothing_up(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "background") as sandbox:
        done = await shell(sandbox, "sleep 900 & echo started", timeout=20)
        assert (done.exit_code, done.timed_out) == (0, False)
        assert done.stdout == b"started\n"
        assert await said(sandbox, "pgrep -u 1000 -c sleep") == "1\n"
        await sandbox.kill_agent()
        assert await said(sandbox, "pgrep -u 1000 -c sleep || true") == "0\n"


async def test_kill_agent_spares_root(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "spared", purpose="grading") as sandbox:
        roots = await sandbox.spawn(["sh", "-c", "echo up; read line; echo $line"], user=User.ROOT)
        agents = await sandbox.spawn(["sh", "-c", "echo up; sleep 900"])
        assert await roots.read() == ("stdout", b"up\n")
        assert await agents.read() == ("stdout", b"up\n")
        await sandbox.kill_agent()
        assert await agents.wait() == 137
        await roots.write(b"alive\n")
        assert await roots.read() == ("stdout", b"alive\n")
        assert await roots.wait() == 0
        for process in (roots, agents):
            await process.aclose()
        await sandbox.kill_agent()  # Nobody is there: no matter.


async def test_kill_agent_ends_a_fork_bomb(engine: SandboxEngine) -> None:
    bomb = "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.001)\n"
    async with sandbox_of(engine, "bomb", limits=Limits(cpus=1, memory_bytes=512 << 20, pids=48, disk_bytes=16 << 20)) as sandbox:
        done = await python(sandbox, bomb, timeout=2.0)
        assert done.timed_out
        assert await said(sandbox, "pgrep -u 1000 -c python3 || true") == "0\n"
        assert await said(sandbox, "echo well") == "well\n"


async def test_kill_agent_ends_what_runs_away_from_it(engine: SandboxEngine) -> None:
    runaway = "import os\nwhile True:\n    if os.fork(): os._exit(0)\n    os.setsid()\n"
    async with sandbox_of(engine, "runaway") as sandbox:
        await python(sandbox, runaway, timeout=1.0)
        await sandbox.kill_agent()
        assert await said(sandbox, "pgrep -u 1000 -c python3 || true") == "0\n"


async def test_a_cancelled_program_does_not_go_on(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "cancelled-program") as sandbox:
        task = asyncio.create_task(run(sandbox, ["sh", "-c", "touch /tmp/begun; sleep 900"], timeout=100))
        await until(lambda: _exists(sandbox, "/tmp/begun"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await said(sandbox, "pgrep -u 1000 -c sleep || true") == "0\n"


async def _exists(sandbox: object, path: str) -> bool:
    return (await run(sandbox, ["test", "-e", path], user=User.ROOT, timeout=30)).exit_code == 0  # type: ignore[arg-type]


async def test_many_programs_at_once(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "many-programs") as sandbox:
        answers = await asyncio.gather(*(said(sandbox, f"echo {number}") for number in range(20)))
        assert answers == [f"{number}\n" for number in range(20)]


async def test_twenty_sandboxes_at_once_are_apart(engine: SandboxEngine) -> None:
    sandboxes = await asyncio.gather(*(engine.create(request(f"many-{number}")) for number in range(20)))
    try:
        assert len({each.id for each in sandboxes}) == 20
        await asyncio.gather(*(said(each, f"echo {number} >mine") for number, each in enumerate(sandboxes)))
        texts = await asyncio.gather(*(said(each, "cat mine; ls / /tmp") for each in sandboxes))
        assert [text.splitlines()[0] for text in texts] == [str(number) for number in range(20)]
    finally:
        await asyncio.gather(*(each.aclose() for each in sandboxes))


async def test_what_a_sandboxs_end_does_to_its_programs(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "ended") as sandbox:
        process = await sandbox.spawn(["sleep", "900"])
        await sandbox.aclose()
        with pytest.raises(SandboxGoneError):
            await process.wait()
        with pytest.raises(SandboxGoneError):
            await sandbox.spawn(["true"])
        assert not await sandbox.alive()
        await process.aclose()
        await sandbox.aclose()


async def test_no_program_stays_open(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "reaped") as sandbox:
        for _ in range(3):
            await asyncio.gather(*(shell(sandbox, "true & true & true &") for _ in range(10)))
        assert int(await said(sandbox, "ps -A -o stat= | grep -c Z || true", user=User.ROOT)) == 0
