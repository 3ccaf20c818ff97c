import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from job_place import (
    job,
    job_folder,
    job_now,
    log_with,
    processes_of,
    python,
    record_of,
    recorded,
    supervisor_of,
    until,
    whole_log,
    workspace,
)
from kept_waiting import kept_waiting

from local_backend.jobs import finishing, supervising
from local_backend.jobs.engine import JobEngine
from local_backend.jobs.outputs import GivenUpError
from local_backend.jobs.removing import remove_tree
from local_backend.jobs.under_way import UnderWay
from local_backend.storage.job_records import JobRecord
from nodus_tui.contract.actions import Delete, Kill
from nodus_tui.contract.errors import ErrorCode, NodusError

pytestmark = pytest.mark.timeout(90)


async def test_a_command_runs_to_its_end_and_leaves_its_log_its_cost_and_its_outputs(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        command = "echo hello; echo trouble >&2; mkdir out; printf data > out/a.txt; printf '#!/bin/sh' > tool; chmod +x tool"
        outcome = await backend.apply(job(command=command, outputs=["out", "tool", "absent.txt"]))
        assert [(each.kind, each.outcome) for each in outcome.documents] == [("Job", "created")]
        status = await until(backend)
        assert (status.phase, status.exit_code, status.reason) == ("Succeeded", 0, None)
        assert status.started_at is not None
        assert status.ended_at is not None
        seconds = (status.ended_at - status.started_at).total_seconds()
        assert float(status.cost_usd) == pytest.approx(seconds * 0.01, abs=1e-6)
        assert await whole_log(backend) == "hello\ntrouble\n"
        assert [(each.path, each.bytes) for each in status.outputs] == [("out/a.txt", 4), ("tool", 9)]
        assert status.outputs[0].sha256 == "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7"
        assert "The output absent.txt is not there." in status.notes
        files = await backend.job_files("work")
        assert [(each.path, each.kind, each.executable) for each in files] == [
            ("out", "folder", False),
            ("out/a.txt", "file", False),
            ("tool", "file", True),
        ]
        assert b"".join([piece async for piece in backend.read_job_file("work", "out/a.txt")]) == b"data"
        manifest = json.loads((job_folder(tmp_path) / "manifest.json").read_text())
        assert [each["path"] for each in manifest["files"]] == ["out/a.txt", "tool"]
        again = await backend.apply(job(command=command, outputs=["out", "tool", "absent.txt"]))
        assert again.documents[0].outcome == "unchanged"
        with pytest.raises(NodusError) as conflict:
            await backend.apply(job(command="false"))
        assert conflict.value.code is ErrorCode.CONFLICT
        assert "with another spec (Succeeded)" in conflict.value.faults[0].message


async def test_a_kept_output_that_was_changed_is_not_handed_out_as_what_it_was(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="printf data > a", outputs=["a"]))
        await until(backend)
        (job_folder(tmp_path) / "outputs" / "a").write_text("other")
        with pytest.raises(NodusError, match="sha256 differs"):
            [piece async for piece in backend.read_job_file("work", "a")]


@pytest.mark.parametrize(
    ("command", "phase", "reason", "code", "words"),
    [
        ("exit 3", "Failed", "NonZeroExit", 3, "exited with 3"),
        ("kill -SEGV $$", "Failed", "NonZeroExit", 139, "SIGSEGV"),
        (["no-such-program-here"], "Failed", "NotStarted", 127, "no program no-such-program-here"),
        (["/etc/passwd"], "Failed", "NotStarted", 127, "may not be executed"),
    ],
)
async def test_how_it_ended_is_told(tmp_path: Path, command: str, phase: str, reason: str, code: int, words: str) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=command))
        status = await until(backend)
        assert (status.phase, status.reason, status.exit_code) == (phase, reason, code)
        assert words in status.message


async def test_its_environment_is_clean_but_for_what_the_spec_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "sk-never")
    monkeypatch.setenv("WANTED_TOKEN", "tok-wanted")
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=["/usr/bin/env"], env={"MODE": "fast", "LANG": "C"}, envFrom=["WANTED_TOKEN"]))
        await until(backend)
        told = dict(line.split("=", 1) for line in (await whole_log(backend)).splitlines())
        assert (told["MODE"], told["LANG"], told["WANTED_TOKEN"], told["NODUS_JOB"]) == ("fast", "C", "tok-wanted", "work")
        assert "SECRET_API_KEY" not in told
        ours = {name for name in told if name.startswith("NODUS_")}
        assert ours == {"NODUS_JOB", "NODUS_JOB_MARK", "NODUS_HARDWARE", "NODUS_PROGRESS"}
        assert Path(told["TMPDIR"]).is_relative_to(tmp_path)
    # Nor is the value written anywhere.
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file() and "log" not in path.parts]
    assert not [path for path in kept if b"tok-wanted" in path.read_bytes()]


