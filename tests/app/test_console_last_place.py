"""The console opens where it was left: the view and the selected row, as far as they are still there."""

import asyncio
from pathlib import Path

import pytest
from box_records import some_boxes
from console_driver import Driver, console, press, screen_text, settled
from console_records import every_kind_of_run, group
from environment_records import environment_world
from scripted_backend import ScriptedBackend
from test_console_sweeps import world as sweep_world
from worlds import job_world

from nodus_tui.app import NodusApp
from nodus_tui.console_memory import ConsoleMemory
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.last_places import LastPlaces, Place
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.views import View


class World(ScriptedBackend):
    """One that gives runs by their names."""

    async def get(self, kind: str, name: str) -> Resource:
        return self.runs[name] if kind == "AgentRun" and name in self.runs else await super().get(kind, name)


def world() -> World:
    backend = World([group()], every_kind_of_run())
    backend.boxes = some_boxes()
    return backend


def two_groups() -> World:
    return World([group("first"), group()], every_kind_of_run())


def views(app: NodusApp) -> list[View]:
    return [screen.VIEW for screen in app.screen_stack if isinstance(screen, ViewScreen)]


async def left_after(backend: ScriptedBackend, state: Path, *keys: str, **options: object) -> tuple[list[View], str]:
    """Open the console, press keys, and leave; gives the views that were open, and the selected row."""
    async with console(backend, state_folder=state, **options) as (app, pilot):
        await arrived(app, pilot)
        await press(app, pilot, *keys)
        await arrived(app, pilot)
        there = views(app), row(app)
        app.exit(0)
    return there


async def arrived(app: NodusApp, pilot: Driver) -> None:
    async with asyncio.timeout(60):
        while any(worker.is_running for worker in app.workers if worker.name in {"go_to_place", "_ask", "_look", "_fetch"}):
            await asyncio.sleep(0)
    await settled(app, pilot)


def row(app: NodusApp) -> str:
    table = getattr(app.screen, "active_table", None)
    return table.cursor_key or "" if table is not None else ""


@pytest.mark.parametrize(
    ("made", "keys", "view"),
    [
        (two_groups, ("down",), View.CAMPAIGNS),
        (world, ("enter", "down", "down"), View.GROUP),
        (world, ("enter", "down", "down", "enter"), View.RUN),
        (world, ("b", "down"), View.SANDBOXES),
        (world, ("b", "down", "enter"), View.SANDBOX),
        (job_world, ("J", "end"), View.JOBS),
        (job_world, ("J", "end", "enter"), View.JOB),
        (sweep_world, ("W", "down"), View.SWEEPS),
        (sweep_world, ("W", "down", "enter"), View.SWEEP),
        (environment_world, ("D", "down", "down"), View.ENVIRONMENTS),
        (environment_world, ("D", "enter"), View.ENVIRONMENT),
        (world, ("L",), View.LOG),
        (world, ("d",), View.GPUS),
    ],
    ids=lambda value: value.value if isinstance(value, View) else "",
)
async def test_it_opens_where_it_was_left(made: object, keys: tuple[str, ...], view: View, tmp_path: Path) -> None:
    there = await left_after(made(), tmp_path, *keys)
    assert await left_after(made(), tmp_path) == there
    assert there[0][-1] is view


async def test_a_console_that_is_killed_opens_where_it_was(tmp_path: Path) -> None:
    async with console(world(), state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "b", "down", "enter")
        await arrived(app, pilot)
        kept = await asyncio.to_thread((tmp_path / "console.json").read_bytes)
    (tmp_path / "console.json").write_bytes(kept)
    shown, _ = await left_after(world(), tmp_path)
    assert shown[-1] is View.SANDBOX


