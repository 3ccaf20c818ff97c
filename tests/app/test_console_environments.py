"""The views of environments: the list, the tasks that come page by page, and gold checks that are run from there."""

import asyncio
import re
from collections.abc import AsyncIterator

from console_driver import console, press, screen_text, settled
from environment_records import SUMS, case, environment_world
from scripted_backend import ScriptedBackend

from nodus_tui.app import NodusApp
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.environment_tasks import TaskView
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.screens.environment import EnvironmentScreen
from nodus_tui.view_state.views import View

WIDE = (140, 40)


async def until(app: NodusApp, pilot: object, words: str) -> str:
    """The screen, once these words stand on it."""
    async with asyncio.timeout(60):
        while words not in (shown := screen_text(app)):
            await asyncio.sleep(0)
            await settled(app, pilot)
    return shown


async def test_each_environment_stands_there_with_its_tasks_its_grader_and_its_check() -> None:
    async with console(environment_world(), size=WIDE) as (app, pilot):
        await press(app, pilot, "D")
        shown = await until(app, pilot, "arithmetic")
        rows = {name: next(line for line in shown.splitlines() if name in line) for name in ("sums", "harbour", "nodus/arithmetic-v2")}
        assert re.search(r"task file +3 test .*exact", rows["sums"])
        assert re.search(r"task folders +12 test weaker .*needed", rows["harbour"])
        assert "1 of 12 at fault" in rows["harbour"]
        assert "no end" in rows["nodus/arithmetic-v2"]
        assert "2 of the workspace, 2 of the catalogue" in shown
        assert "1 not usable here" in shown
        await press(app, pilot, "down")
        shown = screen_text(app)
        assert "test/dock-3: the empty answer passes" in shown
        assert "could read them and forge their outcome" in shown
        await press(app, pilot, "down")
        assert "used by" in screen_text(app)


async def test_tasks_come_page_by_page_as_they_are_read() -> None:
    backend = environment_world()
    async with console(backend, size=WIDE) as (app, pilot):
        await press(app, pilot, "D")
        await until(app, pilot, "arithmetic")
        await press(app, pilot, "enter")
        shown = await until(app, pilot, "What is 2 and 2?")
        assert "50 of 120 tasks of test" in shown
        assert backend.task_pages_asked == [(SUMS, "test", 0)]
        await press(app, pilot, "end")
        await until(app, pilot, "100 of 120")
        await press(app, pilot, "end")
        await until(app, pilot, "120 of 120")
        await press(app, pilot, "end")
        assert "These are all." in await until(app, pilot, "What is 120 and 120?")
        assert [after for *_, after in backend.task_pages_asked] == [0, 50, 100]


async def test_a_page_that_does_not_come_is_told_and_asked_for_again_on_demand_only() -> None:
    backend = environment_world()
    tasks, backend.tasks = backend.tasks, {}
    async with console(backend, size=WIDE) as (app, pilot):
        await press(app, pilot, "D")
        await until(app, pilot, "arithmetic")
        await press(app, pilot, "enter")
        await until(app, pilot, "The tasks cannot be read")
        await press(app, pilot, "down", "up")
        assert len(backend.task_pages_asked) == 1
        backend.tasks = tasks
        await press(app, pilot, "tab")
        await until(app, pilot, "What is 1 and 1?")


async def test_hostile_prompts_are_shown_and_obeyed_by_nobody() -> None:
    backend = environment_world()
    backend.tasks = {SUMS: (TaskView(id="\x1b[2Jt", prompts=("\x1b]52;c;AAAA\x07[bold]red[/]\u202egnp", "second"), files=("a\x1b[0m",)),)}
    async with console(backend, size=WIDE) as (app, pilot):
        await press(app, pilot, "D")
        await until(app, pilot, "arithmetic")
        await press(app, pilot, "enter")
        shown = await until(app, pilot, "second")
        assert "[bold]red[/]" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)


async def test_a_gold_check_is_asked_for_and_tells_its_faults() -> None:
    async with console(environment_world(), size=WIDE) as (app, pilot):
        await press(app, pilot, "D")
        await until(app, pilot, "arithmetic")
        await press(app, pilot, "c")
        assert "Gold check of sums@1.0.0" in screen_text(app)
        await press(app, pilot, "x")
        assert "Type a number from 1 on" in screen_text(app)
        await press(app, pilot, "escape")
        assert app.services.environments.state.rows.item("sums").check is None


class Slow(ScriptedBackend):
    """Its gold check waits after the first task."""

    goes_on: asyncio.Event

    async def check_environment(self, reference: str, **_: object) -> AsyncIterator[GoldCase]:
        yield case("t1", "ReferenceFails", "7 is not 8")
        await self.goes_on.wait()
        yield case("t2")


def slow() -> Slow:
    backend = Slow()
    backend.__dict__.update(environment_world().__dict__)
    backend.goes_on = asyncio.Event()
    return backend


async def test_a_check_goes_on_when_its_view_is_left_and_says_how_it_came_out() -> None:
    backend = slow()
    async with console(backend, size=WIDE) as (app, pilot):
        await press(app, pilot, "D")
        await until(app, pilot, "arithmetic")
        await press(app, pilot, "c", "enter")
        assert "sums@1.0.0" in await until(app, pilot, "1/3 checked, 1 at fault")
        await press(app, pilot, "escape")
        assert app.screen.VIEW is View.CAMPAIGNS
        backend.goes_on.set()
        await until(app, pilot, "no task at fault")  # The scripted backend keeps no record of it.


async def test_a_check_is_ended_by_the_same_key() -> None:
    async with console(slow(), size=WIDE) as (app, pilot):
        await press(app, pilot, "D")
        await until(app, pilot, "arithmetic")
        await press(app, pilot, "c", "enter")
        await until(app, pilot, "1/3 checked, 1 at fault")
        assert "end check" in screen_text(app)
        await press(app, pilot, "c")
        await until(app, pilot, "it was ended after 1 task")


async def test_a_check_that_cannot_be_done_says_why() -> None:
    backend = environment_world()
    backend.gold_cases = {}
    async with console(backend, size=WIDE) as (app, pilot):
        await press(app, pilot, "D")
        await until(app, pilot, "arithmetic")
        await press(app, pilot, "c", "enter")
        await until(app, pilot, "is not done: ")
        await press(app, pilot, "end", "c")
        assert "cannot be used here: reasoning-gym is not installed" in screen_text(app)


async def test_without_an_answer_the_list_says_so_and_one_that_is_gone_leads_back() -> None:
    backend = environment_world()
    backend.lost = NodusError(ErrorCode.UNAVAILABLE, "the socket is gone")
    async with console(backend, size=WIDE) as (app, pilot):
        await press(app, pilot, "D")
        await until(app, pilot, "The backend does not answer yet.")
        backend.lost = None
        app.push_screen(EnvironmentScreen(app.services, "never-was"))
        await until(app, pilot, "There is no environment never-was any more")


async def test_a_viewer_looks_and_checks_nothing() -> None:
    backend = environment_world()
    backend.role = "viewer"
    async with console(backend, size=WIDE) as (app, pilot):
        await press(app, pilot, "D")
        await until(app, pilot, "arithmetic")
        await press(app, pilot, "c")
        assert "You look on as a viewer" in screen_text(app)
