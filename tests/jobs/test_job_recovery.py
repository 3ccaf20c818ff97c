"""What the next scheduler makes of jobs that the one before it left at any point: started once, ended once, booked rightly."""

import asyncio
import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from job_place import has_lock_open, job, job_folder, job_now, log_with, processes_of, record_of, supervisor_of, until, whole_log, workspace

from local_backend.jobs import silence, supervising
from local_backend.jobs.deadlines import charge
from local_backend.jobs.describing import deadlines_of
from local_backend.jobs.launching import order_for, prepare
from local_backend.jobs.order import LOCK_FILE, Report, read_report
from local_backend.jobs.process_tree import kill_all
from local_backend.jobs.supervising import LaunchError, alive, give_up, launch, tell_to_stop
from local_backend.storage.job_records import JobRecord
from nodus_tui.contract.actions import ExtendCap, Kill
from nodus_tui.contract.money import usd_from_nano
from nodus_tui.values import replace

pytestmark = pytest.mark.timeout(60)
GRACE = timedelta(seconds=2)


def with_token(folder: Path, token: str) -> None:
    """What a scheduler leaves that is killed between the word and the deed."""
    connection = sqlite3.connect(folder / "home" / "nodus.db")
    connection.execute("UPDATE jobs SET token = ?", (token,))
    connection.commit()
    connection.close()


def made(folder: Path, command: str) -> JobRecord:
    """A job's record and folder, without any scheduler."""
    (document,) = job(command=command)
    spec = document.resource.spec.to_document()
    record = JobRecord("work", {"name": "work"}, spec, None, cap=10**12, rate=36 * 10**9, created_at=datetime.now(UTC), token="one")
    prepare(folder / "home", record)
    return record


async def test_a_launch_that_was_written_down_and_not_made_is_made_once(tmp_path: Path) -> None:
    command = "echo started >> ran; sleep 0.2; cat ran"
    async with workspace(tmp_path, role="look") as looker:
        # Nobody schedules: the job waits.
        await looker.apply(job(command=command))
        assert (await job_now(looker))[1].phase == "Pending"
    with_token(tmp_path, "lost")
    async with workspace(tmp_path) as backend:
        assert (await until(backend)).phase == "Succeeded"
        assert await whole_log(backend) == "started\n"


def test_a_supervisor_that_comes_after_its_launch_was_given_up_starts_nothing(tmp_path: Path) -> None:
    record = made(tmp_path, "touch ran")
    order = order_for(tmp_path / "home", record, deadlines_of(record, GRACE), os.environ, grace=GRACE, log_bytes=1 << 20)
    folder = job_folder(tmp_path)
    (folder / "token").write_text(record.token)
    assert give_up(folder, record.token)
    late = subprocess.run([sys.executable, "-m", "local_backend.jobs.supervisor"], input=order.to_text().encode(), timeout=30, check=False)
    assert late.returncode == 1
    assert read_report(folder, record.token) is None
    assert not (folder / "work" / "ran").exists()


def test_a_command_whose_first_report_the_disk_does_not_take_is_not_started(tmp_path: Path) -> None:
    """Without one nobody would pay for it once its supervisor is killed. A folder in the report's place is a STAND-IN for a full disk."""
    record = made(tmp_path, "touch ran")
    order = order_for(tmp_path / "home", record, deadlines_of(record, GRACE), os.environ, grace=GRACE, log_bytes=1 << 20)
    folder = job_folder(tmp_path)
    (folder / "report.json.new" / "there").mkdir(parents=True)
    with pytest.raises(LaunchError, match=r"ended before it began; .*supervisor\.log has its words"):
        launch(order, os.environ)
    assert "its first report could not be written" in (folder / "supervisor.log").read_text()
    assert not alive(folder)
    assert not processes_of(record.token)
    assert not (folder / "work" / "ran").exists()


