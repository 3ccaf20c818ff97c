"""The journeys of a person with results: open them from where the group or the job is, go to an answer, compare, write them to a file."""

import asyncio
import csv
import json
from pathlib import Path

import pytest
from console_driver import Driver, console, press, screen_lines, screen_text, settled, wire_text
from console_records import changed
from result_records import cases, group_of, results_of
from result_worlds import CAREFUL, JUDGED, PLAIN, judged_world, result_world
from scripted_backend import UNREACHABLE
from test_console_sweeps import world as sweep_world

from nodus_tui.app import NodusApp
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.screens.comparison import ComparisonScreen
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.job_results import JobResultsScreen
from nodus_tui.screens.results import ResultsScreen
from nodus_tui.screens.run import RunScreen
from nodus_tui.widgets.line_table import LineTable

RESULTS = ("slash", *"plain", "enter", "v")
COMPARED = (*RESULTS, "c", *"careful", "enter")


def words(app: NodusApp) -> str:
    return " ".join(screen_text(app).split())


async def until_said(app: NodusApp, pilot: Driver, said: str) -> None:
    async with asyncio.timeout(60):
        # A line may break inside a path, wherever the width makes it.
        while "".join(said.split()) not in "".join(screen_text(app).split()):
            await pilot.pause(0.01)


@pytest.mark.parametrize("size", [(80, 24), (60, 15), (200, 60)])
async def test_a_campaign_s_results_show_every_verdict_and_enter_opens_the_chosen_answer(size: tuple[int, int]) -> None:
    async with console(result_world(), size=size) as (app, pilot):
        await press(app, pilot, *RESULTS)
        assert isinstance(app.screen, ResultsScreen)
        shown = screen_text(app)
        assert "54.5% ± 35.5 (SE 15.0), 22/24 scored" in shown
        assert "sum-002" in shown
        assert "✗I ✗I ✗I" in shown
        if size != (60, 15):
            # All of why something is missing, in two lines where one has no room.
            assert "1 InfrastructureFailure" in shown
            assert "1 EvaluationTimeout" in shown
        await press(app, pilot, "j", "right")
        assert "✓C[✗I]✓C" in screen_text(app)
        await press(app, pilot, "enter")
        assert isinstance(app.screen, RunScreen)
        assert app.screen.state.name == "plain-c005"
        await press(app, pilot, "escape", "right", "right", "right")
        assert "✓C ✗I[✓C]" in screen_text(app)


async def test_results_of_a_group_that_is_open_are_there_at_once_and_leave_it_open() -> None:
    backend = result_world()
    async with console(backend, start_at="plain") as (app, pilot):
        asked: list[str | None] = []
        whole = backend.snapshot

        async def counted(*, runs_of: str | None = None):
            asked.append(runs_of)
            return await whole(runs_of=runs_of)

        backend.snapshot = counted
        await press(app, pilot, "v")
        assert "✗I ✗I ✗I" in screen_text(app)
        assert asked == []
        await press(app, pilot, "escape")
        assert isinstance(app.screen, GroupScreen)
        backend.emit(changed("AgentRun", "plain-c001", 101, of="plain", message="seen by the group"))
        assert app.feed.groups["plain"].run("plain-c001").status.message != "seen by the group"
        await settled(app, pilot)
        assert app.feed.groups["plain"].run("plain-c001").status.message == "seen by the group"
        assert app.feed.results == {}


async def test_nothing_is_folded_for_results_that_nobody_shows_any_more() -> None:
    async with console(result_world()) as (app, pilot):
        await press(app, pilot, *RESULTS)
        assert set(app.feed.groups) == {"plain"}
        await press(app, pilot, "escape")
        assert app.feed.groups == {}
        assert app.feed.results == {}


async def test_the_figures_change_while_the_group_goes_on() -> None:
    backend = result_world()
    async with console(backend) as (app, pilot):
        await press(app, pilot, "slash", *"going", "enter", "v")
        assert "2/6 scored" in words(app)
        assert "►R ○P" in screen_text(app)
        backend.emit(changed("AgentRun", "going-c003", 101, of="going", phase="Succeeded", verdict="Correct", reward=1.0))
        await settled(app, pilot)
        assert "3/6 scored" in words(app)
        assert "✓C ○P" in screen_text(app)


async def test_many_answers_cost_what_the_visible_ones_cost() -> None:
    tasks = tuple("CIICI" for _ in range(600))
    backend = result_world()
    backend.groups = {"large": group_of("large", tasks)}
    backend.runs = {each.name: each for each in cases("large", tasks)}
    async with console(backend, size=(120, 40)) as (app, pilot):
        await press(app, pilot, "v")
        table = app.screen.query_one("#rows", LineTable)
        assert table.rows.total == 600
        table.cells.rows_made = 0
        backend.emit(*(changed("AgentRun", f"large-c{case:03d}", 101 + case, of="large", verdict="Correct") for case in range(2, 3000, 10)))
        await settled(app, pilot)
        assert table.cells.rows_made <= 8 * table.size.height


