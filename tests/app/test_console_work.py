"""What the screen costs, counted in rows made and lines painted, not in time."""

from datetime import timedelta

from console_driver import console, press, screen_lines, settled
from console_records import NOW, changed, every_kind_of_run, group, run, usd
from scripted_backend import ScriptedBackend
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from nodus_tui.contract.phases import GroupPhase, RunPhase
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

MANY = 10_000


def large() -> ScriptedBackend:
    runs = [run(case, phase=RunPhase.RUNNING, cost_usd=usd("0.01"), started_at=NOW - timedelta(minutes=5), calls=1) for case in range(MANY)]
    return ScriptedBackend([group()], runs)


async def test_one_changed_row_paints_one_line() -> None:
    backend = ScriptedBackend([group()], every_kind_of_run())
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, pilot):
        table = app.screen.query_one("#rows", LineTable)
        table.lines_refreshed = 0
        backend.emit(changed("AgentRun", "fleet-0007-a1", 101, of="fleet", costUSD="0.0212"))
        await settled(app, pilot)
        assert table.lines_refreshed == 1


async def test_one_changed_figure_paints_its_line_up_to_it_and_the_screen_is_as_if_all_were_painted() -> None:
    backend = ScriptedBackend([group()], every_kind_of_run())
    async with console(backend, start_at="fleet", size=(160, 40)) as (app, pilot):
        table = app.screen.query_one("#rows", LineTable)
        table.columns_refreshed = 0
        backend.emit(changed("AgentRun", "fleet-0007-a1", 101, of="fleet", calls=987))
        await settled(app, pilot)
        painted = screen_lines(app)
        assert table.columns_refreshed == next(line for line in painted if "sum-007" in line).index("987") + len("987") < table.size.width
        table.repaint()
        await settled(app, pilot)
        assert screen_lines(app) == painted


async def test_a_frame_asks_no_widget_without_a_line_in_it() -> None:
    backend = ScriptedBackend([group()], every_kind_of_run())
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, pilot):
        table = app.screen.query_one("#rows", LineTable)
        asked: list[tuple[Widget, Region]] = []
        for widget in app.screen.query(Widget):
            _note_lines_asked_of(widget, asked)
        backend.emit(changed("AgentRun", "fleet-0007-a1", 101, of="fleet", calls=987))
        await settled(app, pilot)
        assert table in [widget for widget, _ in asked]
        assert {widget for widget, _ in asked} <= set(table.ancestors_with_self)
        assert {part.height for _, part in asked} == {1}


def _note_lines_asked_of(widget: Widget, asked: list[tuple[Widget, Region]]) -> None:
    render_lines = widget.render_lines

    def noted(crop: Region) -> list[Strip]:
        asked.append((widget, crop))
        return render_lines(crop)

    widget.render_lines = noted  # type: ignore[method-assign]


async def test_rows_whose_times_stand_still_are_not_made_again_in_the_next_second() -> None:
    backend = ScriptedBackend([group()], [run(case, phase=RunPhase.SUCCEEDED, duration_seconds=5.0, started_at=NOW) for case in range(5)])
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, _pilot):
        table = app.screen.query_one("#rows", LineTable)
        before = table.cells.rows_made
        table.show(NOW + timedelta(seconds=1))
        assert table.cells.rows_made == before


async def test_nothing_changed_paints_nothing() -> None:
    async with console(ScriptedBackend([group()], every_kind_of_run()), start_at="fleet", size=(120, 40)) as (app, _pilot):
        table = app.screen.query_one("#rows", LineTable)
        blocks = list(app.screen.query(SpanBlock))
        before = [table.lines_refreshed, *(block.lines_refreshed for block in blocks)]
        for _ in range(5):
            app._tick()
            app.screen.show()
        assert [table.lines_refreshed, *(block.lines_refreshed for block in blocks)] == before


async def test_a_finished_screen_does_not_even_look_at_the_clock() -> None:
    backend = ScriptedBackend([group(phase=GroupPhase.COMPLETED, pending=0, going=0)])
    async with console(backend) as (app, _pilot):
        table = app.screen.query_one("#rows", LineTable)
        before = table.cells.rows_made
        app._tick()
        assert table.cells.rows_made == before


async def test_ten_thousand_runs_cost_what_the_visible_ones_cost() -> None:
    backend = large()
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, pilot):
        table = app.screen.query_one("#rows", LineTable)
        state = app.feed.groups["fleet"]
        sorted_before = state.rows.sorted_wholly
        table.cells.rows_made = table.lines_refreshed = 0
        backend.emit(*(changed("AgentRun", f"fleet-{case:04d}-a1", 101 + case, of="fleet", costUSD="0.02") for case in range(0, MANY, 10)))
        await settled(app, pilot)
        height = table.size.height
        assert table.lines_refreshed <= height
        assert table.cells.rows_made <= 8 * height
        assert state.rows.sorted_wholly == sorted_before
        table.cells.rows_made = table.lines_refreshed = 0
        await press(app, pilot, "end")
        assert "sum-9999" in "\n".join(screen_lines(app))
        assert table.cells.rows_made <= 12 * height


async def test_a_cursor_step_asks_for_its_two_lines_only() -> None:
    async with console(ScriptedBackend([group()], every_kind_of_run()), start_at="fleet", size=(120, 40)) as (app, pilot):
        table = app.screen.query_one("#rows", LineTable)
        await press(app, pilot, "j")
        table.lines_refreshed = 0
        await press(app, pilot, "j")
        # Once by the key, once more by the screen that follows the cursor; what is asked for twice is painted once.
        assert table.lines_refreshed <= 4


async def test_bursts_are_coalesced() -> None:
    backend = ScriptedBackend([group()], every_kind_of_run())
    async with console(backend, start_at="fleet") as (app, pilot):
        before = app.flushes
        for step in range(200):
            backend.emit(changed("AgentRun", "fleet-0007-a1", 101 + step, of="fleet", outputTokens=step))
        await pilot.pause()
        await settled(app, pilot)
        assert app.flushes - before <= 3


async def test_nothing_is_painted_under_a_dialog_and_everything_after_it() -> None:
    backend = ScriptedBackend([group()], every_kind_of_run())
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, pilot):
        table = app.screen.query_one("#rows", LineTable)
        await press(app, pilot, "E")
        before = table.cells.rows_made
        backend.emit(changed("AgentRun", "fleet-0008-a1", 101, of="fleet", phase="Running"))
        await settled(app, pilot)
        assert table.cells.rows_made == before
        await press(app, pilot, "escape")
        assert "► Running" in next(line for line in screen_lines(app) if "sum-008" in line)


async def test_the_cursor_stays_on_its_run_when_the_order_changes() -> None:
    backend = ScriptedBackend([group()], every_kind_of_run())
    async with console(backend, start_at="fleet", size=(120, 40)) as (app, pilot):
        table = app.screen.query_one("#rows", LineTable)
        table.rows.sort_by("cost", descending=True)
        app.screen.show()
        table.select("fleet-0008-a1")
        backend.emit(changed("AgentRun", "fleet-0008-a1", 101, of="fleet", costUSD="0.0599", phase="Running"))
        await settled(app, pilot)
        assert table.cursor_key == "fleet-0008-a1"
        assert table.rows.key_at(0) == "fleet-0008-a1"
