"""The journeys of a person with jobs: find one, watch its log, kill it, save what it kept."""

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest
from console_driver import Driver, console, press, screen_text, settled, wire_text
from console_records import NOW, group
from job_records import changed, job, kept, pass_rate, server, training_job
from scripted_backend import ScriptedBackend

from nodus_tui.app import NodusApp
from nodus_tui.contract.actions import ExtendCap, Kill, RetryJob
from nodus_tui.contract.events import EventBatch
from nodus_tui.contract.resources.job import JobLog
from nodus_tui.widgets.text_pane import TextPane


def world() -> ScriptedBackend:
    backend = ScriptedBackend([group()])
    backend.jobs = {
        "swe-bench": job(),
        "train": job("train", phase="Succeeded", exit_code=0, outputs=(kept("out/model.bin", 6),)),
        "queue": job("queue", phase="Pending", reason="WaitingForMachine", message="waits for 2 CPUs; 1 of 2 are free beside swe-bench"),
    }
    backend.logs = {"swe-bench": "step 1\n\x1b[2Jstep 2\n", "train": "done\n"}
    backend.contents = {"out/model.bin": b"abcdef"}
    return backend


async def until_said(app: NodusApp, pilot: Driver, words: str) -> None:
    async with asyncio.timeout(60):
        while words not in " ".join(screen_text(app).split()):
            await pilot.pause(0.01)


async def open_job(app: NodusApp, pilot: Driver, words: str) -> None:
    await press(app, pilot, "J", "slash", *("colon" if letter == ":" else letter for letter in words), "enter", "enter")


@pytest.mark.parametrize("size", [(80, 24), (60, 15), (200, 50)])
async def test_all_jobs_are_listed_and_the_campaigns_say_how_many_go_on(size: tuple[int, int]) -> None:
    async with console(world(), size=size) as (app, pilot):
        assert "2 jobs going" in screen_text(app)
        await press(app, pilot, "J")
        text = screen_text(app)
        for name in ("swe-bench", "train", "queue", "Running", "Succeeded", "Pending"):
            assert name in text
        assert "waits for 2 CPUs" in " ".join(text.split())
        await press(app, pilot, "escape")
        assert "fleet" in screen_text(app)


async def test_the_log_follows_as_it_grows_and_nothing_in_it_is_obeyed() -> None:
    backend = world()
    async with console(backend) as (app, pilot):
        await open_job(app, pilot, "state:running")
        await until_said(app, pilot, "step 2")
        assert "$0.021 of $0.50" in screen_text(app)
        assert "\x1b" not in wire_text(app)
        assert "␛[2Jstep 2" in screen_text(app)
        backend.logs["swe-bench"] += "".join(f"line {number}\n" for number in range(200))
        await until_said(app, pilot, "line 199")
        # Whoever reads further up is left there.
        await press(app, pilot, "g")
        before = app.screen.query_one("#log", TextPane).scroll_offset.y
        backend.logs["swe-bench"] += "more\n"
        async with asyncio.timeout(60):
            while app.screen.tail.place < len(backend.logs["swe-bench"].encode()):  # type: ignore[attr-defined]
                await pilot.pause(0.01)
        await settled(app, pilot)
        assert app.screen.query_one("#log", TextPane).scroll_offset.y == before == 0
        backend.jobs["swe-bench"] = job(phase="Failed", reason="Timeout", message="it was ended at its timeout")
        event = changed("swe-bench", 101, **backend.jobs["swe-bench"].status.to_document())
        for reader in backend._readers:
            reader.put_nowait(EventBatch(cursor=101, events=(event,)))
        await until_said(app, pilot, "the log has ended")
        assert "Timeout: it was ended at its timeout" in screen_text(app)


async def test_a_job_that_has_written_nothing_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = world()
    answer = backend.job_log

    async def patient(name: str, *, after: int = 0, limit: int = 65_536, wait_seconds: float = 0) -> JobLog:
        """As of a job that stays silent: whoever waits for output waits."""
        if wait_seconds:
            await asyncio.Event().wait()
        return await answer(name, after=after, limit=limit)

    monkeypatch.setattr(backend, "job_log", patient)
    async with console(backend) as (app, pilot):
        await open_job(app, pilot, "state:pending")
        await until_said(app, pilot, "Nothing is written yet.")