async def test_a_group_that_was_deleted_or_cannot_be_read_says_so() -> None:
    backend = result_world()
    whole = backend.snapshot

    async def refused(*, runs_of: str | None = None):
        if runs_of is not None:
            raise NodusError(ErrorCode.UNAVAILABLE, "the disk is gone")
        return await whole()

    backend.snapshot = refused
    async with console(backend) as (app, pilot):
        await press(app, pilot, *RESULTS)
        assert "! The results cannot be read: the disk is gone. Esc goes back; opening the results again tries again." in words(app)
        backend.snapshot = whole
        await press(app, pilot, "escape", "v")
        assert "✗I ✗I ✗I" in screen_text(app)
        backend.break_off(UNREACHABLE)
        await pilot.pause()
        app._tick()
        await settled(app, pilot)
        assert "what you see is old" in words(app)
        assert "✗I ✗I ✗I" in screen_text(app)


async def test_a_name_leads_to_results_where_something_is_selected() -> None:
    async with console(result_world()) as (app, pilot):
        await press(app, pilot, "slash", *"plain", "enter", "colon", *"results", "enter")
        assert isinstance(app.screen, ResultsScreen)
        await press(app, pilot, "escape", "ctrl+p", *"results", "enter")
        assert isinstance(app.screen, ResultsScreen)
        await press(app, pilot, "colon", *"results")
        assert "Show the results" not in words(app)


async def test_the_cells_of_a_sweep_have_their_results_too() -> None:
    async with console(sweep_world()) as (app, pilot):
        await press(app, pilot, "W", "down", "enter", "v")
        assert isinstance(app.screen, ResultsScreen)
        await press(app, pilot, "escape", "end", "v")
        assert "was not launched yet" in words(app)


# TrainingJobs


async def open_job(app: NodusApp, pilot: Driver, name: str) -> None:
    """Select a job in their list."""
    await press(app, pilot, "J")
    app.screen.query_one("#rows", LineTable).select(name)
    await settled(app, pilot)


async def test_a_training_job_shows_each_metric_with_its_error_and_its_shots() -> None:
    async with console(result_world(), size=(100, 30)) as (app, pilot):
        await open_job(app, pilot, "smol")
        await press(app, pilot, "v")
        assert isinstance(app.screen, JobResultsScreen)
        await settled(app, pilot)
        row = next(each for each in screen_lines(app) if "acc_norm" in each)
        assert row.split()[-6:] == ["acc_norm", "0.5", "±0.189", "–", "8", "5"]
        await press(app, pilot, "enter")
        assert isinstance(app.screen, JobScreen)
        await press(app, pilot, "v", "enter")
        assert isinstance(app.screen, JobScreen)


async def test_an_environment_s_verdicts_are_rows_and_what_the_grader_wrote_is_not_obeyed() -> None:
    async with console(judged_world(), size=(100, 30)) as (app, pilot):
        await open_job(app, pilot, "held-out")
        await press(app, pilot, "v")
        await settled(app, pilot)
        shown = words(app)
        assert "62.0% ± 9.5 (SE 4.9), 97/100 scored" in shown
        assert "sum-2 ? Invalid 0 no number" in shown
        assert "\x1b" not in wire_text(app)


async def test_a_job_without_scores_says_when_they_come_and_a_command_where_its_outputs_are() -> None:
    backend = result_world()
    async with console(backend) as (app, pilot):
        await open_job(app, pilot, "begun")
        await press(app, pilot, "v")
        assert "No scores yet: they come when the harness has ended." in words(app)
        await press(app, pilot, "c")
        assert "are compared in their sweep" in words(app)
    backend.contents = {"outputs/results.json": b"{"}
    async with console(backend) as (app, pilot):
        await open_job(app, pilot, "smol")
        await press(app, pilot, "v")
        await settled(app, pilot)
        assert "outputs/results.json of smol is no JSON" in words(app)
        assert "arc_easy" in words(app)


# Comparing


async def test_a_second_group_is_chosen_by_its_name_and_either_run_of_a_task_is_opened() -> None:
    async with console(result_world(), size=(100, 30)) as (app, pilot):
        await press(app, pilot, *RESULTS, "c")
        assert list(app.screen.query_one("#groups", LineTable).rows.keys()) == ["careful", "going", "elsewhere"]
        await press(app, pilot, *"car", "tab")
        assert app.screen.query_one("#name").value == "careful"
        await press(app, pilot, "enter")
        assert isinstance(app.screen, ComparisonScreen)
        shown = words(app)
        assert "plain − careful: -20.8 points ± 20.7 (SE 8.8) on 8 tasks that both answered" in shown
        assert "5 solved by both, 0 by plain alone, 1 by careful alone, 2 by neither." in shown
        assert "plain: 22 of 24 cases are scored" in shown
        assert "sum-000" not in shown
        await press(app, pilot, "enter")
        assert isinstance(app.screen, RunScreen)
        assert app.screen.state.name == "plain-c005"
        await press(app, pilot, "escape", "escape", "right", "enter")
        assert isinstance(app.screen, RunScreen)
        assert app.screen.state.name == "careful-c004"
        await press(app, pilot, "escape", "escape", "a")
        assert "sum-000" in words(app)


