"""The journeys of a person with sweeps: the list, the grid and its cells, their groups and jobs, acting on them, comparing two."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from console_driver import Driver, console, press, screen_lines, screen_text
from console_records import NOW, group
from scripted_backend import ScriptedBackend
from sweep_records import cell_changed, cells, ended_cell, group_results, groups, job_sweep, results, sweep

from nodus_tui.app import NodusApp
from nodus_tui.contract.actions import ExtendCap, Kill, PauseSweep, ResumeSweep, RetryCells
from nodus_tui.contract.events import Event, EventBatch
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.sweep import SweepScreen
from nodus_tui.view_state.views import View
from nodus_tui.widgets.cell_grid import CellGrid

SIZES = pytest.mark.parametrize("size", [(80, 24), (60, 15), (160, 45)], ids=str)


def world(**status: object) -> ScriptedBackend:
    backend = ScriptedBackend([group(), *groups()])
    jobs, job_results, found = job_sweep()
    backend.sweeps = {"shootout": sweep(**status), "rates": jobs}
    backend.sweep_answers = {"shootout": results(), "rates": job_results}
    backend.group_answers = {"shootout-01": group_results("shootout-01", 12), "shootout-02": group_results("shootout-02", 17)}
    backend.jobs = {each.name: each for each in found}
    return backend


def tell(backend: ScriptedBackend, *events: Event) -> None:
    for reader in backend._readers:
        reader.put_nowait(EventBatch(cursor=max(event.cursor for event in events), events=events))


async def until_said(app: NodusApp, pilot: Driver, words: str) -> None:
    async with asyncio.timeout(60):
        while words not in " ".join(screen_text(app).split()):
            await pilot.pause(0.01)


@asynccontextmanager
async def grid_of(backend: ScriptedBackend, size: tuple[int, int] = (80, 24)) -> AsyncIterator[tuple[NodusApp, Driver, SweepScreen]]:
    """The console with the sweep open, its cells painted."""
    async with console(backend, size=size, first_view="sweep/shootout") as (app, pilot):
        await until_said(app, pilot, "SHARD")
        assert isinstance(app.screen, SweepScreen)
        yield app, pilot, app.screen


@SIZES
async def test_all_sweeps_are_listed_and_the_campaigns_say_that_they_go_on(size: tuple[int, int]) -> None:
    async with console(world(), size=size) as (app, pilot):
        assert "W 2 sweeps going" in screen_text(app)
        await press(app, pilot, "W")
        text = screen_text(app)
        for words in ("shootout", "rates", "4/10", "1/3", "► Running", "$1.90/$6.00"):
            assert words in text
        assert "2 running" in text.splitlines()[0]


@SIZES
async def test_the_grid_shows_each_cell_with_its_state_its_rate_and_its_cost(size: tuple[int, int]) -> None:
    async with grid_of(world(), size=size) as (app, _pilot, _screen):
        lines = screen_lines(app)
        top = next(place for place, text in enumerate(lines) if text.startswith(" SHARD"))
        assert lines[top + 1].split() == ["1", "▌", "●", "Completed", "$0.41", "●", "Completed", "$0.41"]
        assert "60.0% ±21.5 20/20" in lines[top + 2]
        assert "85.0% ±15.6 20/20" in lines[top + 2]
        assert "$0.90 reserved" in screen_text(app)


async def test_the_cursor_goes_through_the_grid_and_the_cell_is_told_in_words() -> None:
    async with grid_of(world()) as (app, pilot, _screen):
        await press(app, pilot, "down", "right")
        text = " ".join(screen_text(app).split())
        assert "× Cancelled · simulated · shootout-04 · agent careful · shard 2" in text
        assert "× killed by ops" in text
        await press(app, pilot, "end")
        assert "shootout-10" in screen_text(app)
        assert "waits for one of 2 places (maxParallel)" in screen_text(app)
        await press(app, pilot, "home", "left", "up")
        assert "shootout-01 · agent plain · shard 1" in screen_text(app)


async def test_more_columns_than_fit_are_reached_and_told_of() -> None:
    backend = world()
    agents = tuple(f"agent-{number}" for number in range(5))
    told = tuple(
        ended_cell(1, 10, name=f"shootout-{1 + 5 * shard + place:02d}", axes={"agent": agent, "shard": shard + 1})
        for shard in range(5)
        for place, agent in enumerate(agents)
    )
    many = results(told=told)
    backend.sweep_answers["shootout"] = many.model_copy(
        update={"axes": (many.axes[1], many.axes[0].model_copy(update={"values": agents})), "pooled": ()}
    )
    async with grid_of(backend) as (app, pilot, _screen):
        assert "AGENT 1–3 of 5  ← →" in screen_text(app)
        await press(app, pilot, "right", "right", "right")
        assert "AGENT 2–4 of 5" in screen_text(app)
        assert "agent-0" not in screen_text(app)
        await press(app, pilot, "end")
        assert "shootout-25" in screen_text(app)
        assert "AGENT 3–5 of 5" in screen_text(app)


async def test_enter_opens_the_group_or_the_job_of_a_cell_and_one_that_waits_says_for_what() -> None:
    async with grid_of(world()) as (app, pilot, _screen):
        await press(app, pilot, "down", "down", "right", "enter")
        assert isinstance(app.screen, GroupScreen)
        assert app.screen.group_name == "shootout-06"
        await press(app, pilot, "escape", "end", "enter")
        assert "shootout-10 was not launched yet: waits for one of 2 places" in " ".join(screen_text(app).split())
        await press(app, pilot, "W", "enter")
        await until_said(app, pilot, "RATE PHASE")
        await press(app, pilot, "down", "enter")
        assert isinstance(app.screen, JobScreen)
        assert app.screen.job_name == "rates-2"


async def test_what_a_cell_becomes_is_painted_in_its_own_lines() -> None:
    backend = world()
    async with grid_of(backend) as (app, pilot, screen):
        grid = screen.query_one(CellGrid)
        before = grid.lines_refreshed
        tell(backend, cell_changed("shootout-08", 101, launched=True, phase="Running", reason=None, message=""))
        async with asyncio.timeout(60):
            while screen.state.rows.item("shootout-08").cell.phase is not GroupPhase.RUNNING:
                await pilot.pause(0.01)
        app._paint_data()
        await pilot.pause()
        assert grid.lines_refreshed - before == 2, "the two lines of its row"


async def test_a_cell_that_ended_is_asked_for_again_with_its_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodus_tui.screens.sweep.PAUSE_SECONDS", 0.01)
    backend = world()
    async with grid_of(backend, size=(100, 30)) as (app, pilot, _screen):
        told = list(cells())
        told[5] = ended_cell(6, 19)
        backend.sweep_answers["shootout"] = results(told=tuple(told))
        tell(backend, cell_changed("shootout-06", 101, phase="Completed", endedAt=NOW.isoformat()))
        async with asyncio.timeout(60):
            while app.feed.sweep_state("shootout").rows.item("shootout-06").cell.rate != told[5].rate:
                await pilot.pause(0.01)


async def test_tab_shows_a_table_on_the_same_cell_and_slash_filters_it() -> None:
    async with grid_of(world(), size=(160, 45)) as (app, pilot, screen):
        await press(app, pilot, "down", "right", "tab")
        assert (screen.as_grid, screen.current().name) == (False, "shootout-04")
        assert "SPENT/CAP" in screen_text(app)
        await press(app, pilot, "up", "tab")
        assert (screen.as_grid, screen.current().name) == (True, "shootout-03")
        await press(app, pilot, "slash", *"care", "enter")
        assert not screen.as_grid
        assert "of 5 (5 hidden)" in screen_text(app)


async def test_two_marked_cells_are_compared_task_by_task() -> None:
    async with grid_of(world()) as (app, pilot, _screen):
        await press(app, pilot, "c")
        assert "Mark a cell with m" in screen_text(app)
        await press(app, pilot, "m", "right")
        assert "c compare" in screen_lines(app)[-1]
        await press(app, pilot, "c")
        await until_said(app, pilot, "Two cells compared")
        assert "shootout-01 − shootout-02: -25.0 points" in " ".join(screen_text(app).split())
        await press(app, pilot, "escape")
        assert isinstance(app.screen, SweepScreen)


async def test_a_cell_without_results_says_so_instead_of_comparing() -> None:
    async with grid_of(world()) as (app, pilot, _screen):
        await press(app, pilot, "m", "down", "c")
        await until_said(app, pilot, "! there is no AgentGroup")


async def test_cells_are_killed_extended_and_retried_each_on_its_own() -> None:
    backend = world()
    async with grid_of(backend) as (app, pilot, _screen):
        await press(app, pilot, "end", "x")
        assert "It was not launched: it never is" in screen_text(app)
        await press(app, pilot, "tab", "enter")
        await press(app, pilot, "home", "down", "down", "right", "x")
        assert "Kill group shootout-06?" in screen_text(app)
        await press(app, pilot, "escape", "left", "e")
        assert "It must fit under what the sweep has left: $3.20 of $6.00." in " ".join(screen_text(app).split())
        await press(app, pilot, "enter", "up", "right", "r")
        await until_said(app, pilot, "retryCells of shootout is done")
    kill, extend, retry = backend.acted
    assert isinstance(kill, Kill)
    assert (kill.kind, kill.name) == ("AgentGroup", "shootout-10")
    assert isinstance(extend, ExtendCap)
    assert (extend.kind, extend.name, f"{extend.cap_usd:f}") == ("AgentGroup", "shootout-05", "1.20")
    assert isinstance(retry, RetryCells)
    assert (retry.name, retry.cells) == ("shootout", ("shootout-04",))


async def test_a_cell_that_was_not_launched_has_no_cap_of_its_own_yet() -> None:
    backend = world()
    async with grid_of(backend) as (app, pilot, _screen):
        await press(app, pilot, "end", "e")
        assert "its cap is that of the sweep's template" in " ".join(screen_text(app).split())
    assert not backend.acted


async def test_the_whole_sweep_is_killed_extended_retried_paused_and_resumed() -> None:
    backend = world(reason="Paused", message="paused: 3 cells wait, and none starts until it is resumed", needed_cap_usd="9.00")
    async with grid_of(backend) as (app, pilot, _screen):
        assert "u resume" in screen_lines(app)[-1]
        await press(app, pilot, "X")
        assert "6 of 10 cells have not ended" in " ".join(screen_text(app).split())
        await press(app, pilot, "tab", "enter", "E")
        assert "New cap of sweep shootout" in screen_text(app)
        await press(app, pilot, "enter", "R")
        assert "Retry 1 cell of shootout?" in screen_text(app)
        await press(app, pilot, "tab", "enter", "p", "u")
        await until_said(app, pilot, "resumeSweep of shootout is done")
    assert [type(each) for each in backend.acted] == [Kill, ExtendCap, RetryCells, PauseSweep, ResumeSweep]
    assert {each.name for each in backend.acted} == {"shootout"}
    assert f"{backend.acted[1].cap_usd:f}" == "12.00"


async def test_the_list_acts_on_the_selected_sweep() -> None:
    backend = world()
    async with console(backend) as (app, pilot):
        await press(app, pilot, "W", "down", "p")
        await press(app, pilot, "x", "tab", "enter", "e", "enter", "r", "tab", "enter", "u")
        await until_said(app, pilot, "resumeSweep of shootout is done")
    assert [type(each) for each in backend.acted] == [PauseSweep, Kill, ExtendCap, RetryCells, ResumeSweep]


async def test_what_has_ended_is_not_killed_paused_or_resumed() -> None:
    backend = world(phase=GroupPhase.COMPLETED, ended=10, failed=0, going=0, stalled=0)
    async with console(backend) as (app, pilot):
        await press(app, pilot, "W", "down")
        for key, words in (("x", "nothing to kill"), ("p", "no further cell starts"), ("u", "only what is"), ("r", "verdicts stand")):
            await press(app, pilot, key)
            assert words in " ".join(screen_text(app).split()), key
    assert not backend.acted


async def test_a_sweep_that_was_deleted_says_so() -> None:
    backend = world()
    async with grid_of(backend) as (app, pilot, _screen):
        tell(backend, Event(cursor=101, at=NOW, change="Deleted", kind="Sweep", name="shootout"))
        await until_said(app, pilot, "There is no sweep shootout any more")


async def test_a_sweep_that_cannot_be_read_says_why() -> None:
    backend = world()
    backend.sweep_answers.clear()
    async with console(backend) as (app, pilot):
        await press(app, pilot, "W", "enter")
        await until_said(app, pilot, "Esc goes back; opening the sweep again tries again")


async def test_leaving_names_the_sweeps_that_stop() -> None:
    backend = world()
    backend.groups.clear()
    backend.scheduling = True
    async with console(backend) as (app, pilot):
        await press(app, pilot, "q")
        await until_said(app, pilot, "sweeps: shootout, rates, of which no further cell starts")
        await press(app, pilot, "escape")


async def test_a_launched_sweep_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = """
apiVersion: nodus.dev/v1
kind: Sweep
metadata: {name: shootout}
spec:
  maxCostUSD: "1.00"
  template: {kind: Job, spec: {command: [python, train.py], maxCostUSD: "0.50"}}
  matrix: {parameters: {RATE: [0.1, 0.01]}}
"""
    (tmp_path / "sweep.yaml").write_text(spec)
    backend = world()
    async with console(backend) as (app, pilot):
        await press(app, pilot, "l")
        await until_said(app, pilot, "sweep.yaml")
        await press(app, pilot, "enter")
        await until_said(app, pilot, "Enter applies its resources")
        await press(app, pilot, "enter")
        async with asyncio.timeout(60):
            while not isinstance(app.screen, SweepScreen):
                await pilot.pause(0.01)
        assert app.screen.VIEW is View.SWEEP
        assert "✓ Sweep shootout created" in screen_text(app)
