"""Sweeps on the command line: following them, stopping them, and what exit code they come to."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, Literal, cast

from nodus_tui.cli.acting import act
from nodus_tui.cli.exits import Exit, gravest
from nodus_tui.cli.failures import say
from nodus_tui.cli.gate import Gate, Judgement, judge
from nodus_tui.cli.jobs import exit_code, job_named, status_of
from nodus_tui.cli.output import emit
from nodus_tui.cli.progress import Display, display_for
from nodus_tui.cli.session import author, with_backend
from nodus_tui.cli.signals import StopRequest, stop_on_signals
from nodus_tui.cli.sweep_texts import pool_name, rate_text, sweep_results_text
from nodus_tui.cli.waiting import GRACE_SECONDS, WaitOptions
from nodus_tui.contract.actions import Action, PauseSweep, ResumeSweep, RetryCells
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.events import EventBatch
from nodus_tui.contract.outcomes import ApplyOutcome
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.sweep import Sweep, SweepStatus
from nodus_tui.contract.sweep_results import SweepCell, SweepResults

Ending = Literal["ended", "stalled", "timeout", "interrupted"]


async def sweep_named(backend: Backend, name: str) -> Sweep:
    """The sweep. Raises NodusError when there is none."""
    found = await backend.get("Sweep", name)
    if not isinstance(found, Sweep):
        raise TypeError(f"the backend gave a {found.kind} for Sweep {name}")
    return found


def standing(sweep: Sweep) -> SweepStatus:
    """The status that a backend's sweeps always have; ValueError says which one lacks it."""
    if sweep.status is None:
        raise ValueError(f"the backend gave Sweep {sweep.name} without a status")
    return sweep.status


async def run_sweeps(backend: Backend, outcome: ApplyOutcome, options: WaitOptions) -> Exit:
    """Wait for the sweeps that were applied; one that stood there paused goes on, and one that had ended is told as it is."""
    names = []
    for each in outcome.documents:
        if each.kind != "Sweep":
            continue
        names.append(each.name)
        phase = standing(await sweep_named(backend, each.name)).phase
        if each.outcome == "created":
            continue
        if phase is GroupPhase.INTERRUPTED:
            say(f"{each.name} was paused or interrupted before; it goes on, and nothing is paid twice")
            await backend.act(ResumeSweep(name=each.name, author=author(), why="run again"))
        elif phase.ended:
            say(f"{each.name} has already ended ({phase.value}): these are its results; `--as NAME` runs it anew")
        else:
            say(f"{each.name} is already under way ({phase.value})")
    return await wait_for_sweeps(backend, names, options)


def act_on_sweep(action: RetryCells | ResumeSweep, options: WaitOptions | None, output: str) -> int:
    """Do it and tell what it changed; with options then wait for the sweep as `run` does."""

    async def ask(backend: Backend) -> int:
        outcome = await backend.act(action)
        say(outcome.message)
        return await wait_for_sweeps(backend, (action.name,), options or WaitOptions())

    async def plan(_: Backend) -> Sequence[Action]:
        return [action]

    return act(plan, output) if options is None else with_backend("work", ask)


async def wait_for_sweeps(backend: Backend, names: Sequence[str], options: WaitOptions) -> Exit:
    """Wait until sweeps have ended or stand stalled, with progress on stderr; print and judge them.

    An interruption ends the waiting. Where the sweeps are this command's own, or this process does the work, it pauses them and lets their
    groups' calls in flight end; jobs go on to their ends.
    """
    info = await backend.info()
    with display_for(quiet=options.quiet) as display, stop_on_signals(lambda count: _answer(count, display)) as stop:
        stops = info.scheduling or (options.launches and info.can_stop_groups)
        if not stops:
            display.hint("Ctrl-C ends the watching; the work goes on")
        ending = await _follow(backend, names, options, display, stop)
        stopped = ending in {"interrupted", "timeout"} and stops and not stop.hung_up
        if stopped:
            display.hint("stopping; Ctrl-C again aborts")
            await _stop(backend, names, info, stop)
    return await report_sweeps(backend, names, options, ending, stopped=stopped)


def _answer(count: int, display: Display) -> None:
    display.note("aborting: calls in flight are charged their worst case" if count > 1 else "stopping; again to abort")


async def _follow(backend: Backend, names: Sequence[str], options: WaitOptions, display: Display, stop: StopRequest) -> Ending:
    loop = asyncio.get_running_loop()
    until = None if options.timeout is None else loop.time() + options.timeout.total_seconds()
    snapshot = await backend.snapshot()
    statuses = {sweep.name: standing(sweep) for sweep in snapshot.sweeps if sweep.name in names}
    for name in names:
        if name not in statuses:
            raise NodusError.not_found("Sweep", name)
    asked = asyncio.ensure_future(stop.asked.wait())
    batch: asyncio.Future[EventBatch] | None = None
    async with aclosing(cast("Any", backend.watch(after=snapshot.cursor))) as batches:
        try:
            while True:
                display.show(statuses)
                if all(status.phase.at_rest for status in statuses.values()):
                    return "ended"
                if not options.keep_waiting and all(_rests(status) for status in statuses.values()):
                    return "stalled"
                batch = batch or asyncio.ensure_future(anext(batches))
                left = None if until is None else max(0.0, until - loop.time())
                waits: set[asyncio.Future[Any]] = {batch, asked}
                done, _ = await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if asked in done:
                    return "interrupted"
                if not done:
                    return "timeout"
                _fold(statuses, batch.result())
                batch = None
        finally:
            going = [task for task in (asked, batch) if task is not None]
            for task in going:
                task.cancel()
            await asyncio.gather(*going, return_exceptions=True)


