"""Sandboxes by the Python interface: made, worked in, emptied of their files, ended; by both kinds of calls alike."""

import asyncio
import inspect
from decimal import Decimal
from pathlib import Path

import pytest

from nodus_tui import sdk as nodus
from nodus_tui.sdk import aio

pytestmark = pytest.mark.timeout(60)

SMALL = {"memoryGiB": 0.5, "diskGiB": 0.1, "processes": 64}


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that needs no daemon."""
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "bubblewrap")


def test_a_sandbox_is_made_worked_in_and_removed(tmp_path: Path) -> None:
    box = nodus.Sandbox.create("box", max_cost="1.00", spec={**SMALL, "env": {"WORD": "spec"}})
    done = box.exec(["sh", "-c", "cat; echo $WORD $OTHER; echo err >&2; exit 7"], input="grün\n", env={"OTHER": "call"})
    assert (done.exit_code, done.text, done.stderr) == (7, "grün\nspec call\n", b"err\n")
    assert box.exec(["id", "-u"], user="root", workdir="/tmp").text == "0\n"
    large = bytes(range(256)) * 10_000
    assert box.exec(["wc", "-c"], input=large).text.strip() == str(len(large))
    with pytest.raises(TimeoutError, match=r"sleep in box did not end within 0\.3 s and was killed"):
        box.exec(["sleep", "300"], timeout=0.3)
    while box.exec(["pgrep", "-x", "sleep"]).exit_code == 0:
        pass

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "data").write_bytes(large)
    assert box.upload(tmp_path / "in") == "in"
    with pytest.raises(nodus.NodusError) as there:
        box.upload(tmp_path / "in")
    assert there.value.code is nodus.ErrorCode.CONFLICT
    assert [(each.path, each.size) for each in box.files()] == [("in", 0), ("in/data", len(large))]

    assert box.status().phase == "Running"
    assert box.kill().changed
    status = box.wait(timeout=50)
    assert (status.phase, status.reason, status.files_kept) == ("Stopped", "Killed", True)
    assert status.cost_usd > Decimal(0)
    assert [path.read_bytes() for path in box.download("in/data", tmp_path / "back")] == [large]
    for call in (lambda: box.exec(["true"]), box.wait_until_running, lambda: box.upload(tmp_path / "in")):
        with pytest.raises(nodus.NodusError, match="does not run any more") as over:
            call()
        assert over.value.code is nodus.ErrorCode.INVALID_ACTION
    assert [each.name for each in nodus.Sandbox.list()] == ["box"]
    box.delete()
    assert not nodus.Sandbox.list()
    with pytest.raises(nodus.NodusError):
        nodus.Sandbox.get("box")


async def test_the_same_to_be_awaited_and_several_commands_at_once() -> None:
    box = await nodus.aio.Sandbox.create("box", max_cost="1.00", spec=SMALL)
    assert (await box.wait_until_running(timeout=30)).phase == "Running"
    both = await asyncio.gather(box.exec(["sh", "-c", "until [ -e go ]; do sleep 0.02; done; echo one"]), box.exec(["touch", "go"]))
    assert [each.exit_code for each in both] == [0, 0]
    waiting = asyncio.ensure_future(box.exec(["sh", "-c", "echo up >up; exec sleep 301"]))
    while (await box.exec(["test", "-e", "up"])).exit_code:
        pass
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    while (await box.exec(["pgrep", "-f", "sleep 301"])).exit_code == 0:
        pass
    waiting = asyncio.ensure_future(box.exec(["sleep", "302"]))
    while (await box.exec(["pgrep", "-x", "sleep"])).exit_code:
        pass
    await box.delete()
    ended = await waiting
    assert (ended.exit_code, ended.reason) == (129, "Killed")
    assert ended.message


def test_values_that_are_none_are_told_at_once() -> None:
    with pytest.raises(TypeError, match="max_cost is money"):
        nodus.Sandbox.create("box", max_cost=1.0)  # type: ignore[arg-type]
    with pytest.raises(nodus.NodusError) as faults:
        nodus.Sandbox.create("box", max_cost="1.00", spec={"idelTimeout": "5m"})
    assert "idleTimeout" in {fault.suggestion for fault in faults.value.faults}
    box = nodus.Sandbox("none")
    for command, error in (("ls", TypeError), ([], ValueError), ([1], TypeError)):
        with pytest.raises(error, match="command"):
            box.exec(command)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="input is bytes or text"):
        box.exec(["cat"], input=7)  # type: ignore[arg-type]
    with pytest.raises(nodus.NodusError) as missing:
        box.exec(["ls"])
    assert missing.value.code is nodus.ErrorCode.NOT_FOUND


def test_both_interfaces_have_the_same_calls() -> None:
    calls = {each for each in dir(nodus.Sandbox) if not each.startswith("_")}
    assert calls == {each for each in dir(aio.Sandbox) if not each.startswith("_")}
    for call in calls:
        one, other = getattr(nodus.Sandbox, call), getattr(aio.Sandbox, call)
        assert inspect.signature(one) == inspect.signature(other)
        assert inspect.getdoc(one) == inspect.getdoc(other)
        assert inspect.iscoroutinefunction(other)
