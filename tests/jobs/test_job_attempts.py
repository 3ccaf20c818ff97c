"""Another attempt of a job in the same work folder under the same cap, a higher cap, and what a command tells of itself."""

import asyncio
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from job_place import job, job_folder, job_now, log_with, python, record_of, recorded, until, workspace

from nodus_tui.contract.actions import ExtendCap, Kill, RetryJob
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError

pytestmark = pytest.mark.timeout(60)

_SECOND_TRY = "if test -e half; then echo whole > whole; echo second; else echo half > half; printf first; exit 7; fi"


def retry(name: str = "work") -> RetryJob:
    return RetryJob(kind="Job", name=name)


def extend(cap: str, name: str = "work") -> ExtendCap:
    return ExtendCap(kind="Job", name=name, cap_usd=Decimal(cap))


async def refused(backend: Backend, action: Any) -> str:
    with pytest.raises(NodusError) as met:
        await backend.act(action)
    assert met.value.code is ErrorCode.INVALID_ACTION
    return met.value.detail


async def test_a_retry_goes_on_in_the_same_folder_and_counts_under_the_same_cap(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=_SECOND_TRY, outputs=["half", "whole"], maxCostUSD="1"))
        first = await until(backend)
        assert (first.phase, first.attempt, [each.path for each in first.outputs]) == ("Failed", 1, ["half"])
        outcome = await backend.act(retry())
        assert [(each.field, each.old, each.new) for each in outcome.changes] == [("phase", "Failed", "Pending")]
        second = await until(backend)
        assert (second.phase, second.attempt, [each.path for each in second.outputs]) == ("Succeeded", 2, ["half", "whole"])
        record = await record_of(backend)
        assert record.cost_before > 0
        earlier = await backend.job_log("work")
        later = await backend.job_log("work", after=earlier.next_offset)
        assert re.fullmatch(r"first\n=== attempt 2, [-0-9]{10} [:0-9]{8} UTC ===\nsecond\n", earlier.text + later.text)
        assert second.cost_usd > first.cost_usd
        assert "has succeeded" in await refused(backend, retry())
        assert "nothing left to pay for" in await refused(backend, extend("2"))


async def test_whatever_a_command_made_of_its_own_places_it_is_tried_again(tmp_path: Path) -> None:
    command = "test -e seen && exit 0; touch seen; rm -rf $TMPDIR; ln -s / $TMPDIR; mkdir -p $NODUS_PROGRESS/deep; exit 7"
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=command))
        assert (await until(backend)).phase == "Failed"
        await backend.act(retry())
        status = await until(backend)
        assert (status.phase, status.attempt) == ("Succeeded", 2), status.message


async def test_what_is_going_is_not_tried_again(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="echo up; sleep 300"))
        await log_with(backend, "up")
        assert "has not ended" in await refused(backend, retry())
        with pytest.raises(NodusError, match="there is no Job"):
            await backend.act(retry("nobody"))


async def test_no_cap_is_passed_over_all_attempts_and_a_higher_one_lets_it_go_on(tmp_path: Path) -> None:
    """A cent a second: what the first attempt leaves pays for no second one, and a higher cap begins it at once."""
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="test -e once && exit 0; touch once; sleep 300", maxCostUSD="0.03"))
        first = await until(backend)
        assert first.reason == "MaxCostReached"
        assert Decimal("0.01") < first.cost_usd <= Decimal("0.03")
        assert "extend-cap job/work AMOUNT" in await refused(backend, retry())
        assert "never lowered" in await refused(backend, extend("0.02"))
        same = await backend.act(extend("0.03"))
        assert not same.changed
        outcome = await backend.act(extend("0.10"))
        assert [each.field for each in outcome.changes] == ["maxCostUSD", "phase"]
        second = await until(backend)
        assert (second.phase, second.attempt, second.cap_usd) == ("Succeeded", 2, Decimal("0.10"))
        assert first.cost_usd < second.cost_usd <= Decimal("0.10")


