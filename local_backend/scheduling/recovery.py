"""What a scheduler does first: settle what the one before it left open. Nothing is repeated that may have been paid."""

from local_backend.episodes.metering import GroupBooks
from local_backend.scheduling.endings import StopOrder, end_by_order
from local_backend.storage.records import CallRow
from local_backend.storage.store import Statement
from nodus_tui.contract.phases import CallState


async def settle_left_over(books: GroupBooks) -> list[Statement]:
    """The statements that settle a group after a crash.

    A call that stands as reserved may have left: it is charged its worst case, unconfirmed. Its run, and any other that was going,
    waits again and goes on from its last committed turn.
    """
    statements: list[Statement] = []
    for run in books.runs.values():
        if not run.phase.going:
            continue
        rows = await books.store.read("SELECT * FROM calls WHERE run = ? AND state = ?", (run.name, CallState.RESERVED))
        for row in rows:
            statements += books.charge_worst_statements(run, CallRow.from_row(row), "the scheduler ended while the call was under way")
        books.ledger.stop(run.name)
        end_by_order(run, StopOrder.PAUSE, books.clock())
        statements += books.told(run)
    return statements
