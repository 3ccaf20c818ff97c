"""The detached scheduler: one a workspace, found, started, asked and stopped; what it leaves after a crash; where its socket lies."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from detached import MODULE, DetachedWorkspace, going, in_folder, scored

from local_backend.backend import open_local
from local_backend.hosting.places import LONGEST_SOCKET, socket_path
from nodus_tui.connect import attached_to
from nodus_tui.contract.backend import BackendOptions
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.scheduler import RECORD_NAME, surroundings_digest
from nodus_tui.remote import channel
from nodus_tui.remote.local import LocalScheduler

pytestmark = pytest.mark.timeout(100)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def exists(path: str) -> bool:
    return Path(path).exists()


@pytest.fixture
def place(tmp_path: Path) -> DetachedWorkspace:
    return in_folder(tmp_path)


async def test_it_starts_answers_privately_and_stops(place: DetachedWorkspace) -> None:
    record = await place.scheduler.ensure()
    assert record is not None
    assert [process.pid for process in place.processes()] == [record.pid]
    assert {mode(path) for path in (Path(record.socket), place.home / RECORD_NAME, place.home / "nodus.db")} == {0o600}
    assert os.getsid(record.pid) != os.getsid(0), "no terminal's end may reach it"
    assert await place.scheduler.ensure() == record
    async with attached_to(place.scheduler, record) as backend:
        assert (await backend.info()).workspace == str(place.home)
    ended = await place.scheduler.stop()
    assert ended is not None
    assert ended.pid == record.pid
    assert place.processes() == []
    assert not (place.home / RECORD_NAME).exists()
    assert not exists(record.socket)
    assert await place.scheduler.stop() is None


async def test_what_asks_a_scheduler_loads_neither_a_backend_nor_an_http_client(place: DetachedWorkspace) -> None:
    await place.scheduler.ensure()
    show = (
        "import sys; from nodus_tui.cli.main import main\ntry:\n    main(['get', 'groups'])\nfinally:\n    print(*sys.modules, sep='\\n')"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", show], env=place.environment, capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())
    assert "nodus_tui.remote.socket_wire" in loaded
    assert not loaded & {"local_backend", "httpx2", "sqlite3", "nodus_tui.contract.events", "nodus_tui.contract.resources.job"}


async def test_whoever_attaches_is_connected_before_anything_is_asked(place: DetachedWorkspace) -> None:
    record = await place.scheduler.ensure()
    assert record is not None
    async with attached_to(place.scheduler, record) as backend:
        assert backend.link.connected
        assert (await backend.snapshot()).groups == ()
        assert backend.link.connected


async def test_many_that_want_one_at_once_start_one_process_and_all_reach_it(place: DetachedWorkspace) -> None:
    """As many consoles do that lose a scheduler in the same moment, and those that come to a workspace that is new."""
    for _ in range(2):
        records = await asyncio.gather(*(place.scheduler.ensure() for _ in range(6)))
        assert {record.pid for record in records if record} == {place.record().pid}
        await place.kill_scheduler()
    starts = [line for line in place.log().splitlines() if re.search(r"process \d+ starts$", line)]
    assert len(starts) == 2, place.log()


async def test_of_two_processes_that_start_at_once_one_works_and_the_other_leaves(place: DetachedWorkspace) -> None:
    command = [sys.executable, "-m", MODULE, "--home", str(place.home), "--config", str(place.config), "--detach"]
    both = [await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE) for _ in range(2)]
    told = [json.loads((await process.communicate())[0])["state"] for process in both]
    assert sorted(told) == ["held", "ready"]
    assert await place.none_but(place.record().pid) == [place.record().pid]


async def test_a_hangup_does_not_reach_it(place: DetachedWorkspace) -> None:
    record = await place.scheduler.ensure()
    assert record is not None
    os.kill(record.pid, signal.SIGHUP)
    async with attached_to(place.scheduler, record) as backend:
        assert (await backend.info()).name == "local"
    assert place.record() == record


async def test_status_start_restart_stop_and_logs(place: DetachedWorkspace) -> None:
    def call(*words: str) -> tuple[int, str, str]:
        done = place.called("scheduler", *words)
        return done.returncode, done.stdout, done.stderr

    assert call("status")[0] == 4
    none = json.loads(call("status", "-o", "json")[1])
    assert (none["running"], none["pid"], none["activeRuns"]) == (False, None, 0)
    assert call("logs")[0] == 0
    assert call("start")[0] == 0
    assert place.called("apply", "-f", place.spec(family="slow", active=2)).returncode == 0
    await place.group_when("hello", going(2))
    code, out, _ = call("status", "--json")
    told = json.loads(out)
    record = place.record()
    assert code == 0
    assert told["running"] is True
    assert (told["pid"], told["socket"], told["version"]) == (record.pid, record.socket, record.version)
    assert told["startedAt"] == record.to_document()["startedAt"]
    assert told["activeRuns"] == 2
    assert told["holds"] == ["group hello (Running)"]
    assert call("status")[1].endswith("2 runs at work in 1 group\nunfinished: group hello (Running)\n")
    assert call("start")[0] == 0
    assert place.record() == record
    place.config.write_text(place.config.read_text(encoding="utf-8") + "scheduler: {stopGrace: 1s}\n", encoding="utf-8")
    code, _, said = call("restart")
    assert code == 0
    assert "unfinished, and kept for the next one: hello" in said
    assert place.record().pid != record.pid
    await place.group_when("hello", going(2))
    assert call("stop")[0] == 0
    assert "answers on" in call("logs", "-n", "200")[1]
    assert place.processes() == []


async def test_unfinished_groups_keep_their_phase_over_a_stop_and_go_on_by_themselves(place: DetachedWorkspace) -> None:
    await place.scheduler.ensure()
    assert place.installed("run", "-f", place.spec(family="steady", tasks=16, active=2), "--detach").returncode == 0
    await place.group_when("hello", scored(1))
    await place.scheduler.stop()
    told = json.loads(place.called("results", "hello", "--json").stdout)
    assert told["phase"] == "Running"
    assert told["cost"]["unconfirmedUSD"] == "0.00", "calls in flight had time to end"
    assert place.processes() == [], "a look starts nothing"
    waited = place.installed("wait", "hello", "--json", "-q")
    assert waited.returncode == 0, waited.stderr
    assert json.loads(waited.stdout)["coverage"] == {"scored": 16, "total": 16}


async def test_after_kill_9_the_next_verb_starts_a_new_one_which_goes_on(place: DetachedWorkspace) -> None:
    assert place.installed("run", "-f", place.spec(family="steady", tasks=12, active=2), "--detach").returncode == 0
    await place.group_when("hello", scored(1))
    killed = await place.kill_scheduler()
    assert (place.home / RECORD_NAME).exists(), "it had no time to remove its record"
    status = place.called("scheduler", "status")
    assert status.returncode == 4
    assert "ended without a word" in status.stderr
    waited = place.installed("wait", "hello", "--json", "-q")
    assert waited.returncode == 0, waited.stderr
    assert json.loads(waited.stdout)["coverage"] == {"scored": 12, "total": 12}
    assert place.record().pid != killed.pid


async def test_a_client_that_is_attached_starts_a_new_one_after_a_crash_and_misses_nothing(place: DetachedWorkspace) -> None:
    record = await place.scheduler.ensure()
    assert record is not None
    async with attached_to(place.scheduler, record) as backend:
        assert place.installed("run", "-f", place.spec(family="steady", tasks=12, active=2), "--detach").returncode == 0
        cursor, phases = 0, []
        killed = False
        async for batch in backend.watch(after=0):
            assert batch.cursor > cursor
            cursor = batch.cursor
            phases += [event.status.get("phase") for event in batch.events if event.kind == "AgentGroup"]
            if not killed and any(event.status.get("verdict") for event in batch.events):
                killed = True
                await place.kill_scheduler()
            if GroupPhase.COMPLETED in phases:
                break
    assert place.record().pid != record.pid


async def test_a_client_that_only_watches_starts_none_that_was_stopped_on_purpose(place: DetachedWorkspace) -> None:
    record = await place.scheduler.ensure()
    assert record is not None
    async with attached_to(place.scheduler, record) as backend:
        await place.scheduler.stop()
        with pytest.raises(NodusError, match="was stopped") as refused:
            async for _ in backend.watch(after=0):
                pass
    assert refused.value.code is ErrorCode.UNAVAILABLE
    assert place.processes() == []


async def test_a_configuration_that_cannot_be_used_is_told_with_its_line_and_nothing_stays(place: DetachedWorkspace) -> None:
    place.config.write_text("models: 7\n", encoding="utf-8")
    done = place.installed("run", "-f", place.spec())
    assert done.returncode == 2
    assert "config.yaml:1:9" in done.stderr
    assert await place.none_but() == []


async def test_an_idle_one_is_replaced_when_the_configuration_or_a_key_changed_and_one_at_work_is_not(place: DetachedWorkspace) -> None:
    assert place.installed("run", "-f", place.spec(), "-q").returncode == 0
    first = place.record()
    assert place.installed("run", "-f", place.spec("two"), "-q").returncode == 0
    assert place.record() == first
    done = place.installed("run", "-f", place.spec("three"), "-q", env={"OTHER_API_KEY": "secret-value"})
    assert done.returncode == 0, done.stderr
    second = place.record()
    assert second.pid != first.pid
    assert "secret-value" not in (place.home / RECORD_NAME).read_text(encoding="utf-8")
    busy = place.called("apply", "-f", place.spec("four", family="slow"), env={"OTHER_API_KEY": "secret-value"})
    assert busy.returncode == 0
    await place.group_when("four", going(3))
    place.config.write_text(place.config.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    told = place.called("apply", "-f", place.spec("five", family="slow"))
    assert "is not replaced while it holds group four (Running); `nodus-tui scheduler restart`" in told.stderr
    waited_for = (
        "group/three: Completed; ",
        "AgentGroup four created",
        "group/four: Running",
    )
    while not all(words in (log := place.called("scheduler", "logs").stdout) for words in waited_for):  # Written down soon after.
        await asyncio.sleep(0.05)
    assert "apply by " in log
    assert "GET /v1/" not in log
    assert place.record() == second


async def test_work_in_another_process_is_not_taken_from_it(place: DetachedWorkspace) -> None:
    async with await open_local(BackendOptions(home=place.home, config=place.config, role="work")):
        done = await asyncio.to_thread(place.installed, "run", "-f", place.spec(), "--json", "-q")
        assert done.returncode == 0, done.stderr
        start = await asyncio.to_thread(place.installed, "scheduler", "start")
        assert start.returncode == 4
        assert "another process does this workspace's work itself" in start.stderr
        assert await place.none_but() == []


async def test_who_waits_for_a_scheduler_that_stands_still_is_told_once_and_gets_the_answer(
    place: DetachedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = await place.scheduler.ensure()
    assert record is not None
    told: asyncio.Queue[str] = asyncio.Queue()
    async with attached_to(place.scheduler, record, told.put_nowait) as backend:
        await backend.info()
        os.kill(record.pid, signal.SIGSTOP)
        monkeypatch.setattr(channel, "SILENT_SECONDS", 0.2)
        try:
            asked = [asyncio.create_task(backend.info()) for _ in range(2)]
            what_to_do = f"that process is stopped; `kill -CONT {record.pid}` lets it go on"
            assert await told.get() == f"waiting for the scheduler (process {record.pid}) to answer: {what_to_do}"
        finally:
            os.kill(record.pid, signal.SIGCONT)
        assert {info.workspace for info in await asyncio.gather(*asked)} == {str(place.home)}
    assert told.empty()


async def test_one_whose_folder_was_deleted_ends_by_itself_and_makes_none_again(place: DetachedWorkspace) -> None:
    assert place.installed("run", "-f", place.spec(family="slow", tasks=2), "--detach").returncode == 0
    await place.group_when("hello", going(1))
    while place.home.exists():  # It is at work, and may make a file while the others are removed.
        shutil.rmtree(place.home, ignore_errors=True)
    assert await place.none_but() == []
    assert not place.home.exists()


async def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    place = in_folder(tmp_path / ("long-" * 20))
    record = await place.scheduler.ensure()
    assert record is not None
    assert len(record.socket) <= LONGEST_SOCKET
    assert mode(Path(record.socket).parent) == 0o700
    assert place.installed("run", "-f", place.spec(), "-q").returncode == 0
    await place.scheduler.stop()
    assert not exists(record.socket)


def test_a_short_folder_that_others_can_use_is_refused(tmp_path: Path) -> None:
    runtime = Path(f"/tmp/nodus-test-{os.getpid()}")
    (runtime / "nodus-tui").mkdir(parents=True, mode=0o777)
    (runtime / "nodus-tui").chmod(0o777)
    try:
        with pytest.raises(NodusError, match="nobody else can use"):
            socket_path(tmp_path / ("long-" * 20), {"XDG_RUNTIME_DIR": str(runtime)})
    finally:
        (runtime / "nodus-tui").rmdir()
        runtime.rmdir()


def test_a_stale_record_is_no_scheduler(tmp_path: Path) -> None:
    place = in_folder(tmp_path)
    place.home.mkdir()
    scheduler = LocalScheduler(place.home, None, lambda: MODULE)
    (place.home / RECORD_NAME).write_text("half of it", encoding="utf-8")
    assert scheduler.record() is None
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place.home / "scheduler.sock"))
    record = {"pid": os.getpid(), "processStartTime": 1.0, "socket": str(place.home / "scheduler.sock"), "version": "0.1.0"}
    (place.home / RECORD_NAME).write_text(json.dumps({**record, "startedAt": "2026-01-01T00:00:00Z"}), encoding="utf-8")
    found = scheduler.record()
    assert found is not None
    assert scheduler.running() is None
    assert scheduler.process(found) is None, "this process has its number and another start"
    assert place.installed("run", "-f", place.spec(), "-q").returncode == 0


def test_surroundings_tell_changes_and_hide_keys() -> None:
    text = b"models: [{family: a, apiKeyEnv: MY_KEY}]"
    environ = {"MY_KEY": "one", "X_API_KEY": "two", "PATH": "/bin"}
    same = surroundings_digest(text, environ, "salt")
    assert same == surroundings_digest(text, {**environ, "PATH": "/usr/bin"}, "salt")
    others = [
        surroundings_digest(text + b" ", environ, "salt"),
        surroundings_digest(text, {**environ, "MY_KEY": "other"}, "salt"),
        surroundings_digest(text, {**environ, "X_API_KEY": "other"}, "salt"),
        surroundings_digest(text, {**environ, "Y_API_KEY": "new"}, "salt"),
        surroundings_digest(text, environ, "pepper"),
    ]
    assert len({same, *others}) == 6