def test_a_second_supervisor_of_the_same_job_starts_nothing(tmp_path: Path) -> None:
    record = made(tmp_path, "echo started >> ran; sleep 300")
    order = order_for(tmp_path / "home", record, deadlines_of(record, GRACE), os.environ, grace=GRACE, log_bytes=1 << 20)
    folder = job_folder(tmp_path)
    launch(order, os.environ)
    assert alive(folder)
    assert not give_up(folder, record.token)
    ran = folder / "work" / "ran"
    while not ran.exists() or not ran.read_text():
        time.sleep(0.01)
    text = order.to_text().encode()
    subprocess.run([sys.executable, "-m", "local_backend.jobs.supervisor"], input=text, timeout=60, check=False)
    assert ran.read_text() == "started\n"
    assert tell_to_stop(folder, "Killed")
    while alive(folder):
        pass
    report = read_report(folder, record.token)
    assert report is not None
    assert (report.state, report.reason) == ("Ended", "Killed")
    assert not tell_to_stop(folder, "Killed")


def test_an_attempt_that_overtakes_the_supervisor_of_the_one_before_waits_for_its_last_step(tmp_path: Path) -> None:
    """Its end is told by the report, after which the process has still to go; here the test holds its lock."""
    record = made(tmp_path, "touch ran")
    order = order_for(tmp_path / "home", record, deadlines_of(record, GRACE), os.environ, grace=GRACE, log_bytes=1 << 20)
    folder = job_folder(tmp_path)
    Report("before", "Ended", started_at="").write(folder, durable=False)
    with (folder / LOCK_FILE).open("w") as before, ThreadPoolExecutor(1) as threads:
        fcntl.flock(before, fcntl.LOCK_EX)
        launched = threads.submit(launch, order, os.environ)
        while not launched.done() and not has_lock_open(tmp_path):
            time.sleep(0.01)
        fcntl.flock(before, fcntl.LOCK_UN)
        assert launched.result() is not None
    while alive(folder):
        time.sleep(0.01)
    assert (folder / "work" / "ran").exists()


async def test_after_the_machine_went_down_its_time_is_booked_as_of_the_last_report(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="printf data > kept; echo up; sleep 300", outputs=["kept"]))
        await log_with(backend, "up")
        record = await record_of(backend)
    os.kill(supervisor_of(tmp_path), signal.SIGKILL)
    kill_all(lambda: processes_of(record.token), seconds=10)
    path = job_folder(tmp_path) / "report.json"
    report = {**json.loads(path.read_text()), "boot": "another", "used_us": 7_000_000}
    path.write_text(json.dumps(report))
    async with workspace(tmp_path) as backend:
        status = await until(backend)
        assert (status.phase, status.reason) == ("Interrupted", "Interrupted")
        assert status.cost_usd == usd_from_nano(charge(7_000_000, record.rate)) == Decimal("0.07")
        assert status.started_at is not None
        assert status.ended_at == status.started_at + timedelta(seconds=7)
        assert [each.path for each in status.outputs] == ["kept"]


async def test_a_supervisor_that_somebody_stopped_is_woken_and_holds_its_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "SILENT_SECONDS", 0.2)
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="echo up; sleep 300", maxCostUSD="0.06"))
        await log_with(backend, "up")
        os.kill(supervisor_of(tmp_path), signal.SIGSTOP)
        status = await until(backend)
        assert (status.phase, status.reason) == ("Failed", "MaxCostReached")
        assert status.cost_usd <= Decimal("0.06")


async def test_a_job_that_stops_its_supervisor_at_once_is_known_and_holds_its_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "SILENT_SECONDS", 0.2)
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="kill -STOP $PPID; trap '' TERM; while true; do sleep 1; done", maxCostUSD="0.06"))
        status = await until(backend)
        assert (status.phase, status.reason) == ("Failed", "MaxCostReached")
        assert Decimal(0) < status.cost_usd <= Decimal("0.06")
        assert not processes_of((await record_of(backend)).token)


