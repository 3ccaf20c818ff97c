"""What a scheduler does first: settle what the one before it left open. Nothing is repeated that may have been paid."""

import logging
from datetime import datetime, timedelta

from local_backend.episodes.metering import GroupBooks
from local_backend.scheduling.endings import StopOrder, end_by_order, end_lost
from local_backend.storage.records import CallRow, RunRecord, time_from
from local_backend.storage.store import Statement, Store
from nodus_tui.contract.phases import CallState

_log = logging.getLogger(__name__)

_UNREMARKABLE = timedelta(seconds=1)
"""Clocks of two processes differ by so much without anybody having set one."""


async def clock_set_back(store: Store, now: datetime) -> timedelta:
    """By how much, at least, the wall clock was set back since the last event; zero where nothing tells of it.

    A clock that was set forward cannot be told from time that passed.
    """
    rows = await store.read("SELECT at FROM events ORDER BY cursor DESC LIMIT 1")
    last = time_from(rows[0]["at"]) if rows else None
    if last is None or last - now < _UNREMARKABLE:
        return timedelta()
    _log.warning("the clock stands %s before the last event: the deadlines of unfinished groups are moved back by as much", last - now)
    return last - now


async def settle_left_over(books: GroupBooks, *, clock_back: timedelta = timedelta()) -> list[Statement]:
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
        before = run.sandbox.cost if run.sandbox is not None else 0
        lost = await _settle_sandbox(books, run)
        if run.sandbox is not None:
            statements += books.purse.charged(compute=run.sandbox.cost - before)
        if run.phase.going:
            books.ledger.stop(run.name)
            if lost:
                end_lost(run)
            else:
                end_by_order(run, StopOrder.PAUSE, books.clock())
        statements += books.told(run)
    group = books.group
    if clock_back and group.deadline_at is not None and not group.phase.ended:
        group.deadline_at -= clock_back
    return statements


async def _settle_sandbox(books: GroupBooks, run: RunRecord) -> bool:
    """Book the time of sandboxes that a crash cut off. Whether work that the conversation builds on was lost with them.

    A sandbox that dies with its scheduler is charged up to the last thing that is known of the workspace; one that its engine keeps until
    it is reaped, up to now, or to the end of its lifetime.
    """
    use = run.sandbox
    if use is None or not (use.running or use.grading_at):
        return False
    rows = await books.store.read("SELECT max(at) AS last FROM events")
    now = books.clock()
    last = min(time_from(rows[0]["last"]) or now, now)
    end = now if use.engine == "docker" else last
    use.grading_stopped(end)
    if not use.running:
        return False
    use.stopped(end)
    # Whether it rests or not is settled when it is told: this is since when.
    run.rested_at = end
    return run.turns > 0 and not run.answered
