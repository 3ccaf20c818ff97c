"""Undo: what can be taken back is, step by step; of what cannot be, the reason is told and nothing is done."""

import pytest
from console_driver import console, press, screen_text, settled
from console_records import every_kind_of_run, group
from scripted_backend import ScriptedBackend
from sweep_records import sweep

from nodus_tui.contract.actions import ExtendCap, Kill, PauseSweep, ResumeSweep
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.screens.filter_bar import FilterBar


def world(**status: object) -> ScriptedBackend:
    backend = ScriptedBackend([group(), group("other"), group("third")], every_kind_of_run())
    backend.sweeps = {"grid": sweep("grid", **status)}
    return backend


async def test_a_pause_is_undone_once_and_not_done_again() -> None:
    backend = world()
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "W", "p")
        assert "U undoes it" in screen_text(app)
        await press(app, pilot, "U")
        await press(app, pilot, "U")
        assert "Nothing is left to be undone in this view." in screen_text(app)
    assert [(type(action), action.name) for action in backend.acted] == [(PauseSweep, "grid"), (ResumeSweep, "grid")]
    assert len({action.request_id for action in backend.acted}) == 2


@pytest.mark.parametrize(
    ("status", "undone"),
    [({"reason": "Paused"}, [ResumeSweep, PauseSweep]), ({"phase": GroupPhase.INTERRUPTED}, [ResumeSweep])],
)
async def test_what_was_paused_is_paused_again_but_what_was_interrupted_has_gone_on(status: dict[str, object], undone: list[type]) -> None:
    backend = world(**status)
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "W", "u", "U")
        assert ("cannot be undone" in screen_text(app)) == (len(undone) == 1)
    assert [type(action) for action in backend.acted] == undone


@pytest.mark.parametrize(
    ("keys", "kind", "why"),
    [
        (("x", *"58", "enter", "right", "enter"), Kill, "The kill of third cannot be undone: what has ended has ended"),
        (("e", "enter"), ExtendCap, "The higher cap of third cannot be undone: a cap is raised and never lowered"),
    ],
)
async def test_of_what_cannot_be_undone_the_reason_is_told(keys: tuple[str, ...], kind: type, why: str) -> None:
    backend = world()
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, *keys)
        assert "undoes it" not in screen_text(app)
        await press(app, pilot, "U")
        assert why in screen_text(app)
    assert [type(action) for action in backend.acted] == [kind]


async def test_filter_order_and_picks_are_undone_from_the_last_to_the_first() -> None:
    async with console(world(), size=(120, 40)) as (app, pilot):
        table = app.screen.table
        order = table.rows.order
        await press(app, pilot, "slash", *"fleet", "enter")
        await press(app, pilot, "s")
        assert (len(table.rows), table.rows.order != order) == (1, True)
        await press(app, pilot, "U")
        assert (len(table.rows), table.rows.order) == (1, order)
        assert "Undone: the order of the rows." in screen_text(app)
        await press(app, pilot, "U")
        assert len(table.rows) == 3
        assert "/fleet" not in screen_text(app)
        await press(app, pilot, "slash", *"other", "enter")
        await press(app, pilot, "slash", "escape")
        assert len(table.rows) == 3
        await press(app, pilot, "U")
        assert [table.rows.key_at(0), len(table.rows)] == ["other", 1]
        assert app.screen.query_one(FilterBar).text == "other"


async def test_rows_that_were_let_go_of_are_picked_again() -> None:
    async with console(world(), size=(120, 40), start_at="fleet") as (app, pilot):
        table = app.screen.table
        await press(app, pilot, "a", "A")
        assert table.picked_count == 0
        await press(app, pilot, "U")
        assert table.picked_count == len(table.rows)
        await press(app, pilot, "U")
        assert table.picked_count == 0


async def test_what_was_done_to_a_view_that_is_gone_is_passed_over() -> None:
    backend = world()
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "s")
        before = app.screen.table.rows.order
        await press(app, pilot, "enter", "s", "escape", "U")
        await settled(app, pilot)
        assert app.screen.table.rows.order != before
        assert "Undone: the order of the rows." in screen_text(app)
