"""The mouse: rows, titles, shown keys, crumbs, the palette, buttons, the wheel, marked text; and nothing foreign is a button."""

from pathlib import Path

import pytest
from console_driver import Driver, console, press, screen_lines, screen_text, settled
from console_records import every_kind_of_run, group
from console_stops import STOPS, go_to
from scripted_backend import ScriptedBackend
from textual.events import MouseDown, MouseScrollDown, MouseUp

from nodus_tui import click_gate
from nodus_tui.app import NodusApp
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.palette import JumpDialog
from nodus_tui.view_state.views import View
from nodus_tui.widgets.dialogs import ConfirmDialog, HelpOverlay, PromptDialog


def world() -> ScriptedBackend:
    return ScriptedBackend([group(), group("small", pending=3, tasks=20)], every_kind_of_run())


async def click(app: NodusApp, pilot: Driver, words: str, *, times: int = 1, line: int | None = None) -> None:
    """A click on the first place where these words stand, or on that line."""
    for y, text in enumerate(screen_lines(app)):
        if words in text and line in (None, y, y - len(screen_lines(app))):
            await pilot.click(offset=(text.index(words), y), times=times)
            await settled(app, pilot)
            return
    raise AssertionError(f"{words!r} is not shown")


def view(app: NodusApp) -> View:
    assert isinstance(app.screen, ViewScreen)
    return app.screen.VIEW


async def test_a_click_selects_and_a_double_click_opens() -> None:
    async with console(world(), size=(120, 30)) as (app, pilot):
        await click(app, pilot, "small")
        assert (view(app), app.screen.table.cursor_key) == (View.CAMPAIGNS, "small")
        await click(app, pilot, "fleet", times=2)
        assert view(app) is View.GROUP
        await click(app, pilot, "TASK")
        assert "TASK▲" in screen_text(app)
        await click(app, pilot, "TASK")
        assert "TASK▼" in screen_text(app)
        before = app.screen.table.scroll_offset.y
        await pilot.resize_terminal(80, 16)
        await settled(app, pilot)
        await pilot._post_mouse_events([MouseScrollDown], "#rows")
        await settled(app, pilot)
        assert app.screen.table.scroll_offset.y > before


async def test_a_click_on_a_key_in_the_footer_or_a_sentence_presses_it() -> None:
    async with console(world(), size=(120, 30)) as (app, pilot):
        await click(app, pilot, "? help", line=-1)
        assert isinstance(app.screen, HelpOverlay)
        await click(app, pilot, "Esc closes")
        assert view(app) is View.CAMPAIGNS
        await click(app, pilot, "kill", line=-1)
        assert isinstance(app.screen, ConfirmDialog)
        await click(app, pilot, "Cancel")
        await click(app, pilot, "extend", line=-1)
        assert isinstance(app.screen, PromptDialog)
        await click(app, pilot, "Esc")
        await click(app, pilot, "/ filter", line=-1)
        await pilot.press(*"qqqq", "enter")
        await settled(app, pilot)
        await click(app, pilot, "takes it away")
        assert "passes the filter" not in screen_text(app)
    async with console(ScriptedBackend()) as (app, pilot):
        await click(app, pilot, "estimates a spec file")
        assert "Launch a spec file" in screen_text(app)


async def test_the_persons_own_keys_are_clicked_as_others_are() -> None:
    async with console(world(), size=(120, 30), settings=ConsoleSettings.model_validate({"keys": {"kill": "Del"}})) as (app, pilot):
        await click(app, pilot, "Del kill", line=-1)
        assert isinstance(app.screen, ConfirmDialog)


async def test_a_click_on_a_crumb_goes_there() -> None:
    async with console(STOPS["run"].world(), size=(120, 30)) as (app, pilot):
        await go_to(app, pilot, STOPS["run"])
        await click(app, pilot, "fleet", line=0)
        assert view(app) is View.GROUP
        await press(app, pilot, "enter")
        await click(app, pilot, "campaigns", line=0)
        assert view(app) is View.CAMPAIGNS
        assert len([screen for screen in app.screen_stack if isinstance(screen, ViewScreen)]) == 1


async def test_one_click_in_the_palette_does_it() -> None:
    async with console(world(), size=(120, 30)) as (app, pilot):
        await click(app, pilot, ": go", line=-1)
        assert isinstance(app.screen, JumpDialog)
        await click(app, pilot, "budgets")
        assert view(app) is View.BUDGETS