async def test_a_variable_that_is_not_there_is_told_when_it_is_applied(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        with pytest.raises(NodusError, match="NOT_THERE, which the scheduler's environment does not have"):
            await backend.apply(job(envFrom=["NOT_THERE"]))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"hardware": "L4"}, "it asks for 1 × L4, and this machine has"),
        ({"accelerators": 1}, "hardware CPU has no accelerators"),
        ({"serve": {"family": "f", "port": 80, "apiKeyEnv": "NOT_THERE"}}, "apiKeyEnv names NOT_THERE"),
        ({"mounts": [{"source": "/a", "target": "/b"}]}, "leave mounts out"),
        ({"cpus": 200}, "asks for 200 CPUs"),
        ({"memoryGiB": 4000}, "4000 GiB of memory"),
        ({"workingDir": "/no/such/folder"}, "no folder here"),
    ],
)
async def test_what_cannot_be_run_here_is_refused_with_a_sentence(tmp_path: Path, spec: dict[str, object], words: str) -> None:
    async with workspace(tmp_path) as backend:
        with pytest.raises(NodusError, match=words) as refused:
            await backend.apply(job(**spec))  # type: ignore[arg-type]  # of many types
        assert refused.value.code is ErrorCode.NOT_SUPPORTED
        assert not (await backend.list("Job")).items


async def test_a_cap_that_pays_for_no_time_is_a_fault_with_its_place(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        with pytest.raises(NodusError) as refused:
            await backend.apply(job(maxCostUSD="0.01"))
        assert [(each.path, "pays for 1.00 s" in each.message) for each in refused.value.faults] == [("spec.maxCostUSD", True)]


async def test_the_cap_ends_it_gracefully_before_it_is_passed(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        program = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: (print('saved', flush=True), sys.exit(0)))\n"
        program += "print('up', flush=True)\nwhile True: time.sleep(0.1)"
        await backend.apply(job(command=python(program), maxCostUSD="0.04"))
        status = await until(backend)
        assert (status.phase, status.reason, status.exit_code) == ("Failed", "MaxCostReached", 0)
        assert await whole_log(backend) == "up\nsaved\n"
        assert 0 < float(status.cost_usd) < 0.04


async def test_what_ignores_to_be_asked_is_killed_with_all_its_tree_before_the_cap_is_passed(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        # Children that left the session and the parent, and ignore SIGTERM too.
        command = "trap '' TERM; setsid sh -c 'trap \"\" TERM; (setsid sleep 300 &) ; sleep 300' & setsid sleep 301 & sleep 302; sleep 303"
        await backend.apply(job(command=command, maxCostUSD="0.04"))
        token = (await recorded(backend, lambda record: bool(record.token))).token
        status = await until(backend)
        assert (status.phase, status.reason) == ("Failed", "MaxCostReached")
        assert float(status.cost_usd) <= 0.04
        assert processes_of(token) == set()


async def test_a_signal_without_a_name_ends_it_as_any_other(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="kill -40 $$"))
        status = await until(backend)
        assert (status.phase, status.exit_code) == ("Failed", 168)
        assert "signal 40" in status.message


async def test_words_of_its_own_to_its_supervisor_are_no_matter(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        words = "for each in '' nonsense deadlines 'deadlines a b c'; do echo \"$each\" > ../control; done"
        await backend.apply(job(command=f"test -p ../control && {words}; echo up; echo stop > ../control; sleep 300"))
        await log_with(backend, "up")
        status = await until(backend)
        assert processes_of((await record_of(backend)).token) == set()
    assert status.reason not in {"InfrastructureFailure", "Timeout"}


async def test_a_fault_of_ours_at_one_job_keeps_no_other_from_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the fault comes up is put in by hand: it is what nobody has thought of."""
    look_at = JobEngine._look_at

    async def odd(engine: JobEngine, record: JobRecord) -> None:
        if record.name == "odd":
            raise LookupError("nobody thought of it")
        await look_at(engine, record)

    async with workspace(tmp_path) as backend:
        with monkeypatch.context() as faulty:
            faulty.setattr(JobEngine, "_look_at", odd)
            await backend.apply(job("odd", command="true"))
            await backend.apply(job(command="true"))
            assert (await until(backend)).phase == "Succeeded"
            assert "job odd cannot be looked at: nobody thought of it" in caplog.text
        assert (await until(backend, name="odd")).phase == "Succeeded"


async def test_its_timeout_ends_it(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="sleep 300", timeout="1s"))
        status = await until(backend)
        assert (status.phase, status.reason, status.exit_code) == ("Failed", "Timeout", 143)


async def test_what_it_leaves_running_ends_with_it(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="setsid sleep 300 & (setsid sleep 301 &) ; echo done"))
        status = await until(backend)
        assert (status.phase, status.exit_code) == ("Succeeded", 0)
        assert processes_of((await record_of(backend)).token) == set()


RUNS_AWAY = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(0.001)
"""


@pytest.mark.parametrize("groups", [True, False])
async def test_what_runs_away_by_starting_itself_anew_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, groups: bool) -> None:
    if not groups:
        # As where nobody may make control groups. The supervisor is another process: what it imports is told by a file.
        (tmp_path / "sitecustomize.py").write_text("import os\nos.geteuid = lambda: 1000\n")
        monkeypatch.setattr(supervising, "_KEPT_FOR_SUPERVISOR", (*supervising._KEPT_FOR_SUPERVISOR, "PYTHONPATH"))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=python(RUNS_AWAY)))
        status = await until(backend)
        record = await record_of(backend)
        assert (status.phase, status.exit_code) == ("Succeeded", 0)
        assert any("no control group" in note for note in status.notes) is not groups
        # Looked at several times: one look may miss what runs.
        assert not any(processes_of(record.token) for _ in range(20))


