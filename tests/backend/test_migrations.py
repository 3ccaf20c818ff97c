import asyncio
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from local_backend.storage.records import RunRecord, SandboxUse, TurnRow
from local_backend.storage.schema import MIGRATIONS
from local_backend.storage.store import Store


def old_workspace(path: Path) -> None:
    """A database as version 1 left it: one task of two prompts, a run that answered both, and one that answered the first."""
    connection = sqlite3.connect(path)
    connection.executescript(MIGRATIONS[1])
    connection.execute("PRAGMA user_version = 1")
    connection.execute("INSERT INTO tasks VALUES ('g', 0, 't', '[\"one\", \"two\"]', '{}')")
    for seq, (name, turns) in enumerate([("g-c001", 2), ("g-c002", 1)], start=1):
        connection.execute(
            "INSERT INTO runs (seq, name, group_name, case_index, task_position, task_id, repetition, attempt, current, phase, message, "
            "grade_message, cap, carried, spent, in_flight, unconfirmed, input_tokens, output_tokens, calls, turns, created_at) "
            "VALUES (?, ?, 'g', ?, 0, 't', 1, 1, 1, 'Pending', '', '', 100, 0, 7, 0, 0, 0, 0, ?, ?, '2026-01-01T00:00:00.000000+00:00')",
            (seq, name, seq - 1, turns, turns),
        )
        connection.execute("INSERT INTO turns VALUES (?, 1, 'user', 'one', '2026-01-01T00:00:00.000000+00:00', NULL)", (name,))
    connection.commit()
    connection.close()


async def test_a_workspace_of_version_1_is_brought_up_to_date_with_all_that_it_holds(tmp_path: Path) -> None:
    old_workspace(tmp_path / "nodus.db")
    store = await Store.open(tmp_path / "nodus.db")
    runs = [RunRecord.from_row(row) for row in await store.read("SELECT * FROM runs ORDER BY seq")]
    turns = [TurnRow.from_row(row) for row in await store.read("SELECT * FROM turns")]
    await store.aclose()
    assert [(run.name, run.answered, run.spent, run.sandbox) for run in runs] == [("g-c001", True, 7, None), ("g-c002", False, 7, None)]
    assert [run.stretches for run in runs] == [[], []]
    assert [(turn.text, turn.tools) for turn in turns] == [("one", ())] * 2


async def test_many_that_make_the_same_workspace_at_once_all_have_it(tmp_path: Path) -> None:
    """SQLite tells some of them at once that the file is locked, whatever their timeout."""
    for number in range(12):
        path = tmp_path / f"{number}.db"
        stores = await asyncio.gather(*(Store.open(path) for _ in range(4)))
        for store in stores:
            assert await store.read("SELECT count(*) AS runs FROM runs") is not None
            await store.aclose()


def test_the_use_of_sandboxes_comes_back_as_it_was_stored() -> None:
    moment = datetime(2026, 5, 1, 12, tzinfo=UTC)
    use = SandboxUse(
        hardware="L4", devices=["GPU-1"], rate=7_500_000, engine="docker", image="x", started_at=moment, running=True, kept=True
    )
    use.charge(1.5)
    assert SandboxUse.from_text(use.to_text()) == use


def test_sandbox_time_is_charged_at_the_hourly_rate_rounded_up_to_the_nano_dollar() -> None:
    use = SandboxUse(rate=7_500_000)  # $0.0075 an hour
    use.charge(600 * 100)  # a hundred episodes of ten minutes
    assert use.cost == 125_000_000
    use.charge(0.000_001)
    assert use.cost == 125_000_001
