"""Kill, extend, retry, pause, resume of a sweep and of its cells: the questions before, the same from the list and from the grid."""

from uuid import uuid4

from nodus_tui.contract.actions import Action, ExtendCap, Kill, PauseSweep, ResumeSweep, RetryCells
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.screens import acting
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.cells import Tone
from nodus_tui.view_state.proposals import cap_input, cap_problem, proposed_cap, too_low, typed_cap
from nodus_tui.view_state.sweep_cells import CellNow
from nodus_tui.view_state.sweep_questions import (
    cell_cap_lines,
    cell_cap_proposal,
    kill_cell_question,
    kill_sweep_question,
    retry_sweep_question,
    sweep_cap_lines,
)
from nodus_tui.view_state.sweeps import sweep_status
from nodus_tui.widgets.dialogs import PromptDialog


def _stamp(screen: ViewScreen) -> dict[str, str]:
    return {"author": screen.services.author, "request_id": uuid4().hex}


async def kill_sweep(screen: ViewScreen, sweep: Sweep) -> None:
    """Ask, then end a sweep."""
    if sweep_status(sweep).phase.ended:
        screen.notice(f"{sweep.name} has ended; there is nothing to kill.", Tone.WARN)
    elif await acting.agreed(screen, kill_sweep_question(sweep)):
        await acting.perform(screen, Kill(kind="Sweep", name=sweep.name, **_stamp(screen)))


async def extend_sweep(screen: ViewScreen, sweep: Sweep) -> None:
    """Ask for a higher cap, then raise the sweep's."""
    status = sweep_status(sweep)
    answer = await screen.app.push_screen_wait(
        PromptDialog(
            f"New cap of sweep {sweep.name}, in US dollars",
            sweep_cap_lines(sweep),
            value=cap_input(proposed_cap(status.cap_usd, status.needed_cap_usd)),
            problem=lambda text: cap_problem(text, status.cap_usd),
            remark=lambda text: too_low(typed_cap(text), status.needed_cap_usd, "to start all its cells it", "some would wait on"),
        )
    )
    if answer is not None:
        await acting.perform(screen, ExtendCap(kind="Sweep", name=sweep.name, cap_usd=typed_cap(answer[0]), **_stamp(screen)))


async def retry_sweep(screen: ViewScreen, sweep: Sweep) -> None:
    """Ask, then run all broken cells again. An interrupted sweep that has none goes on: whoever asks for one word means the other."""
    status = sweep_status(sweep)
    if status.failed:
        if await acting.agreed(screen, retry_sweep_question(sweep)):
            await acting.perform(screen, RetryCells(name=sweep.name, **_stamp(screen)))
    elif status.phase is GroupPhase.INTERRUPTED:
        await resume_sweep(screen, sweep)
    else:
        screen.notice(f"No cell of {sweep.name} has ended broken; verdicts stand and are not run again.", Tone.WARN)


async def pause_sweep(screen: ViewScreen, sweep: Sweep) -> None:
    """Let no further cell start; no question, for a key lets it go on."""
    if sweep_status(sweep).phase.ended:
        screen.notice(f"{sweep.name} has ended; no further cell starts.", Tone.WARN)
    else:
        await acting.perform(screen, PauseSweep(name=sweep.name, **_stamp(screen)))


async def resume_sweep(screen: ViewScreen, sweep: Sweep) -> None:
    """Let a paused or interrupted sweep go on."""
    if sweep_status(sweep).phase.ended:
        screen.notice(
            f"{sweep.name} has ended ({sweep_status(sweep).phase.value}); only what is interrupted or paused is resumed.", Tone.WARN
        )
    else:
        await acting.perform(screen, ResumeSweep(name=sweep.name, **_stamp(screen)))


async def kill_cell(screen: ViewScreen, item: CellNow) -> None:
    """Ask, then end a cell as its group or job is ended; one that was not launched never is."""
    cell = item.cell
    if item.group is not None:
        await acting.kill_group(screen, item.group)
    elif item.job is not None:
        await acting.kill_job(screen, item.job)
    elif cell.phase.ended:
        screen.notice(f"{cell.name} has ended; there is nothing to kill.", Tone.WARN)
    elif await acting.agreed(screen, kill_cell_question(item)):
        await acting.perform(screen, _kill(item, screen))


def _kill(item: CellNow, screen: ViewScreen) -> Action:
    return Kill.model_validate({"kind": item.cell.kind, "name": item.name, **_stamp(screen)})


async def extend_cell(screen: ViewScreen, item: CellNow, sweep: Sweep) -> None:
    """Ask for a higher cap of a cell, then raise that of its group or job, where the sweep has the money."""
    cell = item.cell
    if not cell.launched:
        screen.notice(f"{cell.name} was not launched yet: its cap is that of the sweep's template.", Tone.WARN)
        return
    answer = await screen.app.push_screen_wait(
        PromptDialog(
            f"New cap of cell {cell.name}, in US dollars",
            cell_cap_lines(item, sweep),
            value=cap_input(cell_cap_proposal(item, sweep, screen.services.now())),
            problem=lambda text: cap_problem(text, cell.cap_usd),
            remark=lambda text: too_low(typed_cap(text), item.needed_cap(), "to start all its cases it", "some would wait on"),
        )
    )
    if answer is not None:
        action = {"kind": cell.kind, "name": cell.name, "capUSD": typed_cap(answer[0]), **_stamp(screen)}
        await acting.perform(screen, ExtendCap.model_validate(action))


async def retry_cell(screen: ViewScreen, item: CellNow, sweep: Sweep) -> None:
    """Run a broken cell again, or let an interrupted one go on; no question, for nothing is lost by it."""
    await acting.perform(screen, RetryCells(name=sweep.name, cells=(item.name,), **_stamp(screen)))