async def test_a_kill_does_not_wait_for_outputs_that_take_long_to_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeping = threading.Event()

    def endless(*_: object, given_up: Callable[[], bool], **__: object) -> None:
        keeping.set()
        while not given_up():
            time.sleep(0.01)
        raise GivenUpError

    monkeypatch.setattr(finishing, "keep_outputs", endless)
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="echo up > kept", outputs=["kept"]))
        await asyncio.to_thread(keeping.wait)
        outcome = await backend.act(Kill(kind="Job", name="work"))
        assert "came to its own end first (Succeeded)" in outcome.message
        status = await until(backend)
        assert (status.phase, status.outputs) == ("Succeeded", ())
        assert status.notes[-1] == "Its outputs were not kept: it was killed while they were."


async def test_a_kill_ends_the_whole_tree_and_says_what_it_cost(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="setsid sleep 300 & echo up; sleep 301"))
        await log_with(backend, "up")
        token = (await record_of(backend)).token
        assert len(processes_of(token)) >= 3
        outcome = await backend.act(Kill(kind="Job", name="work", author="me"))
        assert outcome.changed
        assert outcome.message.startswith("killed work; it cost $0.")
        _, status = await job_now(backend)
        assert (status.phase, status.reason) == ("Cancelled", "Killed")
        assert processes_of(token) == set()
        again = await backend.act(Kill(kind="Job", name="work"))
        assert not again.changed
        with pytest.raises(NodusError, match="there is no Job"):
            await backend.act(Kill(kind="Job", name="other"))


async def test_a_job_at_work_is_not_deleted_and_one_that_has_ended_is_with_all_its_files(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="sleep 300"))
        await until(backend, "Running")
        with pytest.raises(NodusError, match="kill it first"):
            await backend.act(Delete(kind="Job", name="work"))
        await backend.act(Kill(kind="Job", name="work"))
        await backend.act(Delete(kind="Job", name="work"))
        with pytest.raises(NodusError):
            await backend.get("Job", "work")
        assert not job_folder(tmp_path).exists()


async def test_one_whose_end_is_told_is_deleted_whatever_of_it_is_still_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clearing, go_on, waits, at_rest = threading.Event(), threading.Event(), asyncio.Event(), UnderWay.at_rest

    def slow(folder: Path) -> None:
        clearing.set()
        go_on.wait()
        remove_tree(folder)

    async def seen(under_way: UnderWay, name: str) -> JobRecord:
        assert name in under_way.busy
        waits.set()
        return await at_rest(under_way, name)

    monkeypatch.setattr(finishing, "remove_tree", slow)
    async with workspace(tmp_path) as backend:
        await backend.apply(job())
        await until(backend, "Succeeded")
        await asyncio.to_thread(clearing.wait)
        monkeypatch.setattr(UnderWay, "at_rest", seen)
        outcome = await kept_waiting(backend.act(Delete(kind="Job", name="work")), waits=waits, go_on=go_on.set)
        assert "deleted" in outcome.message
        assert not job_folder(tmp_path).exists()


async def test_jobs_share_the_machine_in_their_order(tmp_path: Path) -> None:
    cpus = len(os.sched_getaffinity(0))
    async with workspace(tmp_path) as backend:
        await backend.apply(job("first", "sleep 300", cpus=cpus))
        await until(backend, "Running", name="first")
        await backend.apply(job("second", "true", cpus=1))
        await backend.apply(job("third", "true", cpus=1))
        cursor = 0
        _, status = await job_now(backend, "third")
        while not status.message:
            async for batch in backend.watch(after=cursor):
                cursor = batch.cursor
                break
            _, status = await job_now(backend, "third")
        assert status.message == "waits for second to start"
        _, status = await job_now(backend, "second")
        assert (status.phase, status.reason) == ("Pending", "WaitingForMachine")
        assert "beside first" in status.message
        killed = await backend.act(Kill(kind="Job", name="third"))
        assert killed.changed
        _, third = await job_now(backend, "third")
        assert (third.phase, third.cost_usd, third.started_at) == ("Cancelled", 0, None)
        await backend.act(Kill(kind="Job", name="first"))
        assert (await until(backend, name="second")).phase == "Succeeded"