async def test_buttons_and_switches_of_dialogs() -> None:
    backend = world()
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "end", "enter", "home", "e")
        await press(app, pilot, "escape", "escape")
        await click(app, pilot, "extend", line=-1)
        await click(app, pilot, "does it")
        assert [action.action for action in backend.acted] == ["extendCap"]
        await press(app, pilot, "x")
        await click(app, pilot, "Kill", line=None)
        assert isinstance(app.screen, ConfirmDialog), "a click on the title does nothing"


async def test_what_others_wrote_is_no_button() -> None:
    """Words of a task or a model that look like keys do nothing when they are clicked."""
    evil = "Esc cancels  q quit  [@click=app.leave]x[/]"
    backend = ScriptedBackend([group(phase="Stalled", message=evil)], every_kind_of_run())
    async with console(backend, size=(120, 30)) as (app, pilot):
        await click(app, pilot, "q quit  [@click")
        await click(app, pilot, "[@click")
        assert view(app) is View.CAMPAIGNS
        assert app.is_running


async def drag(app: NodusApp, pilot: Driver, start: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down(offset=start)
    await pilot.hover(offset=end)
    await pilot.mouse_up(offset=end)
    await settled(app, pilot)


async def test_marked_text_is_copied_with_the_key_that_copies(tmp_path: Path) -> None:
    stop = STOPS["run with tools"]
    async with console(stop.world(), size=(120, 40), state_folder=tmp_path) as (app, pilot):
        await go_to(app, pilot, stop)
        lines = screen_lines(app)
        y = next(place for place, text in enumerate(lines) if "median" in text)
        x = lines[y].index("median")
        await drag(app, pilot, (x, y), (x + 5, y))
        assert "6 characters marked: y copies them." in screen_text(app)
        await press(app, pilot, "y")
        assert app.clipboard == "median"
        assert (tmp_path / "copied.txt").read_text(encoding="utf-8") == "median\n"
        assert app.screen.get_selected_text() in (None, "")
        # A fact above the conversation can be marked as well; a double click takes the whole of it.
        await click(app, pilot, "money", times=2)
        await press(app, pilot, "y")
        assert "money" in app.clipboard
        assert "\x1b" not in app.clipboard
        await press(app, pilot, "y")
        assert "money" not in app.clipboard, "nothing is marked any more: the part at the top"
        await press(app, pilot, "tab", "y")
        assert app.clipboard.startswith("1\t"), "the selected call"


async def test_a_double_click_on_a_row_marks_nothing() -> None:
    async with console(world(), size=(120, 30)) as (app, pilot):
        await click(app, pilot, "fleet", times=2)
        assert view(app) is View.GROUP
        assert app.screen_stack[-2].selections == {}
        assert "marked" not in screen_text(app)


async def test_where_nothing_can_be_copied_it_is_said_what_to_do() -> None:
    async with console(STOPS["job"].world()) as (app, pilot):
        await go_to(app, pilot, STOPS["job"])
        await press(app, pilot, "y")
        assert "Mark some text with the mouse first." in screen_text(app)


def press_of_the_mouse(app: NodusApp, words: str) -> tuple[MouseDown, MouseUp]:
    """As a terminal tells it, where these words stand."""
    x, y = next((text.index(words), y) for y, text in enumerate(screen_lines(app)) if words in text)
    return tuple(kind(None, x, y, 0, 0, 1, False, False, False, screen_x=x, screen_y=y) for kind in (MouseDown, MouseUp))


async def let_go(app: NodusApp, pilot: Driver, events: tuple[MouseDown, MouseUp]) -> None:
    for event in events:
        app.post_message(event)
    await settled(app, pilot)


@pytest.mark.parametrize(("words", "row"), [("kill", "Kill what"), ("extend", "Give what")])
async def test_the_second_half_of_a_double_click_agrees_to_nothing_that_the_first_has_opened(
    words: str, row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click_gate, "TOGETHER_SECONDS", float("inf"))
    backend = world()
    async with console(backend, size=(120, 30)) as (app, pilot):
        await press(app, pilot, "ctrl+p", *words)
        await let_go(app, pilot, press_of_the_mouse(app, row))
        dialog = app.screen
        assert isinstance(dialog, ConfirmDialog | PromptDialog)
        answer = "Enter does it"
        if isinstance(dialog, ConfirmDialog):
            await press(app, pilot, *dialog.question.typed)
            answer = f"  {dialog.question.go}  "
        await let_go(app, pilot, press_of_the_mouse(app, answer))
        assert app.screen is dialog
        assert backend.acted == []
        monkeypatch.setattr(click_gate, "TOGETHER_SECONDS", 0.0)
        await let_go(app, pilot, press_of_the_mouse(app, answer))
        assert len(backend.acted) == 1
