"""How a group stands when its cases are looked at together: running, stalled, at rest or complete. Changes the group's record only."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from local_backend.episodes.metering import GroupBooks
from local_backend.models.served import Obstacle
from local_backend.scheduling.admission import Waits, stalled_message
from local_backend.storage.records import RunRecord
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase


def assess(
    books: GroupBooks,
    now: datetime,
    *,
    going: int,
    waits: Mapping[str, Waits],
    shortage: str,
    unserved: Obstacle | None = None,
    killed: bool,
) -> bool:
    """Set the group's phase; True when nothing of it is left to do by itself.

    `going` runs hold a slot, `waits` says why the others do not start, `shortage` why the disk has no room, `unserved` why the model cannot
    be called, `killed` whether the whole group was told to end.
    """
    short = {name: why.shortfall for name, why in waits.items()}
    without_model = sum(why.reason is Reason.WAITING_FOR_MODEL for why in waits.values())
    unpaid = [why for why in waits.values() if why.reason is Reason.BUDGET_EXCEEDED]
    group = books.group
    unfinished = [run for run in books.current() if not run.phase.ended]
    if not unfinished:
        complete(books, now, killed=killed)
        return True
    resting = [run for run in unfinished if run.phase is RunPhase.INTERRUPTED]
    if len(resting) == len(unfinished):
        _rest(books, resting)
        return True
    parked = [run for run in unfinished if run.phase is RunPhase.WAITING]
    cannot_start = [shortfall for shortfall in short.values() if shortfall > 0]
    if going == 0 and unpaid and len(parked) + len(unpaid) + len(resting) == len(unfinished):
        group.phase, group.reason, group.message, group.needed = GroupPhase.STALLED, Reason.BUDGET_EXCEEDED, unpaid[0].message, None
    elif unserved is not None and unserved.gone and going == 0 and len(parked) + without_model + len(resting) == len(unfinished):
        group.phase, group.reason, group.message, group.needed = GroupPhase.STALLED, Reason.WAITING_FOR_MODEL, unserved.message, None
    elif going == 0 and len(parked) + len(cannot_start) + len(resting) == len(unfinished):
        _stall(books, parked, {name: shortfall for name, shortfall in short.items() if shortfall > 0})
    else:
        waits_for = shortage or (unserved.message if unserved is not None else "")
        group.phase, group.message, group.needed = GroupPhase.RUNNING, waits_for, None
        group.reason = Reason.DISK_ALMOST_FULL if shortage else Reason.WAITING_FOR_MODEL if unserved is not None else None
    return False


def rests_interrupted(books: GroupBooks) -> bool:
    """Whether only interrupted runs are left; then the group rests until a person has them gone on with, and its record says so."""
    unfinished = [run for run in books.current() if not run.phase.ended]
    if not unfinished or any(run.phase is not RunPhase.INTERRUPTED for run in unfinished):
        return False
    _rest(books, unfinished)
    return True


def _stall(books: GroupBooks, parked: Sequence[RunRecord], short: Mapping[str, int]) -> None:
    group, ledger = books.group, books.ledger
    needs = [ledger.account(name) for name in short]
    shortfall_all = sum(account.own_cap - account.committed for account in needs) - ledger.left
    group.phase, group.reason = GroupPhase.STALLED, Reason.MAX_COST_REACHED
    group.message = stalled_message(
        at_own_cap=[run.needed for run in parked if run.needed is not None],
        cannot_start=len(short),
        shortfall_one=min(short.values(), default=0),
        shortfall_all=shortfall_all,
        cap=ledger.cap,
    )
    group.needed = ledger.cap + shortfall_all if short else None


def _rest(books: GroupBooks, runs: Sequence[RunRecord]) -> None:
    """Only interrupted runs are left, and only a person has them gone on with."""
    group = books.group
    group.phase, group.reason, group.needed = GroupPhase.INTERRUPTED, Reason.INTERRUPTED, None
    lost = sum(run.sandbox is not None and run.sandbox.lost for run in runs)
    count = f"{len(runs)} run{'s are' if len(runs) != 1 else ' is'} interrupted, the rest has ended"
    group.message = f"{count}; {_lost_text(lost, of=len(runs))}" if lost else count


def _lost_text(lost: int, *, of: int) -> str:
    if lost == 1:
        return f"{'its sandbox' if of == 1 else 'the sandbox of one'} was lost with the scheduler, so it begins afresh"
    return f"{'their sandboxes' if lost == of else f'the sandboxes of {lost}'} were lost with the scheduler, so they begin afresh"


def complete(books: GroupBooks, now: datetime, *, killed: bool) -> None:
    """Every case has ended: the group, too."""
    group = books.group
    runs = books.current()
    group.ended_at = now
    group.phase, group.reason, group.message, group.needed = GroupPhase.COMPLETED, None, "", None
    unfinished = sum(run.reason is Reason.KILLED for run in runs)
    unpaid = sum(run.reason is Reason.BUDGET_EXCEEDED for run in runs)
    late = sum(run.reason is Reason.EVALUATION_TIMEOUT for run in runs)
    if unfinished == len(runs) or killed:
        group.phase, group.reason = GroupPhase.CANCELLED, Reason.KILLED
        group.message = f"killed: {unfinished} of {len(runs)} cases were unfinished"
    elif late:
        group.reason = Reason.EVALUATION_TIMEOUT
        group.message = f"{late} of {len(runs)} cases were not graded within the timeout"
    elif unpaid:
        group.reason = Reason.BUDGET_EXCEEDED
        group.message = f"a budget stopped {unpaid} of {len(runs)} cases: they go on by themselves when it has room again"
    above = sum(run.carried + run.spent > run.cap for run in runs)
    if above:
        told = f"{above} run{'s were' if above != 1 else ' was'} billed above the cap: the server reports more tokens than a call can use"
        group.message = f"{group.message}; {told}" if group.message else told
