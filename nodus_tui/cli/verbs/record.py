"""`record`: what a backend tells over a while, into a file, without a console."""

import asyncio
from contextlib import aclosing, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.logs import log_to_file
from nodus_tui.cli.options import DurationType
from nodus_tui.cli.recordings import begin_recording, tell_recorded
from nodus_tui.cli.signals import stop_on_signals
from nodus_tui.cli.stalls import stands_stalled
from nodus_tui.connect import connect
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.phases import GroupPhase, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.recording.recording_backend import RecordingBackend

_MIB = 1024 * 1024
_MACHINE_SECONDS = 2.0


@click.command("record")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--for", "span", type=DurationType(), metavar="DURATION", help="End after this time, such as 10m.")
@click.option("--until-rest", is_flag=True, help="End when nothing goes on until somebody acts: all has ended, or is stalled.")
@click.option("--transcripts", is_flag=True, help="Also the conversation of each run that ends meanwhile: prompts and answers.")
@click.option("--machine", is_flag=True, help="Also the GPUs and the machine, every two seconds.")
@click.option(
    "--most-mib", type=click.IntRange(min=1, max=1_000_000), default=256, show_default=True, help="The recording ends at this size."
)
def command(file: Path, span: timedelta | None, most_mib: int, *, until_rest: bool, transcripts: bool, machine: bool) -> int:
    """Record into FILE, which must be new, what the workspace does: every group, run, job, sweep and budget as it stands, and every change.

    `nodus-tui replay FILE` shows it again. It ends at Ctrl-C, or as --for and --until-rest say. `nodus-tui --record FILE` records what
    you look at in the console.
    """
    log_to_file()
    return asyncio.run(_record(file, span, most_mib * _MIB, until_rest=until_rest, transcripts=transcripts, machine=machine))


async def _record(file: Path, span: timedelta | None, most_bytes: int, *, until_rest: bool, transcripts: bool, machine: bool) -> int:
    async with await begin_recording(await connect("look", say), file, most_bytes=most_bytes) as backend:
        with stop_on_signals(lambda _count: None) as request:
            say(f"recording to {file}; {'it ends by itself, or at Ctrl-C' if span or until_rest else 'Ctrl-C ends it'}")
            follower = Follower(backend, until_rest=until_rest, transcripts=transcripts)
            tasks = [asyncio.ensure_future(follower.follow()), asyncio.ensure_future(request.asked.wait())]
            if machine:
                tasks.append(asyncio.ensure_future(_look_at_machine(backend)))
            try:
                done, _ = await asyncio.wait(
                    tasks, timeout=span.total_seconds() if span is not None else None, return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            for task in done:
                task.result()
        backend.file.close()
        return Exit.DONE if tell_recorded(backend) else Exit.INFRASTRUCTURE


async def _look_at_machine(backend: RecordingBackend) -> None:
    while backend.file.open:
        with suppress(NodusError):
            # A refusal is written down like an answer.
            await backend.gpus()
        await asyncio.sleep(_MACHINE_SECONDS)


class Follower:
    """Reads the stream, so that it is recorded, and asks for what else is wanted."""

    def __init__(self, backend: RecordingBackend, *, until_rest: bool, transcripts: bool) -> None:
        self._backend = backend
        self._until_rest = until_rest
        self._transcripts = transcripts
        self._working: set[tuple[str, str]] = set()
        """Groups, jobs and sweeps that are at work."""
        self._stalled: set[tuple[str, str]] = set()
        """Groups and sweeps that are stalled."""

    async def follow(self) -> None:
        """Read until the recording ends by itself."""
        await self._backend.info()
        snapshot = await self._backend.snapshot()
        self._begin(snapshot)
        for sweep in snapshot.sweeps:
            await self._ask(self._backend.sweep_results(sweep.name))
        if self._until_rest and await self._all_rests():
            say("nothing is at work, so only how things stand is recorded; begin it while something goes on")
            return
        async with aclosing(cast("Any", self._backend.watch(after=snapshot.cursor))) as batches:
            async for batch in batches:
                for event in batch.events:
                    await self._take(event)
                if not self._backend.file.open or (self._until_rest and await self._all_rests()):
                    return

    async def _all_rests(self) -> bool:
        """Whether nothing goes on until somebody acts; tells what is stalled then."""
        if self._working:
            return False
        sentences = []
        for kind, name in sorted(self._stalled):
            try:
                # Not through the recording: whoever shows it again asks for nothing of this.
                stalled = await self._backend.inner.get(kind, name)
            except NodusError as error:
                if error.code is ErrorCode.NOT_FOUND:
                    return False  # Deleted just now: the stream is about to tell it.
                raise
            if not isinstance(stalled, AgentGroup | Sweep) or stalled.status is None or stalled.status.phase is not GroupPhase.STALLED:
                return False
            if isinstance(stalled, AgentGroup) and not await stands_stalled(self._backend.inner, name, stalled.status):
                return False
            message = f": {stalled.status.message}" if stalled.status.message else ""
            sentences.append(f"{name} is stalled, and nothing of it goes on until somebody acts{message}")
        for sentence in sentences:
            say(sentence)
        return True

    def _begin(self, snapshot: Snapshot) -> None:
        for group in snapshot.groups:
            if group.status is not None:
                self._stands((group.kind, group.name), group.status.phase)
        for sweep in snapshot.sweeps:
            if sweep.status is not None:
                self._stands((sweep.kind, sweep.name), sweep.status.phase)
        jobs: tuple[Job | TrainingJob, ...] = (*snapshot.jobs, *snapshot.training_jobs)
        self._working.update((job.kind, job.name) for job in jobs if job.status is not None and not job.status.ended)

    def _stands(self, key: tuple[str, str], phase: GroupPhase) -> bool:
        """Note how a group or a sweep stands; whether it moves no more until somebody acts."""
        stalled = phase is GroupPhase.STALLED
        rests = phase.at_rest or stalled
        (self._working.discard if rests else self._working.add)(key)
        (self._stalled.add if stalled else self._stalled.discard)(key)
        return rests

    async def _take(self, event: Event) -> None:
        phase = event.status.get("phase")
        key = (event.kind, event.name)
        if event.change == "Deleted":
            self._working.discard(key)
            self._stalled.discard(key)
        elif isinstance(phase, str) and event.kind in {"Job", "TrainingJob"}:
            (self._working.add if phase in {"Pending", "Running", "Serving"} else self._working.discard)(key)
        elif isinstance(phase, str) and event.kind in {"AgentGroup", "Sweep"}:
            rests = self._stands(key, GroupPhase(phase))
            if event.kind == "Sweep" and (rests or event.change == "Created"):
                await self._ask(self._backend.sweep_results(event.name))
            elif rests:
                await self._ask(self._backend.results(event.name))
        elif isinstance(phase, str) and event.kind == "AgentRun" and self._transcripts and RunPhase(phase).ended:
            await self._ask(self._backend.transcript(event.name))

    async def _ask(self, call: Any) -> None:
        with suppress(NodusError):
            # A refusal is written down like an answer.
            await call