async def test_the_cap_of_a_running_job_is_raised_and_its_end_moves(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="echo up; sleep 7", maxCostUSD="0.08"))
        await log_with(backend, "up")
        before = await until(backend, "Running")
        await backend.act(extend("100"))
        _, after = await job_now(backend)
        assert before.deadline_at is not None
        assert after.deadline_at is not None
        assert after.deadline_at > before.deadline_at
        # Under its old cap it would have been asked to end after six and a half seconds.
        end = await until(backend)
        assert (end.phase, end.attempt) == ("Succeeded", 1)
        assert end.cost_usd > Decimal("0.065")


async def test_a_killed_job_keeps_its_higher_cap_for_a_retry(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="kill -TERM $$", maxCostUSD="1"))
        await until(backend)
        outcome = await backend.act(extend("2"))
        assert "a retry begins its next attempt" in outcome.message
        _, status = await job_now(backend)
        assert (status.phase, status.cap_usd) == ("Failed", Decimal(2))


_TELLS = """
import json, os, pathlib, time
def tell(**said):
    new = pathlib.Path(os.environ["NODUS_PROGRESS"] + ".mine")
    new.write_text(json.dumps(said))
    new.replace(os.environ["NODUS_PROGRESS"])
tell(progress=0.25, message="counting\\x1b[2J")
input_ = pathlib.Path("go")
while not input_.exists():
    time.sleep(0.01)
tell(progress=0.5, problem="the counter broke", notes=["It was cold."], scores=[], other=1)
raise SystemExit(3)
"""


async def test_what_a_command_tells_of_itself_is_told_on(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=python(_TELLS)))
        while True:
            _, status = await job_now(backend)
            if status.progress is not None:
                break
            await asyncio.sleep(0.05)
        assert (status.progress, status.message) == (0.25, "counting\x1b[2J")
        (tmp_path / "home" / "jobs" / "work" / "work" / "go").touch()
        end = await until(backend)
        assert (end.progress, end.message) == (0.5, "it exited with 3: the counter broke")
        assert "It was cold." in end.notes


@pytest.mark.parametrize(
    "said", ["", "{", "[1]", json.dumps({"progress": 2}), json.dumps({"progress": "a"}), json.dumps({"message": "x" * 2000}), "\\0" * 9]
)
async def test_nonsense_is_as_if_nothing_was_told(tmp_path: Path, said: str) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=["/bin/sh", "-c", 'printf "$1" > "$NODUS_PROGRESS"', "sh", said]))
        end = await until(backend)
        assert (end.phase, end.progress, end.message) == ("Succeeded", None, "")


async def test_one_whose_cap_is_raised_while_it_is_being_ended_at_it_goes_on(tmp_path: Path) -> None:
    """Its supervisor has asked it to end, and hears of no other cap any more."""
    asked = "trap 'echo asked; while ! test -e raised; do sleep 0.05; done; exit 3' TERM"
    command = f"test -e raised && exit 0; {asked}; while :; do sleep 0.05; done"
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=command, maxCostUSD="0.08"))
        await log_with(backend, "asked")
        told = await backend.act(extend("1"))
        assert told.changed
        (job_folder(tmp_path) / "work" / "raised").touch()
        status = await until(backend)
        assert (status.phase, status.attempt) == ("Succeeded", 2)
        assert status.earlier_usd > 0
        assert status.cost_usd <= 1


async def test_a_kill_of_one_that_is_being_ended_at_its_cap_stands_whatever_its_cap_becomes(tmp_path: Path) -> None:
    command = "trap 'echo asked; while ! test -e killed; do sleep 0.05; done; exit 3' TERM; while :; do sleep 0.05; done"
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=command, maxCostUSD="0.08"))
        await log_with(backend, "asked")
        killing = asyncio.ensure_future(backend.act(Kill(kind="Job", name="work")))
        await recorded(backend, lambda record: record.stop == "Killed")
        await backend.act(extend("1"))
        (job_folder(tmp_path) / "work" / "killed").touch()
        await killing
        assert (await until(backend)).attempt == 1
