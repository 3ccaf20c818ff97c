"""What every table of the console has: chosen columns that are remembered, several sort keys, a filter over its columns, picked rows."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from console_driver import console, press, screen_lines, screen_text, settled
from console_records import NOW, changed, every_kind_of_run, group, run, usd
from scripted_backend import ScriptedBackend

from nodus_tui.app import NodusApp
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase, RunPhase
from nodus_tui.screens.group import GroupScreen
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.figures import age_text
from nodus_tui.view_state.key_actions import View


def fleet() -> ScriptedBackend:
    return ScriptedBackend([group("fleet")], every_kind_of_run())


def titles(app) -> str:
    return next(each for each in screen_lines(app) if "CASE" in each or "TASK" in each or "VERDICT" in each)


async def test_columns_are_chosen_shown_at_once_and_remembered(tmp_path: Path) -> None:
    async with console(fleet(), size=(120, 40), state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "enter", "O")
        assert "Columns" in screen_text(app)
        await press(app, pilot, "down", "space", "down", "left", "left", "enter")
        assert titles(app).split()[:2] == ["PHASE", "CASE▲"]
        assert "TASK" not in titles(app)
    assert json.loads((tmp_path / "console.json").read_text())["columns"]["group"]["chosen"][:2] == ["phase", "case"]
    async with console(fleet(), size=(120, 40), state_folder=tmp_path, first_view="campaigns") as (app, pilot):
        await press(app, pilot, "enter")
        assert titles(app).split()[:2] == ["PHASE", "CASE▲"]


async def test_escape_takes_the_columns_and_the_order_that_were_before() -> None:
    async with console(fleet(), size=(120, 40)) as (app, pilot):
        await press(app, pilot, "enter")
        before = titles(app)
        await press(app, pilot, "O", "down", "space", "s", "down", "S")
        table = app.screen_stack[-2].table
        assert table.rows.order == (("task", False), ("phase", False))
        assert "task" not in [column.key for column in table.columns]
        await press(app, pilot, "escape")
        assert titles(app) == before


async def test_the_configuration_says_with_which_columns_a_table_begins() -> None:
    settings = ConsoleSettings(columns={"group": ("task", "cost")})
    async with console(fleet(), size=(120, 40), settings=settings) as (app, pilot):
        await press(app, pilot, "enter")
        assert titles(app).split() == ["TASK", "COST/CAP"]
        await press(app, pilot, "O", "u", "enter")
        assert "VERDICT" in titles(app)


async def test_rows_are_sorted_by_several_columns_with_keys_and_with_clicks() -> None:
    async with console(fleet(), size=(120, 40)) as (app, pilot):
        await press(app, pilot, "enter", "s", "s", "s", "alt+s")
        assert "VERDICT▲1" in titles(app)
        assert "COST/CAP▲2" in titles(app)
        await press(app, pilot, "S")
        assert "VERDICT▼1" in titles(app)
        assert "COST/CAP▼2" in titles(app)
        at = next(y for y, each in enumerate(screen_lines(app)) if "VERDICT" in each)
        await pilot.click(offset=(titles(app).index("TASK"), at), control=True)
        await press(app, pilot)
        assert "TASK▲3" in titles(app)


async def test_a_filter_asks_columns_and_says_where_it_is_wrong() -> None:
    async with console(fleet(), size=(80, 24)) as (app, pilot):
        await press(app, pilot, "enter", "slash")
        assert "Tab completes" in screen_text(app)
        await press(app, pilot, *"cal", "tab", *"1")
        assert "/calls>1" in screen_text(app).replace("/ ", "/")
        table = app.screen.table
        assert {table.rows.item(table.rows.key_at(index)).spec.case for index in range(len(table.rows))} == {0, 1, 2, 3}
        await press(app, pilot, *" tme>1")
        assert '! at 9: no field "tme" here, did you mean time?' in screen_text(app)
        await press(app, pilot, "enter")
        assert not table.has_focus
        await press(app, pilot, "escape")
        assert table.has_focus
        assert len(table.rows) == 12


async def test_rows_are_picked_one_by_one_in_a_range_and_all_that_are_shown() -> None:
    async with console(fleet(), size=(100, 30)) as (app, pilot):
        await press(app, pilot, "enter", "space", "space")
        screen = app.screen
        assert isinstance(screen, GroupScreen)
        assert "■ 2 picked" in screen_text(app)
        assert screen_lines(app)[-1].startswith(" Enter open  Esc back")
        # Both have a verdict: nothing can be done to them.
        assert not {"kill", "extend", "retry"} & set(screen_lines(app)[-1].split())
        assert sum("■" in each[:2] and "picked" not in each for each in screen_lines(app)) == 2
        await press(app, pilot, "down", "down", "V")
        assert [run.spec.case for run in screen.table.picked_items()] == [0, 1, 2, 3, 4]
        await press(app, pilot, "slash", *"state:running", "enter")
        assert [run.spec.case for run in screen.table.picked_items()] == [4]
        await press(app, pilot, "a")
        assert [run.spec.case for run in screen.table.picked_items()] == [4, 5]
        await press(app, pilot, "A")
        assert "picked" not in screen_text(app)


async def test_the_mouse_picks_too() -> None:
    async with console(fleet(), size=(100, 30)) as (app, pilot):
        await press(app, pilot, "enter")
        table = app.screen.table
        await pilot.click(table, offset=(5, 2), control=True)
        await press(app, pilot)
        assert [run.spec.case for run in table.picked_items()] == [1]
        await pilot.click(table, offset=(5, 4), shift=True)
        await press(app, pilot)
        assert [run.spec.case for run in table.picked_items()] == [1, 2, 3]


async def test_the_cursor_follows_what_changed_last_until_it_is_moved() -> None:
    backend = fleet()
    async with console(backend, size=(100, 30)) as (app, pilot):
        await press(app, pilot, "enter", "f")
        assert "following" in screen_text(app)
        backend.emit(changed("AgentRun", "fleet-0008-a1", 101, of="fleet", phase="Running"))
        await settled(app, pilot)
        assert app.screen.table.cursor_key == "fleet-0008-a1"
        backend.emit(changed("AgentRun", "fleet-0004-a1", 102, of="fleet", costUSD="0.02"))
        await settled(app, pilot)
        assert app.screen.table.cursor_key == "fleet-0008-a1"
        await press(app, pilot, "up")
        assert "following" not in screen_text(app)


async def test_killing_many_names_the_numbers_and_needs_theirs_typed() -> None:
    runs = [run(case, phase="Running", started_at=NOW, cost_usd=usd("0.01")) for case in range(11)]
    backend = ScriptedBackend([group("fleet")], runs)
    async with console(backend, size=(100, 30)) as (app, pilot):
        await press(app, pilot, "enter", "a")
        assert "x kill 11" in screen_text(app)
        await press(app, pilot, "x")
        assert "Kill 11 runs?" in screen_text(app)
        assert "$0.11 is spent" in screen_text(app)
        await press(app, pilot, "escape")
        assert backend.acted == []
        await press(app, pilot, "x", *"11", "tab", "tab", "enter")
        await settled(app, pilot)
        assert sorted(action.name for action in backend.acted) == sorted(each.name for each in runs)
        assert "✓ killed 11 of 11 runs" in screen_text(app)


async def test_what_is_refused_for_some_is_told_by_kind_and_keeps_no_other_from_its_action() -> None:
    backend = fleet()

    async def act(action):
        backend.acted.append(action)
        if action.name in {"fleet-0004-a1", "fleet-0005-a1"}:
            raise NodusError(ErrorCode.CONFLICT, f"{action.name} has ended meanwhile")
        return await ScriptedBackend.act(backend, action)

    backend.act = act
    async with console(backend, size=(120, 30)) as (app, pilot):
        await press(app, pilot, "enter", "a", "x", "tab", "enter")
        await settled(app, pilot)
        assert "! killed 5 of 7 runs; not done: 2 × has ended meanwhile" in screen_text(app)
        refused = {"fleet-0004-a1", "fleet-0005-a1"}
        assert {action.name for action in backend.acted} & app.screen.table.picked_keys == refused


@pytest.mark.parametrize(("opens", "does"), [("x", ("tab", "enter")), ("e", ("enter",)), ("r", ("tab", "enter"))])
async def test_what_was_done_with_picked_rows_lets_go_of_them(opens: str, does: tuple[str, ...]) -> None:
    phase = {"phase": "Failed", "ended_at": NOW} if opens == "r" else {"phase": "Running"}
    backend = ScriptedBackend([group("fleet")], [run(case, started_at=NOW, cost_usd=usd("0.01"), **phase) for case in range(3)])
    async with console(backend, size=(100, 30)) as (app, pilot):
        await press(app, pilot, "enter", "space", "space", opens)
        await press(app, pilot, *does)
        assert len(backend.acted) == (1 if opens == "r" else 2)
        assert "picked" not in screen_text(app)
        assert not app.screen.table.picked_keys
        assert "kill 2" not in screen_lines(app)[-1]


async def test_an_action_means_the_picked_rows_that_are_shown_and_leaves_the_hidden_ones_picked() -> None:
    runs = [run(case, phase="Running" if case else "Pending", cost_usd=usd("0.01")) for case in range(3)]
    backend = ScriptedBackend([group("fleet")], runs)
    async with console(backend, size=(100, 30)) as (app, pilot):
        await press(app, pilot, "enter", "a", "slash", *"state:running", "enter", "x")
        assert "Kill 2 runs?" in screen_text(app)
        await press(app, pilot, "tab", "enter")
        assert {each.name for each in backend.acted} == {runs[1].name, runs[2].name}
        assert app.screen.table.picked_keys == {runs[0].name}


async def test_many_are_run_again_in_one_action_and_extended_one_by_one() -> None:
    backend = fleet()
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "enter", "a", "r")
        assert "Retry 2 runs?" in screen_text(app)
        await press(app, pilot, "tab", "enter")
        await settled(app, pilot)
        assert backend.acted[-1].runs == ("fleet-0003-a1", "fleet-0010-a1")
        await press(app, pilot, "e")
        assert "New cap of 7 runs of fleet, in US dollars" in screen_text(app)
        await press(app, pilot, "enter")
        await settled(app, pilot)
        assert [action.action for action in backend.acted[1:]] == ["extendCap"] * 7
        assert "✓ extended 7 of 7 runs" in screen_text(app)


async def test_campaigns_are_killed_together() -> None:
    backend = ScriptedBackend([group("one"), group("two")])
    async with console(backend, size=(100, 30)) as (app, pilot):
        await press(app, pilot, "a", "x", *"2", "tab", "tab", "enter")
        await settled(app, pilot)
        assert {action.name for action in backend.acted} == {"one", "two"}


async def test_who_picks_rows_while_the_cursor_follows_moves_it() -> None:
    backend = fleet()
    async with console(backend, size=(100, 30)) as (app, pilot):
        await press(app, pilot, "enter", "f")
        backend.emit(changed("AgentRun", "fleet-0008-a1", 101, of="fleet", phase="Running"))
        await settled(app, pilot)
        await press(app, pilot, "space", "space")
        assert [run.spec.case for run in app.screen.table.picked_items()] == [8, 9]
        assert "following" not in screen_text(app)


async def test_escape_takes_a_kept_filter_away_and_then_goes_back() -> None:
    async with console(ScriptedBackend([group()], every_kind_of_run()), start_at="fleet", size=(120, 40)) as (app, pilot):
        await press(app, pilot, "slash", *"rate-limit", "enter")
        assert len(app.screen.table.rows) == 1, "a word that a row shows finds it"
        assert "Esc no filter" in screen_lines(app)[-1]
        await press(app, pilot, "escape")
        assert len(app.screen.table.rows) == 12
        assert "Esc back" in screen_lines(app)[-1]
        await press(app, pilot, "U")
        assert len(app.screen.table.rows) == 1
        await press(app, pilot, "escape", "escape")
        assert app.screen.VIEW is View.CAMPAIGNS


async def test_where_nothing_lies_below_escape_takes_a_kept_filter_away_all_the_same() -> None:
    async with console(ScriptedBackend([group()]), size=(120, 40)) as (app, pilot):
        assert "Esc" not in screen_lines(app)[-1]
        await press(app, pilot, "slash", *"nobody", "enter")
        assert "No campaign passes the filter. Esc takes it away." in screen_text(app)
        await press(app, pilot, "escape")
        assert len(app.screen.table.rows) == 1


async def test_the_footer_goes_by_how_the_selected_row_stands() -> None:
    async with console(ScriptedBackend([group()], every_kind_of_run()), start_at="fleet", size=(160, 40)) as (app, pilot):
        footers = {}
        for name in ("fleet-0000-a1", "fleet-0003-a1", "fleet-0004-a1", "fleet-0010-a1"):
            app.screen.table.select(name)
            await settled(app, pilot)
            footers[name] = [word for word in ("x kill", "e extend", "r retry") if word in screen_lines(app)[-1]]
        assert footers == {
            "fleet-0000-a1": [],
            "fleet-0003-a1": ["r retry"],
            "fleet-0004-a1": ["x kill", "e extend"],
            "fleet-0010-a1": ["r retry"],
        }
        await press(app, pilot, "enter")
        assert "r retry" in screen_lines(app)[-1]
        assert "e extend" not in screen_lines(app)[-1]


async def test_undo_in_a_view_takes_back_what_was_done_there() -> None:
    async with console(ScriptedBackend([group(), group("other")], every_kind_of_run()), size=(120, 40)) as (app, pilot):
        await press(app, pilot, "slash", *"fleet", "enter", "enter")
        await press(app, pilot, "U")
        assert "Nothing is left to be undone in this view." in screen_text(app)
        await press(app, pilot, "escape", "U")
        assert "Undone: the filter." in screen_text(app)
        assert len(app.screen.table.rows) == 2


async def test_a_long_task_is_shown_whole_where_other_columns_have_blanks_and_columns_grow_with_what_comes() -> None:
    runs = [run(case, task=f"errand-{case:02d}-of-many") for case in range(3)]
    backend = ScriptedBackend([group()], runs)
    async with console(backend, start_at="fleet", size=(80, 24)) as (app, pilot):
        assert "errand-00-of-many " in screen_text(app)
        backend.emit(changed("AgentRun", runs[1].name, 101, of="fleet", phase="Interrupted"))
        await settled(app, pilot)
        assert "errand-00-of-many ○ Pending" in screen_text(app)
        assert "errand-01-of-many ¦ Interrupted " in screen_text(app)


async def test_the_timeline_s_axis_stands_where_its_column_does_and_tasks_are_whole() -> None:
    runs = [run(case, task=f"a-task-with-a-long-name-{case:02d}", phase=RunPhase.RUNNING, started_at=NOW) for case in range(3)]
    async with console(ScriptedBackend([group()], runs), start_at="fleet", size=(160, 40)) as (app, pilot):
        await press(app, pilot, "T")
        assert "a-task-with-a-long-name-00 ► Running" in screen_text(app)
        left, width = app.screen.table.extent("time")
        assert left + width == app.screen.table.scrollable_content_region.width
        assert screen_lines(app)[2].index("╵") >= left


async def test_earlier_attempts_are_shown_among_the_rows_and_hidden_again_by_a_key() -> None:
    former = run(0, phase="Failed", ended_at=NOW, current=False, cost_usd=usd("0.01"))
    later = run(0, attempt=2, phase="Running", started_at=NOW)
    backend = ScriptedBackend([group("fleet")], [former, later, run(1)])
    async with console(backend, start_at="fleet", size=(120, 30)) as (app, pilot):
        table = app.screen.table
        assert "p shows 1 earlier attempt" in screen_text(app)
        await press(app, pilot, "p")
        assert {each.name for each in table.rows.items()} == {former.name, later.name, "fleet-0001-a1"}
        assert "p hides 1 earlier attempt" in screen_text(app)
        # What is counted above the table stays what the cases are.
        assert app.screen.state.phases[RunPhase.FAILED] == 0
        backend.emit(changed("AgentRun", former.name, 101, of="fleet", costUSD="0.02"))
        await settled(app, pilot)
        assert app.screen.state.phases[RunPhase.FAILED] == 0
        await press(app, pilot, "p")
        assert former.name not in {each.name for each in table.rows.items()}


async def test_a_column_grows_with_the_time_that_its_cells_tell() -> None:
    app = NodusApp(ScriptedBackend([group(phase=GroupPhase.COMPLETED)], []), clock=lambda: clock)
    clock = NOW
    async with app.run_test(size=(120, 24)) as pilot:
        await settled(app, pilot)
        for hours in (1, 30, 240):
            clock = NOW + timedelta(hours=hours)
            await press(app, pilot, "question_mark", "escape")
            age = age_text(status_of(app.feed.campaigns.rows.item("fleet")).created_at, clock)
            assert f" {age} " in screen_lines(app)[2]
