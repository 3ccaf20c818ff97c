"""What a scheduler does first: settle what the one before it left open. Nothing is repeated that may have been paid."""

from local_backend.episodes.metering import GroupBooks
from local_backend.scheduling.endings import StopOrder, end_by_order, end_lost
from local_backend.storage.last_word import LastWord
from local_backend.storage.records import CallRow, RunRecord
from local_backend.storage.store import Statement
from nodus_tui.contract.phases import CallState


async def settle_left_over(books: GroupBooks, before: LastWord) -> list[Statement]:
    """The statements that settle a group after a crash; the caller tells the group's own status with them.

    A call that stands as reserved may have left: it is charged its worst case, unconfirmed. Its run, and any other that was going,
    waits again and goes on from its last committed turn; one whose work in a sandbox is lost is interrupted instead.
    The timeout counts on, on a clock that was set back, too.
    """
    statements: list[Statement] = []
    for run in books.runs.values():
        if not run.phase.going and not run.in_flight:
            continue
        rows = await books.store.read("SELECT * FROM calls WHERE run = ? AND state = ?", (run.name, CallState.RESERVED))
        for row in rows:
            statements += books.charge_worst_statements(run, CallRow.from_row(row), "the scheduler ended while the call was under way")
        booked = run.sandbox.cost if run.sandbox is not None else 0
        lost = await _settle_sandbox(books, run, before)
        if run.sandbox is not None:
            statements += books.purse.charged(compute=run.sandbox.cost - booked)
        if run.phase.going:
            books.ledger.stop(run.name)
            if lost:
                end_lost(run)
            else:
                end_by_order(run, StopOrder.PAUSE, books.clock())
        statements += books.told(run)
    group = books.group
    if group.deadline_at is not None and not group.phase.ended:
        group.deadline_at -= before.clock_back
    return statements


async def _settle_sandbox(books: GroupBooks, run: RunRecord, before: LastWord) -> bool:
    """Book the time of sandboxes that a crash cut off. Whether work that the conversation builds on was lost with them.

    A sandbox that dies with its scheduler is charged up to the last thing that is known of the workspace; one that its engine keeps until
    it is reaped, up to now, or to the end of its lifetime. Both by the clock by which it was started.
    """
    use = run.sandbox
    if use is None or not (use.running or use.grading_at):
        return False
    now = books.clock()
    end = before.then(now) if use.engine == "docker" else before.at
    use.grading_stopped(end)
    if not use.running:
        return False
    use.stopped(end)
    # Whether it rests or not is settled when it is told: this is since when.
    run.rested_at = min(end, now)
    return run.turns > 0 and not run.answered