def _rests(status: SweepStatus) -> bool:
    return status.phase.at_rest or status.phase is GroupPhase.STALLED


def _fold(statuses: dict[str, SweepStatus], batch: EventBatch) -> None:
    for event in batch.events:
        if event.kind != "Sweep" or event.name not in statuses:
            continue
        if event.change == "Deleted":
            raise NodusError.not_found("Sweep", event.name)
        statuses[event.name] = SweepStatus.model_validate({**statuses[event.name].to_document(), **event.status})


async def _stop(backend: Backend, names: Sequence[str], info: BackendInfo, stop: StopRequest) -> None:
    """Pause the sweeps first, so that no cell takes the place of one that stops; then let their groups' calls in flight end."""
    groups: list[str] = []
    for name in names:
        await backend.act(PauseSweep(name=name, author=author(), why="interrupted"))
        results = await backend.sweep_results(name)
        groups += [cell.name for cell in results.cells if cell.kind == "AgentGroup" and cell.launched and not cell.phase.ended]
    named = () if info.scheduling else tuple(groups)
    if not named and not info.scheduling:
        return
    graceful = asyncio.ensure_future(backend.stop_work(grace_seconds=GRACE_SECONDS, groups=named))
    abort = asyncio.ensure_future(stop.abort.wait())
    waits: set[asyncio.Future[Any]] = {graceful, abort}
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    if not graceful.done():
        await backend.stop_work(grace_seconds=0, groups=named)
    await graceful
    abort.cancel()
    await asyncio.gather(abort, return_exceptions=True)


async def report_sweeps(backend: Backend, names: Sequence[str], options: WaitOptions, ending: Ending, *, stopped: bool = False) -> Exit:
    """Print the results as they stand and judge them; how the wait ended comes first."""
    results = [await backend.sweep_results(name) for name in names]
    emit(sweep_results_text(results, options.output))
    if ending in {"interrupted", "timeout"}:
        if ending == "timeout":
            say("the time to wait is up")
        for each in results:
            if not each.phase.ended:
                say(f"{each.sweep} is kept; `nodus-tui {'resume' if stopped else 'wait'} sweep/{each.sweep}` goes on with it")
        return Exit.INTERRUPTED if ending == "interrupted" else Exit.INFRASTRUCTURE
    judgements = [await judge_sweep(backend, each, options.gate) for each in results]
    for judgement in judgements:
        for sentence in judgement.sentences:
            say(sentence)
    return gravest(tuple(judgement.code for judgement in judgements))


async def judge_sweep(backend: Backend, results: SweepResults, gate: Gate) -> Judgement:
    """The exit code of a sweep as it stands: every cell must pass as its group or job would alone, and every variant the gate's rate."""
    name = results.sweep
    if results.phase is GroupPhase.INTERRUPTED:
        return Judgement(Exit.INTERRUPTED, (f"{name} is interrupted; go on with `nodus-tui resume sweep/{name}`",))
    if results.phase is GroupPhase.STALLED:
        return Judgement(Exit.CAP, (f"{name} is stalled: {results.message}",))
    judged = [await _judge_cell(backend, cell, Gate(min_coverage=gate.min_coverage)) for cell in results.cells]
    for pool in results.pooled if gate.min_pass_rate is not None else ():
        if gate.min_pass_rate is not None and (pool.rate.pass_rate is None or pool.rate.pass_rate < gate.min_pass_rate):
            shown = rate_text(pool.rate, ended=results.phase.ended)
            judged.append(Judgement(Exit.GATE, (f"{name}, {pool_name(pool)}: {shown}, below the gate of {100 * gate.min_pass_rate:.1f}%",)))
    sentences = tuple(text for each in judged for text in each.sentences)
    return Judgement(gravest(tuple(each.code for each in judged)), sentences)


async def _judge_cell(backend: Backend, cell: SweepCell, gate: Gate) -> Judgement:
    told = f"{cell.name}: {': '.join(part for part in (cell.reason or cell.phase.value, cell.message) if part)}"
    if not cell.launched:
        return Judgement(Exit.INFRASTRUCTURE if cell.phase is GroupPhase.FAILED else Exit.GATE, (told,))
    if cell.kind == "AgentGroup":
        whole = cell.rate is not None and cell.rate.coverage.scored == cell.rate.coverage.total
        return Judgement(Exit.DONE) if whole else judge(await backend.results(cell.name), gate)
    code = exit_code(status_of(await job_named(backend, cell.name)))
    return Judgement(code, () if code is Exit.DONE else (told,))