async def test_without_differences_that_is_said_and_another_group_can_be_taken() -> None:
    async with console(result_world(), size=(100, 30)) as (app, pilot):
        await press(app, pilot, "slash", *"elsewhere", "enter", "v", "c", *"careful", "enter")
        assert "No task came out differently." in words(app)
        await press(app, pilot, "c", *"plain", "enter")
        assert "elsewhere − plain: +20.8 points" in words(app)
        await press(app, pilot, "escape")
        assert isinstance(app.screen, ResultsScreen)
        await press(app, pilot, "c", *"zzz", "enter")
        assert "No other group matches what you typed." in words(app)


async def test_a_comparison_is_made_anew_when_a_group_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodus_tui.screens.comparison.PAUSE_SECONDS", 0)
    monkeypatch.setattr("nodus_tui.screens.comparison._PATIENCE", 0)
    backend = result_world()
    async with console(backend, size=(100, 30)) as (app, pilot):
        await press(app, pilot, *COMPARED)
        assert "sum-000" not in words(app)
        worse = ("III", *CAREFUL[1:])
        backend.group_answers["careful"] = results_of(group_of("careful", worse), cases("careful", worse))
        backend.emit(changed("AgentGroup", "careful", 101, message="goes on"))
        await until_said(app, pilot, "sum-000")
        del backend.group_answers["careful"]
        backend.emit(changed("AgentGroup", "careful", 102, message="goes on again"))
        await until_said(app, pilot, "! The comparison cannot be read: there is no AgentGroup")
        assert "sum-000" in words(app)


# Writing to a file


async def test_results_are_written_as_the_command_line_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with console(result_world()) as (app, pilot):
        await press(app, pilot, *RESULTS, "o", "enter")
        await until_said(app, pilot, "Wrote")
        rows = list(csv.DictReader((tmp_path / "plain.csv").read_text(encoding="utf-8").splitlines()))
        assert len(rows) == sum(len(each) for each in PLAIN)
        assert (rows[0]["group"], rows[0]["taskId"], rows[0]["verdict"]) == ("plain", "sum-000", "Correct")
        await press(app, pilot, "o", "enter")
        await until_said(app, pilot, "is there already")
        await press(app, pilot, "o", *"plain.txt")
        assert "it ends with .json or .csv" in words(app)
        await press(app, pilot, *("backspace",) * 3, *"json", "enter")
        await until_said(app, pilot, "plain.json")
        document = json.loads((tmp_path / "plain.json").read_text(encoding="utf-8"))
        assert document["coverage"] == {"scored": 22, "total": 24}


async def test_a_training_job_s_results_file_is_written_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with console(judged_world()) as (app, pilot):
        await open_job(app, pilot, "held-out")
        await press(app, pilot, "v", "o", *"held-out.json", "enter")
        await until_said(app, pilot, "Wrote")
        assert json.loads((tmp_path / "held-out.json").read_text(encoding="utf-8")) == JUDGED
        await press(app, pilot, "o", "enter")
        await until_said(app, pilot, "held-out.csv")
        assert (tmp_path / "held-out.csv").read_text(encoding="utf-8").startswith("TASK,METRIC,VALUE,SE,SAMPLES\n")


async def test_two_campaigns_that_are_picked_are_compared_and_the_footer_says_so_then_alone() -> None:
    async with console(result_world(), size=(120, 30)) as (app, pilot):
        await press(app, pilot, "slash", *"plain", "enter")
        assert "compare" not in screen_lines(app)[-1]
        await press(app, pilot, "space", "escape", "slash", *"careful", "enter", "space", "escape")
        assert "c compare" in screen_lines(app)[-1]
        assert "extend all" not in screen_lines(app)[-1], "no case of the selected one waits"
        await press(app, pilot, "c")
        assert isinstance(app.screen, ComparisonScreen)
        assert set(app.screen.state.names) == {"plain", "careful"}
        await press(app, pilot, "escape", "slash", *"going", "enter", "space", "escape")
        assert "compare" not in screen_lines(app)[-1]
        await press(app, pilot, "c")
        assert "Two are compared at a time here, and 3 are picked." in words(app)
        assert "nodus-tui compare " in words(app)
        await press(app, pilot, "A", "slash", *"plain", "enter", "c", *"careful", "enter")
        assert isinstance(app.screen, ComparisonScreen)
        assert app.screen.state.names == ("plain", "careful")
