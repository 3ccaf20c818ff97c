"""What an action on a sweep or on one of its cells will do, in numbers, before a person says yes."""

from datetime import datetime
from decimal import Decimal

from nodus_tui.contract.money import display_usd, exact_usd
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.view_state.cells import Line, line, muted, strong
from nodus_tui.view_state.figures import short_usd
from nodus_tui.view_state.proposals import TYPE_COUNT_FROM, Question, proposed_cap
from nodus_tui.view_state.sweep_cells import CellNow
from nodus_tui.view_state.sweeps import sweep_status
from nodus_tui.view_state.words import as_sentence


def _cells(count: int) -> str:
    return f"{count} cell{'s' if count != 1 else ''}"


def kill_sweep_question(sweep: Sweep) -> Question:
    """Ending a whole sweep."""
    status = sweep_status(sweep)
    unfinished = status.cells - status.ended
    going = f"{_cells(status.going)} going: their calls in flight get ten seconds to end, jobs their grace." if status.going else ""
    lines = (
        line(strong(f"{unfinished} of {_cells(status.cells)}"), " have not ended; those that were not launched never are."),
        line(going or "No cell is going."),
        line(muted(f"What was scored is kept, and {short_usd(status.cost_usd)} is spent. A retry goes on with killed cells.")),
    )
    typed = str(unfinished) if unfinished >= TYPE_COUNT_FROM else ""
    return Question(f"Kill sweep {sweep.name}?", lines, f"Kill {unfinished}", typed)


def kill_cell_question(item: CellNow) -> Question:
    """Ending a cell of whose group or job no more is known than the sweep tells."""
    cell = item.cell
    if not cell.launched:
        what: tuple[Line, ...] = (line("It was not launched: it never is, and its money is left to the others."),)
    else:
        what = (
            line("It is asked to end; what has not ended after its grace is killed."),
            line(muted(f"{short_usd(cell.cost_usd)} is spent.")),
        )
    return Question(f"Kill cell {cell.name}?", (*what, line(muted("A retry of the sweep's cells runs it again."))), "Kill")


def retry_sweep_question(sweep: Sweep) -> Question:
    """Running all broken cells again."""
    status = sweep_status(sweep)
    return Question(
        f"Retry {_cells(status.failed)} of {sweep.name}?",
        (
            line(strong(_cells(status.failed)), " ended killed, failed or with cases unscored. Verdicts stand and are not run again."),
            line(f"Each waits for a place and for room under the sweep's cap: {short_usd(status.left_usd)} is left of it."),
        ),
        f"Retry {status.failed}",
    )


def sweep_cap_lines(sweep: Sweep) -> tuple[Line, ...]:
    """What stands beside the question for a sweep's new cap."""
    status = sweep_status(sweep)
    return (
        line(f"{exact_usd(status.cap_usd)} is the cap; ", strong(f"{short_usd(status.cost_usd)} is spent"), "."),
        *((line(muted(as_sentence(status.message))),) if status.message else ()),
        line("It is raised in place. Cells that wait for money start at once, where a place is free."),
    )


def cell_cap_proposal(item: CellNow, sweep: Sweep, now: datetime) -> Decimal:
    """Twice its cap, or what it needs where that is more; no more than the sweep has room for, where that is something."""
    cell, status = item.cell, sweep_status(sweep)
    going = cell.phase is GroupPhase.RUNNING
    room = status.left_usd + (cell.cap_usd if going else item.cost(now))
    proposal = proposed_cap(cell.cap_usd, item.needed_cap())
    return min(proposal, room) if room > max(cell.cap_usd, item.needed_cap() or Decimal(0)) else proposal


def cell_cap_lines(item: CellNow, sweep: Sweep) -> tuple[Line, ...]:
    """What stands beside the question for a cell's new cap."""
    cell, status = item.cell, sweep_status(sweep)
    return (
        line(f"{exact_usd(cell.cap_usd)} is the cap of {cell.name}."),
        *((line(muted(cell.message)),) if cell.message else ()),
        line("It must fit under what the sweep has left: ", strong(short_usd(status.left_usd)), f" of {display_usd(status.cap_usd)}."),
    )
