"""What console_budget.py measures, each a process of its own on the terminal it is given. Nothing in it runs: the backends are scripted.

    python console_subjects.py stop NAME READY            the console at a place of tests/app/console_stops.py
    python console_subjects.py rows ROWS CHANGES BATCHES REPORT   campaigns, and below them a group of so many runs that change
    python console_subjects.py stock ROWS CHANGES BATCHES REPORT  the same rows and changes in Textual's own DataTable

CHANGES and BATCHES are a second. READY and REPORT are files that are written: when the place is reached, how many changes were taken.
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

_TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(_TESTS / "app"), str(_TESTS / "view_state")]
_SEED = 7


def _place(name: str, ready: Path) -> None:
    # Imported here: the other subjects do without the tests' worlds.
    from console_records import NOW  # noqa: PLC0415
    from console_stops import STOPS, go_to  # noqa: PLC0415
    from stillness import still  # noqa: PLC0415
    from textual import pilot as pilots  # noqa: PLC0415

    from nodus_tui.app import NodusApp  # noqa: PLC0415

    # Textual's own way of waiting asks whether the process has slept, which on a busy machine it may not for long.
    pilots.wait_for_idle = still
    stop = STOPS[name]
    app = NodusApp(stop.world(), clock=lambda: NOW)

    async def lead(pilot: Any) -> None:
        await go_to(app, pilot, stop)
        ready.write_text("there", encoding="utf-8")  # noqa: ASYNC240 - nothing else happens yet

    asyncio.run(app.run_async(auto_pilot=lead))


def _rows(rows: int, changes: int, batches: int, report: Path) -> None:
    from console_records import NOW, group, run  # noqa: PLC0415
    from scripted_backend import ScriptedBackend  # noqa: PLC0415

    from nodus_tui.contract.events import Event, EventBatch  # noqa: PLC0415
    from nodus_tui.contract.phases import RunPhase  # noqa: PLC0415
    from nodus_tui.opening import show_console  # noqa: PLC0415

    class Changing(ScriptedBackend):
        taken = 0

        async def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
            chance = random.Random(_SEED)
            names = list(self.runs)
            beat = 1 / batches
            due, cursor = time.perf_counter(), after
            while True:
                due = max(due + beat, time.perf_counter() - 1)
                await asyncio.sleep(max(0.0, due - time.perf_counter()) if changes else 3600)
                events = []
                for _ in range(max(1, changes // batches)):
                    cursor += 1
                    status: dict[str, Any] = {
                        "costUSD": f"0.{chance.randrange(10**4):04d}",
                        "outputTokens": chance.randrange(10**4),
                        "calls": chance.randrange(50),
                    }
                    name = names[chance.randrange(len(names))]
                    events.append(Event(cursor=cursor, at=NOW, change="Changed", kind="AgentRun", name=name, group="fleet", status=status))
                self.taken += len(events)
                yield EventBatch(cursor=cursor, events=tuple(events))

    runs = [run(case, phase=RunPhase.RUNNING, started_at=NOW, task=f"sum-{case:05d}") for case in range(rows)]
    backend = Changing([group()], runs)
    began = time.perf_counter()
    asyncio.run(show_console(backend))
    report.write_text(json.dumps({"changes_per_second": backend.taken / (time.perf_counter() - began)}), encoding="utf-8")


def _stock(rows: int, changes: int, batches: int, report: Path) -> None:
    from textual.app import App, ComposeResult  # noqa: PLC0415
    from textual.widgets import DataTable, Static  # noqa: PLC0415

    class Stock(App[None]):
        CSS = "DataTable { height: 1fr; } Static { height: 1; }"
        columns: ClassVar[tuple[str, ...]] = ("task", "state", "verdict", "cost", "tokens", "calls", "turns", "time")

        def __init__(self) -> None:
            super().__init__()
            self.chance = random.Random(_SEED)
            self.taken = 0

        def compose(self) -> ComposeResult:
            yield DataTable(cursor_type="row")
            yield Static(f"1 of {rows}", markup=False)

        def on_mount(self) -> None:
            table = self.query_one(DataTable)
            for column in self.columns:
                table.add_column(column, key=column, width=12)
            for row in range(rows):
                table.add_row(f"sum-{row:05d}", "Running", "", "$0.0000", "0", "0", "0", "10s", key=str(row))
            table.focus()
            if changes:
                self.set_interval(1 / batches, self.change)

        def change(self) -> None:
            table = self.query_one(DataTable)
            for _ in range(max(1, changes // batches)):
                row = str(self.chance.randrange(rows))
                table.update_cell(row, "cost", f"$0.{self.chance.randrange(10**4):04d}")
                table.update_cell(row, "tokens", str(self.chance.randrange(10**4)))
                table.update_cell(row, "calls", str(self.chance.randrange(50)))
                self.taken += 1

        def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
            self.query_one(Static).update(f"{event.cursor_row + 1} of {rows}")

    app = Stock()
    began = time.perf_counter()
    app.run()
    report.write_text(json.dumps({"changes_per_second": app.taken / (time.perf_counter() - began)}), encoding="utf-8")


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    if what == "stop":
        _place(given[0], Path(given[1]))
    else:
        subject = {"rows": _rows, "stock": _stock}[what]
        subject(*(int(each) for each in given[:3]), Path(given[3]))
