"""Hostile text through every place of the screen: nothing that a terminal obeys, no markup, no button that a task or a model wrote."""

import json
import unicodedata

import pytest
from console_driver import clickable, console, press, screen_text, settled, wire_text
from console_records import NOW, conversation, every_kind_of_run, group, run, tool_run, usd
from scripted_backend import ScriptedBackend

from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent_run import ToolCallRecord, ToolResultRecord, TranscriptTurn
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.screens.launch import EstimateScreen

ATTACKS = {
    "osc 52": "\x1b]52;c;ZXZpbA==\x07",
    "title": "\x1b]0;owned\x07",
    "csi": "\x9b2J\x1b[2J\x1b[?1049l",
    "click": "[@click=app.leave]see log[/]",
    "markup error": "[/foo] x[/b]y [bold",
    "bidi": "\u202egnp.exe\u2066",
    "zero width": "a\u200b\u200d\ufeffb",
    "surrogate": "x\udcff",
    "newlines": "one\r\ntwo\u2028three\x0bfour",
    "zalgo": "e" + "\u0301\u0302\u0303\u0304" * 20,
    "wide": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u65e5\u672c\u8a9e" * 30,
}


def assert_harmless(app) -> None:
    text = wire_text(app)
    bad = {f"U+{ord(char):04X}" for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}}
    assert not bad
    assert clickable(app) == []
    text.encode("utf-8")


def hostile_world(evil: str) -> ScriptedBackend:
    """The attack in every text field that a task, a model, a server or a file can fill."""
    poisoned = [
        each.model_copy(
            update={
                "spec": each.spec.model_copy(update={"task_id": evil}),
                "status": each.status.model_copy(update={"message": evil}),
            },
        )
        for each in every_kind_of_run()
    ]
    poisoned.append(run(20, task=evil, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED, message=evil, cost_usd=usd("0.05")))
    stalled = group(phase=GroupPhase.STALLED, message=evil, model_name=evil, model_family=evil, environment_digest=evil, price_source=evil)
    box = tool_run().status.sandbox.model_copy(update={"engine": evil, "image": evil})
    poisoned = [each.model_copy(update={"status": each.status.model_copy(update={"sandbox": box})}) for each in poisoned]
    backend = ScriptedBackend([stalled], poisoned)
    backend.contents = {evil: b"x", f"{evil}/{evil}": b"y"}
    backend.more_files = (FileEntry(path=f"link {evil}", kind="link"),)
    for each in poisoned:
        told = conversation(each.name, evil, evil, evil)
        call = told.calls[0].model_copy(update={"error": evil, "stop_reason": evil, "state": "Unconfirmed"})
        asked = (
            ToolCallRecord(id=evil, name=evil, arguments=evil),
            ToolCallRecord(id="2", name="bash", arguments=json.dumps({"command": evil})),
        )
        results = (
            ToolResultRecord(call_id=evil, name=evil, text=evil, is_error=True),
            ToolResultRecord(call_id="2", name="bash", text=evil),
        )
        turns = (
            *told.turns,
            TranscriptTurn(index=3, role="assistant", text=evil, at=NOW, tool_calls=asked),
            TranscriptTurn(index=4, role="tool", text="", at=NOW, tool_results=results),
        )
        backend.transcripts[each.name] = told.model_copy(
            update={"turns": turns, "calls": (call,), "grader_message": evil, "price_source": evil}
        )
    return backend


@pytest.mark.parametrize("evil", ATTACKS.values(), ids=ATTACKS.keys())
async def test_every_view_and_dialog_is_harmless(evil: str) -> None:
    backend = hostile_world(evil)
    async with console(backend, size=(130, 40)) as (app, pilot):
        assert_harmless(app)
        await press(app, pilot, "e")
        assert_harmless(app)
        await press(app, pilot, "escape", "enter")
        assert_harmless(app)
        await press(app, pilot, "end", "e")
        assert_harmless(app)
        await press(app, pilot, "escape", "x")
        assert_harmless(app)
        await press(app, pilot, "escape", "enter")
        await settled(app, pilot)
        assert_harmless(app)
        assert "CALL" in screen_text(app)
        await press(app, pilot, "o", "end")
        assert_harmless(app)
        assert "▾" in screen_text(app)
        await press(app, pilot, "m")
        assert_harmless(app)
        await press(app, pilot, "m", "slash", *"e", "enter", "n", "right_square_bracket", "a")
        assert_harmless(app)
        await press(app, pilot, "escape", "Y", "y", "c")
        assert app.clipboard.replace("\n", "").replace("\t", "").isprintable()
        await press(app, pilot, "f")
        assert "Files of" in screen_text(app)
        assert_harmless(app)
        await press(app, pilot, "enter")
        assert_harmless(app)
        await press(app, pilot, "escape")
        assert_harmless(app)
        backend.refuse = NodusError(ErrorCode.INVALID_ACTION, evil)
        await press(app, pilot, "x", "right", "enter")
        assert_harmless(app)
        assert app.is_running


@pytest.mark.parametrize("evil", ATTACKS.values(), ids=ATTACKS.keys())
async def test_faults_and_lost_connections_are_harmless(evil: str, tmp_path) -> None:
    backend = hostile_world(evil)
    spec = tmp_path / "spec.yaml"
    spec.write_text("kind: [/b]\n", encoding="utf-8")
    async with console(backend, size=(100, 40)) as (app, pilot):
        backend.refuse = NodusError.invalid_spec((Fault(message=evil, file=evil, line=3, column=1, path=evil, suggestion=evil),))
        screen = EstimateScreen(app.services, str(spec), lambda _group, _told: None)
        await app.push_screen(screen)
        await app.workers.wait_for_complete([worker for worker in app.workers if worker.node is screen])
        screen._faults = backend.refuse.faults
        screen.show()
        await settled(app, pilot)
        assert_harmless(app)
        backend.break_off(NodusError(ErrorCode.UNAVAILABLE, evil))
        await settled(app, pilot)
        assert_harmless(app)


async def test_the_copied_row_is_safe_to_paste(tmp_path) -> None:
    async with console(hostile_world("\x1b[31m;rm -rf ~\n"), start_at="fleet", state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "y")
        assert "\x1b" not in app.clipboard
        assert "\n" not in app.clipboard
        assert "\x1b" not in (tmp_path / "copied.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("evil", ATTACKS.values(), ids=ATTACKS.keys())
async def test_what_is_told_after_the_end_is_harmless(evil: str) -> None:
    class Unstoppable(ScriptedBackend):
        async def stop_work(self, *, grace_seconds: float) -> None:
            del grace_seconds
            raise NodusError(ErrorCode.UNAVAILABLE, evil)

    async with console(Unstoppable([group()], every_kind_of_run(), scheduling=True)) as (app, pilot):
        await press(app, pilot, "q", "right")
        await pilot.press("enter")
        await pilot.pause()
        told = app._exit_renderables[0]
    assert isinstance(told, str)
    assert told.startswith("The work could not be stopped in order: ")
    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"} for char in told.replace("\n", ""))