async def test_a_server_is_listed_with_its_users_who_are_named_before_it_is_killed() -> None:
    backend = world()
    backend.jobs["qwen-server"] = server(message="serves qwen at http://127.0.0.1:8000/v1, used by hello, second")
    async with console(backend, size=(160, 45)) as (app, pilot):
        await press(app, pilot, "J", "slash", *("colon" if letter == ":" else letter for letter in "state:serving"), "enter")
        text = " ".join(screen_text(app).split())
        assert "► Serving" in text
        assert "serves qwen as Qwen/Qwen3-8B" in text
        assert "used by hello, second" in text
        await press(app, pilot, "x")
        assert "hello, second use it: runs wait then" in " ".join(screen_text(app).split())
        await press(app, pilot, "escape")


async def test_a_job_is_killed_after_a_question() -> None:
    backend = world()
    async with console(backend) as (app, pilot):
        await open_job(app, pilot, "state:running")
        await press(app, pilot, "x")
        assert "Kill job swe-bench?" in screen_text(app)
        await press(app, pilot, "tab", "enter")
        await until_said(app, pilot, "is done")
    assert [(type(each), getattr(each, "kind", ""), getattr(each, "name", "")) for each in backend.acted] == [(Kill, "Job", "swe-bench")]


async def test_what_has_ended_is_not_killed_and_what_it_kept_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    backend = world()
    async with console(backend, size=(100, 30)) as (app, pilot):
        await open_job(app, pilot, "train")
        await press(app, pilot, "x")
        assert "there is nothing to kill" in screen_text(app)
        await press(app, pilot, "f")
        await until_said(app, pilot, "Files of train")
        await press(app, pilot, "enter")
        await until_said(app, pilot, "Save out/model.bin")
        await press(app, pilot, "enter")
        await until_said(app, pilot, "Saved")
    assert (tmp_path / "model.bin").read_bytes() == b"abcdef"
    assert not backend.acted


async def test_a_job_that_was_deleted_says_so() -> None:
    backend = world()
    async with console(backend) as (app, pilot):
        await open_job(app, pilot, "train")
        deleted = changed("train", 101).model_copy(update={"change": "Deleted", "at": NOW})
        for reader in backend._readers:
            reader.put_nowait(EventBatch(cursor=101, events=(deleted,)))
        await until_said(app, pilot, "There is no job train any more")


def scored() -> ScriptedBackend:
    """A TrainingJob at work, one that its cap ended, and one that has succeeded."""
    backend = ScriptedBackend([group()])
    backend.jobs = {"swe-bench": job()}
    backend.training_jobs = {
        "smol": training_job(progress=0.45, message="scoring"),
        "held": training_job("held", phase="Succeeded", environment="own/tasks@1.0.0", progress=1.0, scores=pass_rate()),
        "capped": training_job("capped", phase="Failed", reason="MaxCostReached", progress=0.8),
    }
    backend.logs = {"capped": "half of it\n", "smol": "loading\n", "held": "done\n"}
    return backend


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_training_jobs_are_listed_with_how_far_they_are_and_opened_with_what_they_scored(size: tuple[int, int]) -> None:
    async with console(scored(), size=size) as (app, pilot):
        await press(app, pilot, "J")
        text = screen_text(app)
        for words in ("smol", "held", "capped", "swe-bench"):
            assert words in text
        assert "scoring" in " ".join(text.split())
        await press(app, pilot, "escape")
        await open_job(app, pilot, "held")
        await until_said(app, pilot, "97/100 scored")
        assert "62.0% ± 9.5 (SE 4.9), 97/100 scored" in screen_text(app)


async def test_what_its_cap_ended_is_given_a_higher_one_and_goes_on_and_a_killed_one_is_tried_again() -> None:
    backend = scored()
    backend.training_jobs["stopped"] = training_job("stopped", phase="Cancelled", reason="Killed")
    backend.logs["stopped"] = ""
    async with console(backend, size=(120, 40)) as (app, pilot):
        await open_job(app, pilot, "capped")
        await until_said(app, pilot, "half of it")
        await press(app, pilot, "e")
        assert "It goes on at once with its next attempt." in screen_text(app)
        await press(app, pilot, "enter")
        (raised,) = backend.acted
        assert isinstance(raised, ExtendCap)
        assert (raised.kind, raised.name, raised.cap_usd > Decimal("0.50")) == ("TrainingJob", "capped", True)
        await press(app, pilot, "escape", "escape")
        await open_job(app, pilot, "stopped")
        await press(app, pilot, "r")
        assert "Try stopped again?" in screen_text(app)
        await press(app, pilot, "tab", "enter")
        retried = backend.acted[-1]
        assert isinstance(retried, RetryJob)
        assert (retried.kind, retried.name) == ("TrainingJob", "stopped")