async def test_a_terminal_that_is_gone_is_told_twice_and_left_once(tmp_path: Path) -> None:
    async with console(world(), state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "b", "down", "enter")
        await arrived(app, pilot)
        app.exit(129)
        while len(app.screen_stack) > 1:
            app.pop_screen()
        app.exit(129)
    assert (await left_after(world(), tmp_path))[0][-1] is View.SANDBOX


async def test_what_ended_the_console_is_not_opened_again(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with console(world(), state_folder=tmp_path) as (app, pilot):
            await press(app, pilot, "b")
            await arrived(app, pilot)
            app.call_later(lambda: 1 // 0)
            await arrived(app, pilot)
    shown, _ = await left_after(world(), tmp_path)
    assert shown == [View.CAMPAIGNS]


async def test_what_is_gone_is_told_in_the_nearest_view(tmp_path: Path) -> None:
    await left_after(world(), tmp_path, "b", "down", "enter")
    backend = world()
    backend.boxes = {}
    async with console(backend, state_folder=tmp_path) as (app, pilot):
        await arrived(app, pilot)
        assert views(app) == [View.CAMPAIGNS, View.SANDBOXES]
        assert "where you were last, is not there any more" in " ".join(screen_text(app).split())


async def test_a_run_that_is_gone_is_told(tmp_path: Path) -> None:
    backend = world()
    shown, _ = await left_after(backend, tmp_path, "enter", "down", "down", "enter")
    assert shown[-1] is View.RUN
    backend = world()
    backend.runs = {}
    async with console(backend, state_folder=tmp_path) as (app, pilot):
        await arrived(app, pilot)
        assert views(app) == [View.CAMPAIGNS]
        assert "cannot be read" in screen_text(app)


async def test_a_row_that_is_gone_is_nothing_to_speak_of(tmp_path: Path) -> None:
    await left_after(two_groups(), tmp_path, "down")
    backend = two_groups()
    del backend.groups[next(reversed(backend.groups))]
    shown, selected = await left_after(backend, tmp_path)
    assert shown == [View.CAMPAIGNS]
    assert selected


@pytest.mark.parametrize("options", [{"first_view": "budgets"}, {"starts_anew": True}])
async def test_who_says_where_to_begin_begins_there(options: dict[str, object], tmp_path: Path) -> None:
    await left_after(world(), tmp_path, "b")
    shown, _ = await left_after(world(), tmp_path, **options)
    assert View.SANDBOXES not in shown


class Slow(World):
    """It takes its time to say what it is."""

    answers: asyncio.Event

    async def info(self, *, probe: bool = False) -> BackendInfo:
        await self.answers.wait()
        return await super().info(probe=probe)


async def test_who_has_gone_elsewhere_meanwhile_is_left_there(tmp_path: Path) -> None:
    await left_after(world(), tmp_path, "b")
    backend = Slow([group()])
    backend.answers = asyncio.Event()
    async with console(backend, state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "B")
        backend.answers.set()
        await arrived(app, pilot)
        app._paint_data()
        await arrived(app, pilot)
        assert app.info is not None
        assert views(app) == [View.CAMPAIGNS, View.BUDGETS]


def test_places_are_kept_by_workspace_and_strange_ones_are_none(tmp_path: Path) -> None:
    places = LastPlaces(ConsoleMemory(tmp_path))
    places.leave("here", Place(View.GROUP, "night", "night-c001"))
    places.leave("there", Place(View.JOBS))
    again = LastPlaces(ConsoleMemory(tmp_path))
    assert again.last("here") == Place(View.GROUP, "night", "night-c001")
    assert again.last("there") == Place(View.JOBS)
    assert again.last("nowhere") is None
    memory = ConsoleMemory(tmp_path)
    memory.keep("places", {"here": {"view": "no-such-view"}, "there": 7})
    assert LastPlaces(memory).last("here") is None
    assert LastPlaces(memory).last("there") is None
    for number in range(60):
        places.leave(f"w{number}", Place(View.JOBS))
    assert places.last("here") is None
    assert places.last("w59") == Place(View.JOBS)