async def test_pipes_in_the_place_of_our_files_hold_nobody_up(tmp_path: Path) -> None:
    names = "report.json report.json.new token supervisor.log"
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=f"cd $TMPDIR/..; rm -f {names}; mkfifo {names}; sleep 300", maxCostUSD="0.05"))
        for cap in ("0.05", "0.10"):
            status = await until(backend, "Failed")
            assert status.reason == "MaxCostReached"
            assert Decimal(0) < status.cost_usd <= Decimal(cap)
            if cap == "0.05":
                await backend.act(ExtendCap(kind="Job", name="work", cap_usd=Decimal("0.10")))


def test_a_launch_that_takes_too_long_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervising, "_START_SECONDS", 0.001)
    record = made(tmp_path, "touch ran")
    order = order_for(tmp_path / "home", record, deadlines_of(record, GRACE), os.environ, grace=GRACE, log_bytes=1 << 20)
    with pytest.raises(supervising.LaunchError, match="did not come up within"):
        launch(order, os.environ)
    assert (job_folder(tmp_path) / "token").read_text() == "", "one that comes later ends at once"


async def test_one_that_cannot_be_woken_is_killed_when_its_job_should_have_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "SILENT_SECONDS", 0.2)
    send = supervising.send
    # Somebody stops it again and again.
    monkeypatch.setattr(supervising, "send", lambda folder, report, number: number == signal.SIGKILL and send(folder, report, number))
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="echo up; sleep 300"))
        await log_with(backend, "up")
        token = (await record_of(backend)).token
        os.kill(supervisor_of(tmp_path), signal.SIGSTOP)
        await backend.act(Kill(kind="Job", name="work"))
        status = await until(backend)
        assert (status.phase, status.reason) == ("Failed", "InfrastructureFailure")
        assert not processes_of(token)


def test_a_supervisor_that_reports_is_left_alone() -> None:
    heard = silence.Silences()
    for second in range(0, 100, 5):
        assert heard.remedy("one", second * 1_000_000, second, overdue=True) == "wait"
    told = [heard.remedy("one", 0, float(second), overdue=second > 150) for second in range(100, 200, 10)]
    assert told == ["wait", "wait", "wake", "wait", "wake", "wait", "kill", "wait", "kill", "wait"]


async def test_a_kill_that_was_written_down_is_done_by_the_next_scheduler(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="echo up; sleep 300"))
        await log_with(backend, "up")
    connection = sqlite3.connect(tmp_path / "home" / "nodus.db")
    connection.execute("UPDATE jobs SET stop = 'Killed'")
    connection.commit()
    connection.close()
    async with workspace(tmp_path) as backend:
        assert (await until(backend)).reason == "Killed"


async def test_outputs_that_were_being_kept_are_kept_anew(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="while [ ! -e go ]; do sleep 0.05; done; printf data > out", outputs=["out"]))
        await until(backend, "Running")
    (job_folder(tmp_path) / "outputs").mkdir()
    (job_folder(tmp_path) / "outputs" / "half").write_text("of an earlier try")
    (job_folder(tmp_path) / "work" / "go").touch()
    async with asyncio.timeout(30):
        while alive(job_folder(tmp_path)):
            await asyncio.sleep(0.02)
    async with workspace(tmp_path) as backend:
        status = await until(backend)
        assert [each.path for each in status.outputs] == ["out"]
    assert not (job_folder(tmp_path) / "outputs" / "half").exists()


async def test_a_full_disk_keeps_jobs_from_starting_and_says_so(tmp_path: Path) -> None:
    async with workspace(tmp_path, "minFreeDiskMiB: 1000000000\n") as backend:
        await backend.apply(job(command="true"))
        _, status = await job_now(backend)
        async with asyncio.timeout(30):
            while status.reason is None:
                await asyncio.sleep(0.02)
                _, status = await job_now(backend)
        assert (status.phase, status.reason) == ("Pending", "DiskAlmostFull")


def test_an_order_comes_through_as_it_was_given(tmp_path: Path) -> None:
    record = made(tmp_path, "true")
    order = order_for(tmp_path / "home", record, deadlines_of(record, GRACE), os.environ, grace=GRACE, log_bytes=7)
    again = type(order).from_text(order.to_text())
    assert again == replace(order, command=list(order.command))
