"""The journeys of a person whose agents work in sandboxes: reading what tools did, and fetching files."""

import asyncio
from pathlib import Path

import pytest
from console_driver import Driver, console, press, screen_text, settled
from console_records import group, run, tool_conversation, tool_run
from scripted_backend import ScriptedBackend

from nodus_tui.app import NodusApp
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import RunPhase
from nodus_tui.contract.sandboxes import FileEntry


def world() -> ScriptedBackend:
    runs = [tool_run(0), run(1, phase=RunPhase.RUNNING)]
    backend = ScriptedBackend([group()], runs)
    backend.transcripts[runs[0].name] = tool_conversation(runs[0].name)
    backend.contents = {"median.py": b"x = 1\n", "notes/plan.md": b"later"}
    backend.more_files = (FileEntry(path="notes", kind="folder"), FileEntry(path="out", kind="link"))
    return backend


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the console is started in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(here: Path) -> dict[str, bytes]:
    return {str(each.relative_to(here)): each.read_bytes() for each in here.rglob("*") if each.is_file()}


def said(app: NodusApp) -> str:
    """What the screen says, wherever a path makes its sentences break."""
    return " ".join(screen_text(app).replace("│", " ").split())


async def until_said(app: NodusApp, pilot: Driver, words: str) -> None:
    """Wait until the screen says so: files are written beside it."""
    async with asyncio.timeout(60):
        while words not in said(app):
            await pilot.pause(0.01)


async def test_one_file_is_saved_beside_the_console(here: Path) -> None:
    async with console(world()) as (app, pilot):
        await press(app, pilot, "enter", "enter", "f", "enter")
        assert "Save median.py" in screen_text(app)
        await press(app, pilot, "enter")
        await until_said(app, pilot, "Saved")
    assert written(here) == {"median.py": b"x = 1\n"}


async def test_everything_is_saved_and_links_are_named(here: Path) -> None:
    async with console(world(), size=(120, 40)) as (app, pilot):
        await press(app, pilot, "enter", "enter", "f", "a", "enter")
        await until_said(app, pilot, "2 files")
        assert "is a link and was left out" in said(app)
    assert written(here) == {"fleet-0000-a1/median.py": b"x = 1\n", "fleet-0000-a1/notes/plan.md": b"later"}


async def test_what_is_there_is_kept_unless_the_person_says_otherwise(here: Path) -> None:
    (here / "median.py").write_bytes(b"mine")
    async with console(world()) as (app, pilot):
        await press(app, pilot, "enter", "enter", "f", "enter", "enter")
        await until_said(app, pilot, "exists, and nothing was copied")
        assert "--force" not in screen_text(app)
        assert written(here) == {"median.py": b"mine"}
        await press(app, pilot, "f", "enter", "tab", "enter")
        await until_said(app, pilot, "Saved")
    assert written(here) == {"median.py": b"x = 1\n"}


async def test_a_link_a_bad_place_and_a_cancelled_dialog_write_nothing(here: Path) -> None:
    async with console(world()) as (app, pilot):
        await press(app, pilot, "enter", "enter", "f", "end", "enter")
        assert "A link is not followed" in screen_text(app)
        await press(app, pilot, "home", "enter")
        await press(app, pilot, "home", *"none/")
        assert "is no folder" in said(app)
        await press(app, pilot, "enter")
        assert "Save median.py" in screen_text(app)
        await press(app, pilot, "escape")
        assert "Nothing was saved" in screen_text(app)
        await press(app, pilot, "f", "escape")
        assert "Nothing was saved" in screen_text(app)
    assert written(here) == {}


async def test_a_run_without_a_sandbox_and_a_backend_that_refuses_say_so() -> None:
    backend = world()
    async with console(backend) as (app, pilot):
        await press(app, pilot, "enter", "j", "enter")
        assert "f files" not in screen_text(app)
        await press(app, pilot, "f")
        assert "it has no files" in screen_text(app)
        await press(app, pilot, "o")
        assert "No tool was used" in screen_text(app)
        await press(app, pilot, "escape", "k", "enter")
        backend.refuse = NodusError(ErrorCode.UNAVAILABLE, "the sandbox is gone")
        await press(app, pilot, "f")
        assert "! the sandbox is gone" in screen_text(app)


async def test_the_count_of_sandboxes_follows_the_backend() -> None:
    backend = world()
    async with console(backend) as (app, pilot):
        assert "sandbox" not in screen_text(app)
        backend.sandboxes_running = 3
        await app.work.look()
        await settled(app, pilot)
        assert "b 3 sandboxes running" in screen_text(app)
        backend.sandboxes_running = 0
        await app.work.look()
        await settled(app, pilot)
        assert "running" not in screen_text(app).splitlines()[-2]
