"""`record`, `replay` and the console's `--record` on the command line."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Awaitable, Callable

import pytest
from cli_workspace import COMMAND, Workspace
from click.testing import Result

from nodus_tui.contract.backend import Backend, BackendOptions


def test_a_campaign_is_recorded_and_told_again(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    assert nodus("apply", "-f", workspace.spec(tasks=2)).exit_code == 0
    file = workspace.folder / "recorded"
    # Nobody works on it yet: the work is done by the process that waits for it, while another one records.
    with subprocess.Popen(
        [COMMAND, "record", file, "--until-rest", "--transcripts"], env=workspace.environment, stderr=subprocess.PIPE, text=True
    ) as recorder:
        assert recorder.stderr is not None
        assert recorder.stderr.readline().startswith(f"nodus-tui: recording to {file}; it ends by itself, or at Ctrl-C")
        assert nodus("wait", "hello", "--quiet").exit_code == 0
        said = recorder.stderr.read()
        assert recorder.wait() == 0
    assert "`nodus-tui replay` shows it" in said
    whats = [json.loads(line).get("what") for line in file.read_text(encoding="ascii").splitlines()]
    assert whats.count("transcript") == 2
    assert {"info", "snapshot", "batch", "results", "end"} <= set(whats)
    told = nodus("replay", str(file))
    assert told.exit_code == 0
    first, *lines = told.stdout.splitlines()
    assert first.startswith("# local at ")
    assert any("AgentRun hello-c001: Succeeded, " in line for line in lines)
    assert any(line.endswith("2/2 scored") and "AgentGroup hello: Completed, " in line for line in lines)
    assert lines[-1].endswith("the recording ends (closed)")


def test_a_recording_until_rest_of_a_workspace_at_rest_says_that_nothing_will_move_in_it(
    workspace: Workspace, nodus: Callable[..., Result]
) -> None:
    file = workspace.folder / "still"
    told = nodus("record", str(file), "--until-rest")
    assert told.exit_code == 0
    assert "nothing is at work, so only how things stand is recorded; begin it while something goes on" in told.stderr


def test_a_recording_until_rest_ends_when_what_is_left_is_stalled_and_says_what(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    assert nodus("apply", "-f", workspace.spec(tasks=1, run_cap="0.0005")).exit_code == 0
    file = workspace.folder / "recorded"
    with subprocess.Popen(
        [COMMAND, "record", file, "--until-rest"], env=workspace.environment, stderr=subprocess.PIPE, text=True
    ) as recorder:
        assert recorder.stderr is not None
        recorder.stderr.readline()
        assert nodus("wait", "hello", "--quiet").exit_code == 3
        said = recorder.stderr.read()
        assert recorder.wait() == 0
    assert "nodus-tui: hello is stalled, and nothing of it goes on until somebody acts: " in said
    assert '"Stalled"' in file.read_text(encoding="ascii")
    again = nodus("record", str(workspace.folder / "still"), "--until-rest")
    assert again.exit_code == 0
    assert "hello is stalled" in again.stderr
    assert "nothing is at work, so only how things stand is recorded" in again.stderr


def test_ctrl_c_ends_a_recording_in_order(workspace: Workspace) -> None:
    file = workspace.folder / "recorded"
    with subprocess.Popen([COMMAND, "record", file], env=workspace.environment, stderr=subprocess.PIPE, text=True) as recorder:
        assert recorder.stderr is not None
        assert "Ctrl-C ends it" in recorder.stderr.readline()
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait() == 0
    assert json.loads(file.read_text(encoding="ascii").splitlines()[-1])["why"] == "closed"


def test_the_console_is_recorded_from_its_beginning(
    workspace: Workspace, nodus: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = workspace.folder / "console"

    def shown(options: BackendOptions, reach: Callable[[], Awaitable[Backend]], **_how: object) -> int:
        async def whole() -> int:
            async with await reach() as backend:
                await backend.snapshot()
                assert any("everything that is shown here is recorded" in note for note in (await backend.info()).notes)
            return 0

        return asyncio.run(whole())

    # A terminal and a screen are not what this is about.
    monkeypatch.setattr("nodus_tui.cli.console._lacking", str)
    monkeypatch.setattr("nodus_tui.opening.run_console", shown)
    result = nodus("--record", str(file))
    assert result.exit_code == 0, result.output
    assert f"recorded 0:00 to {file}" in result.stderr
    whats = [json.loads(line).get("what") for line in file.read_text(encoding="ascii").splitlines()]
    assert whats == [None, "snapshot", "info", "end"]
    again = nodus("--record", str(file))
    assert again.exit_code == 2
    assert "is there already" in again.stderr


def test_what_cannot_be_done_is_said(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    there = workspace.write("something")
    for arguments, sentence in (
        (("record", there), "is there already: a recording is a new file"),
        (("replay", there), "is no recording of nodus-tui"),
        (("replay", str(workspace.folder / "none")), "cannot be opened: No such file or directory"),
        (("replay", "x", "--loop"), "--loop is for the console"),
        (("replay", "x", "--speed", "fast"), "is no speed"),
        (("--record", "x", "get", "groups"), "--record belongs to the console"),
    ):
        result = nodus(*arguments)
        assert result.exit_code == 2, arguments
        assert sentence in result.stderr


def test_text_is_made_harmless(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    event = {"cursor": 2, "at": "2026-03-01T12:00:00Z", "change": "Changed", "kind": "AgentRun", "name": "a\u202e\x1b[2J"}
    lines = (
        {"recording": "nodus-tui", "format": 1, "startedAt": "2026-03-01T12:00:00Z", "program": "\x1b]0;x\x07", "of": "\x1b[31mred"},
        {"t": 1.26, "what": "batch", "answer": {"cursor": 2, "events": [{**event, "status": {"phase": "\x9b2J", "message": "\ud800"}}]}},
        {"t": 2, "what": "acted", "asked": {"author": "\x1bann", "action": "kill", "name": "x"}, "problem": {"detail": "no\u2028"}},
        {"t": 3, "what": "acted", "asked": 7},
        {"t": 4, "what": "end", "why": ["odd"]},
    )
    file = workspace.folder / "hostile"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="ascii")
    result = nodus("replay", str(file))
    assert result.exit_code == 0, result.output
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028", "\ud800"} & set(result.stdout)
    assert "0:01.2  AgentRun a<U+202E>␛[2J: \\x9b2J" in result.stdout
    assert "␛ann: kill x: no" in result.stdout