async def test_a_flood_of_output_is_bounded_and_its_beginning_and_end_are_kept(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        program = "import sys\nsys.stdout.write('BEGIN' + 'x' * 10_000_000 + '\\x1b[2JEND')"
        await backend.apply(job(command=python(program)))
        assert (await until(backend)).phase == "Succeeded"
        on_disk = sum(path.stat().st_size for path in (job_folder(tmp_path) / "log").iterdir())
        assert on_disk <= 1 << 20
        first = await backend.job_log("work", limit=5)
        assert (first.text, first.size, first.ended) == ("BEGIN", 10_000_012, False)
        last = await backend.job_log("work", after=-7)
        assert (last.text, last.ended) == ("\x1b[2JEND", True)
        middle = await backend.job_log("work", after=200_000)
        assert middle.skipped > 8_000_000
        assert middle.offset == 200_000 + middle.skipped


async def test_a_character_is_never_cut_in_two(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=python("import sys; sys.stdout.buffer.write('aä€😀'.encode() * 3 + b'\\xff\\xe2\\x82')")))
        await until(backend)
        text, place, ended = "", 0, False
        while not ended:
            piece = await backend.job_log("work", after=place, limit=4)
            text, place, ended = text + piece.text, piece.next_offset, piece.ended
        assert text == "aä€😀" * 3 + "\N{REPLACEMENT CHARACTER}" * 2


async def test_without_network_there_is_nothing_but_its_own_loopback(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        program = "import os, socket\nprint(sorted(name for _, name in socket.if_nameindex()))\n"
        program += "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('loops')\n"
        await backend.apply(job(command=python(program), network=False))
        status = await until(backend)
        assert status.exit_code == 0, await whole_log(backend)
        names, loops = (await whole_log(backend)).splitlines()
        assert loops == "loops"
        assert "eth" not in names


@pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root")
async def test_its_memory_is_limited_for_all_its_processes_together(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        program = "import os, subprocess, sys\nhog = 'x = bytearray(40 << 20); import time; time.sleep(600)'\n"
        program += "found = [subprocess.Popen([sys.executable, '-c', hog]) for _ in range(4)]\nprint(-os.wait()[1])"
        await backend.apply(job(command=python(program), memoryGiB=0.0625, timeout="1m"))
        status = await until(backend)
        assert any("ran into its memory limit of 0.0625 GiB" in note for note in status.notes)
        assert "-9" in await whole_log(backend)


async def test_a_supervisor_that_is_killed_leaves_nothing_running_and_is_an_infrastructure_failure(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="setsid sleep 300 & echo up; sleep 301"))
        await log_with(backend, "up")
        token = (await record_of(backend)).token
        os.kill(supervisor_of(tmp_path), signal.SIGKILL)
        status = await until(backend)
        assert (status.phase, status.reason) == ("Failed", "InfrastructureFailure")
        assert processes_of(token) == set()
        assert status.cost_usd > 0


async def test_a_supervisor_that_is_asked_to_end_ends_its_job_gracefully(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done"))
        await log_with(backend, "up")
        os.kill(supervisor_of(tmp_path), signal.SIGTERM)
        status = await until(backend)
        assert (status.phase, status.reason) == ("Interrupted", "Interrupted")
        assert (await whole_log(backend)).endswith("bye\n")


async def test_the_supervisor_outlives_the_scheduler_and_the_next_one_finds_the_job(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="while [ ! -e go ]; do sleep 0.05; done; printf out > out", outputs=["out"]))
        await until(backend, "Running")
    (job_folder(tmp_path) / "work" / "go").touch()
    token = ""
    async with workspace(tmp_path) as backend:
        status = await until(backend)
        token = (await record_of(backend)).token
        assert (status.phase, [each.path for each in status.outputs]) == ("Succeeded", ["out"])
    assert processes_of(token) == set()


async def test_who_only_looks_sees_the_cost_grow_and_reads_the_log(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="echo up; sleep 300"))
        await log_with(backend, "up")
        async with workspace(tmp_path, role="look") as looker:
            _, first = await job_now(looker)
            assert (await looker.job_log("work")).text == "up\n"
            seen = first
            async with asyncio.timeout(60):
                while seen.cost_usd == first.cost_usd:
                    _, seen = await job_now(looker)
            assert seen.cost_usd > first.cost_usd
            assert seen.deadline_at is not None
        await backend.act(Kill(kind="Job", name="work"))
