"""Notices in the console: one line that takes nobody's place, the list of all, the terminal's bell, what happened between visits."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from budget_records import some_budgets
from console_driver import console, press, screen_lines, screen_text, settled
from console_records import NOW, group
from scripted_backend import ScriptedBackend
from textual.pilot import Pilot

from nodus_tui.app import NodusApp
from nodus_tui.console_memory import FILE_NAME
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.notices import NoticesDialog
from nodus_tui.terminal_calls import call_of
from nodus_tui.text import safe_text
from nodus_tui.view_state.views import View


def world() -> ScriptedBackend:
    backend = ScriptedBackend([group(), group("other"), group("third")])
    backend.budgets = some_budgets()
    return backend


def becomes(name: str, cursor: int, phase: str, message: str = "") -> Event:
    status: dict[str, Any] = {"phase": phase, "message": message}
    return Event(cursor=cursor, at=NOW, change="Changed", kind="AgentGroup", name=name, status=status)


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (160, 45)])
async def test_an_end_is_one_line_and_a_count_in_the_head_and_keys_go_where_they_went(size: tuple[int, int]) -> None:
    backend = world()
    async with console(backend, size=size) as (app, pilot):
        assert app.screen.table.cursor_key != "other", "what stands below the table tells of that group itself"
        before = app.screen.table.size.height
        backend.emit(becomes("other", 101, "Stalled", "each of 12 waiting cases needs room for $0.06; " * 5))
        await settled(app, pilot)
        lines = screen_lines(app)
        assert "‖ group other has stalled: each of 12" in lines[-2]
        assert "N 1 new" in lines[0]
        assert app.screen.table.size.height == before
        assert app.screen.focused is app.screen.table
        await press(app, pilot, "N")
        assert isinstance(app.screen, NoticesDialog)
        assert "group other has stalled" in screen_text(app)
        await press(app, pilot, "escape")
        assert "1 new" not in screen_lines(app)[0]


async def test_the_list_has_all_of_them_and_leads_to_what_they_are_about() -> None:
    backend = world()
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "N")
        assert "Nothing has happened yet" in screen_text(app)
        await press(app, pilot, "escape")
        backend.emit(becomes("other", 101, "Completed"), becomes("third", 102, "Failed", "no tasks"))
        await settled(app, pilot)
        assert "! group third has failed: no tasks  N shows 1 more" in screen_text(app)
        await press(app, pilot, "N")
        rows = [text for text in screen_lines(app) if "has completed" in text or "has failed" in text]
        assert "third" in rows[0]
        assert "other" in rows[1]
        await press(app, pilot, "j", "enter")
        assert isinstance(app.screen, ViewScreen)
        assert (app.screen.VIEW, app.screen.group_name) == (View.GROUP, "other")


async def test_news_waits_for_the_answer_that_a_person_reads_and_for_a_dialog() -> None:
    backend = world()
    async with console(backend, size=(120, 40)) as (app, pilot):
        app.screen.notice("✓ what you asked for is done")
        backend.emit(becomes("other", 101, "Completed"))
        await settled(app, pilot)
        assert "what you asked for is done" in screen_text(app)
        assert "N 1 new" in screen_lines(app)[0]
        app.screen._end_notice(app.screen._notices_told)
        await press(app, pilot, "question_mark")
        app._tick()
        await settled(app, pilot)
        await press(app, pilot, "escape")
        app._tick()
        await settled(app, pilot)
        assert "● group other has completed" in screen_text(app)


class Terminal:
    """What is written to the terminal."""

    def __init__(self, app: NodusApp, monkeypatch: pytest.MonkeyPatch) -> None:
        self.written: list[str] = []
        monkeypatch.setattr(NodusApp, "is_headless", property(lambda _app: False))
        monkeypatch.setattr(app._driver, "write", self.written.append)

    def calls(self) -> list[str]:
        return [text for text in self.written if text.startswith(("\a", "\x1b]9;"))]


@pytest.mark.parametrize(
    ("notify", "calls"),
    [
        ("none", []),
        ("bell", ["\a"]),
        ("osc9", ["\x1b]9;nodus: group other has failed: ␛]52;c;eA==␇ ␛[2J (and 1 more)\x1b\\"]),
    ],
)
async def test_the_terminal_calls_once_as_it_was_told_to(notify: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    backend = world()
    async with console(backend, settings=ConsoleSettings(notify=notify)) as (app, pilot):
        await pilot.press("question_mark")
        terminal = Terminal(app, monkeypatch)
        backend.emit(becomes("third", 101, "Completed"), becomes("other", 102, "Failed", "\x1b]52;c;eA==\a \x1b[2J"))
        await pilot.pause()
        app._paint_data()
        app._tick()
        assert terminal.calls() == calls
        monkeypatch.undo()


async def test_a_browser_rings_nobodys_bell(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = world()
    async with console(backend, settings=ConsoleSettings(notify="bell"), in_browser=True) as (app, pilot):
        terminal = Terminal(app, monkeypatch)
        backend.emit(becomes("other", 101, "Completed"))
        await pilot.pause()
        app._paint_data()
        assert terminal.calls() == []
        monkeypatch.undo()


def test_no_text_ends_the_notification_or_is_a_command_of_it() -> None:
    hostile = "4;1;50\x07\x1b\\\x9c\x9d0;title\x9c\r\n" + "x" * 10_000_000
    call = call_of("osc9", hostile)
    body = call.removeprefix("\x1b]9;").removesuffix("\x1b\\")
    assert body.startswith("nodus: 4;1;50")
    assert body == safe_text(body)
    assert all(char.isprintable() for char in body)
    assert len(body) < 400
    assert call_of("osc9", "Größe ±1", only_ascii=True).isascii()


async def test_who_comes_back_is_told_in_one_line_what_ended_meanwhile(tmp_path: Path) -> None:
    async with console(world(), state_folder=tmp_path) as (app, pilot):
        app._tick()
        await settled(app, pilot)
        assert "while you were away" not in screen_text(app), "the first visit"
    assert json.loads((tmp_path / FILE_NAME).read_text(encoding="utf-8"))["visits"] == {"nowhere": NOW.isoformat()}
    later = NOW + timedelta(hours=2)
    ended = {"phase": GroupPhase.COMPLETED, "ended_at": NOW + timedelta(hours=1)}
    backend = ScriptedBackend([group(**ended), group("other", **ended), group("third", phase=GroupPhase.COMPLETED, ended_at=NOW)])
    app = NodusApp(backend, clock=lambda: later, state_folder=tmp_path)
    async with app.run_test(size=(100, 24)) as pilot:
        await told_of_the_absence(app, pilot)
        assert f"● while you were away, since {NOW:%H:%M:%S}: 2 groups completed" in screen_text(app)


async def told_of_the_absence(app: NodusApp, pilot: Pilot[int]) -> None:
    await settled(app, pilot)
    app._tick()
    await settled(app, pilot)


@pytest.mark.parametrize("kept", ["[]", '{"visits": 3}', '{"visits": {"nowhere": "yesterday"}}', '{"visits": {"nowhere": "2026-01-01"}}'])
async def test_what_was_kept_by_somebody_else_is_no_visit(kept: str, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(kept, encoding="utf-8")
    async with console(ScriptedBackend([group(phase=GroupPhase.COMPLETED, ended_at=NOW)]), state_folder=tmp_path) as (app, pilot):
        await told_of_the_absence(app, pilot)
        assert "while you were away" not in screen_text(app)
