"""Jobs on the command line: following their logs, waiting for their ends, and what exit code an end is."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import Any, cast

from nodus_tui.cli.exits import Exit, gravest
from nodus_tui.cli.failures import say
from nodus_tui.cli.gate import Gate, judge_scores
from nodus_tui.cli.log_writing import Write, writer_to
from nodus_tui.cli.output import csv_text, emit, json_text, resources_yaml, table_text
from nodus_tui.cli.rows import RIGHT, row_of, titles_of
from nodus_tui.cli.signals import stop_on_signals
from nodus_tui.cli.targets import JOB_WORDS, job_of
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.resources.job import MODEL_SERVER_ENDED, Job, JobStatus, Serving
from nodus_tui.contract.resources.training_job import TrainingJob

_WAIT_SECONDS = 10.0
"""How long one request for more of a log waits for it."""
_PIECE_BYTES = 1 << 18
_CAP_REASONS = frozenset({"MaxCostReached", "BudgetExceeded"})
_NOT_ABOUT_THE_COMMAND = frozenset({"Timeout", "StartTimeout", "NotAnswering", "InfrastructureFailure"})

NO_GATE = Gate()


def exit_code(status: JobStatus) -> Exit:
    """What a job that nobody waits for any more says to a pipeline (docs/cli.md)."""
    if status.phase == "Succeeded":
        return Exit.DONE
    if has_no_server(status):
        return Exit.INFRASTRUCTURE
    if status.phase == "Interrupted":
        return Exit.INTERRUPTED
    if status.reason in _CAP_REASONS:
        return Exit.CAP
    return Exit.INFRASTRUCTURE if status.reason in _NOT_ABOUT_THE_COMMAND else Exit.GATE


AnyJob = Job | TrainingJob


def status_of(job: AnyJob) -> JobStatus:
    """The status that a backend's jobs always have; ValueError says which one lacks it."""
    if job.status is None:
        raise ValueError(f"the backend gave {job.kind} {job.name} without a status")
    return job.status


async def job_named(backend: Backend, name: str) -> AnyJob:
    """The job, of whichever kind. Raises NodusError when there is none."""
    found = await job_of(backend, name)
    # Where there is none it is asked for once more, for the sentence with the nearest name.
    job = found[1] if found is not None else await backend.get("Job", name)
    if not isinstance(job, Job | TrainingJob):
        raise TypeError(f"the backend gave a {job.kind} for the job {name}")
    return job


def target_of(job: AnyJob) -> str:
    """How the command line names it."""
    return f"{JOB_WORDS[job.kind]}/{job.name}"


def server_words(name: str, serve: Serving) -> str:
    """What is to be known of a job that serves, which nobody waits for."""
    until = "until it is killed, or meets its cap" if serve.keep else "while something at work uses that family"
    return f"{name} serves {serve.family} {until}; `nodus-tui logs --follow {name}` shows its output"


async def copy_log(backend: Backend, name: str, write: Write, *, after: int = 0, follow: bool) -> None:
    """Write a job's log from a place on; with `follow` until the job has ended."""
    while True:
        piece = await backend.job_log(name, after=after, limit=_PIECE_BYTES, wait_seconds=_WAIT_SECONDS if follow else 0)
        if piece.skipped:
            say(f"{piece.skipped:,} bytes of the log of {name} are left out here: its beginning and its end are kept")
        if piece.text:
            write(piece.text)
        if piece.ended or (not follow and not piece.text):
            return
        after = piece.next_offset


def has_no_server(status: JobStatus) -> bool:
    """Whether it waits for a model whose server has ended, and so for somebody to start that again."""
    return status.phase == "Pending" and status.reason == MODEL_SERVER_ENDED


async def _until_ended(backend: Backend, name: str, *, log: Write | None, after: int) -> AnyJob:
    """The job once it has ended, its outputs kept; or once nobody serves the model that it waits for. Its log is shown from a place on."""
    cursor = (await backend.snapshot()).cursor
    job = await job_named(backend, name)
    follow = log is not None and not status_of(job).ended
    copying = asyncio.ensure_future(copy_log(backend, name, log, after=after, follow=True)) if log is not None and follow else None
    told = ""
    try:
        async with aclosing(cast("Any", backend.watch(after=cursor))) as batches:
            while not ((status := status_of(job)).ended or has_no_server(status)):
                # What a job that has started writes says more than its message.
                if status.message and status.message != told and (log is None or status.phase == "Pending"):
                    told = status.message
                    say(f"{name} {told}")
                batch = await anext(batches)
                if any((event.kind, event.name) == (job.kind, name) for event in batch.events):
                    job = await job_named(backend, name)
        if copying is not None and status_of(job).ended:
            await copying
    finally:
        if copying is not None:
            copying.cancel()
            await asyncio.gather(copying, return_exceptions=True)
    return job


async def wait_for_jobs(
    backend: Backend,
    names: Sequence[str],
    output: str,
    *,
    logs: bool,
    quiet: bool,
    timeout: timedelta | None = None,
    gate: Gate = NO_GATE,
    after: int = 0,
) -> Exit:
    """Wait until jobs have ended, their logs from a place on on stderr where asked for; print and judge them. An interruption ends the
    waiting only.
    """
    prefixed = len(names) > 1

    def log_of(name: str) -> Write | None:
        return writer_to(sys.stderr, prefix=f"{name}: " if prefixed else "") if logs and not quiet else None

    with stop_on_signals(lambda _: None) as stop:
        asked = asyncio.ensure_future(stop.asked.wait())
        waits = [asyncio.ensure_future(_until_ended(backend, name, log=log_of(name), after=after)) for name in names]
        everything = asyncio.ensure_future(asyncio.gather(*waits))
        both: set[asyncio.Future[Any]] = {everything, asked}
        await asyncio.wait(both, timeout=None if timeout is None else timeout.total_seconds(), return_when=asyncio.FIRST_COMPLETED)
        ended, interrupted = everything.done(), asked.done()
        for each in both:
            each.cancel()
        outcomes = await asyncio.gather(everything, asked, return_exceptions=True)
    if ended:
        if isinstance(outcomes[0], BaseException):
            raise outcomes[0]
        return report_jobs([await job_named(backend, name) for name in names], output, gate)
    for name in names:
        job = await job_named(backend, name)
        if not status_of(job).ended:
            say(f"{name} goes on; `nodus-tui wait {target_of(job)}` waits for it, `nodus-tui kill {target_of(job)}` ends it")
    if not interrupted:
        say("the time to wait is up")
    return Exit.INTERRUPTED if interrupted else Exit.INFRASTRUCTURE


def report_jobs(jobs: Sequence[AnyJob], output: str, gate: Gate) -> Exit:
    """Print jobs on stdout, say what was wrong on stderr, and give the exit code. A job that waits for somebody has not passed."""
    if output == "json":
        documents = [each.to_document() for each in jobs]
        emit(json_text(documents[0] if len(documents) == 1 else list(documents)))
    elif output == "yaml":
        emit(resources_yaml(list(jobs)))
    elif output == "csv":
        emit("\n".join(_csv(each) for each in _by_kind(jobs)))
    else:
        tables = (table_text(titles_of(each[0].kind), [row_of(job) for job in each], right=RIGHT) for each in _by_kind(jobs))
        emit("\n\n".join(tables))
    for job in jobs:
        status = status_of(job)
        if status.message:
            say(f"{job.name}: {status.message}")
        for note in status.notes:
            say(f"{job.name}: {note}")
    return gravest(tuple(judge_job(job, gate) for job in jobs))


def judge_job(job: AnyJob, gate: Gate) -> Exit:
    """The exit code: how it ended, and where a TrainingJob succeeded whether its scores pass the gate; what does not pass is said."""
    status = status_of(job)
    code = exit_code(status) if status.ended or has_no_server(status) else Exit.INFRASTRUCTURE
    if code is not Exit.DONE or not isinstance(job, TrainingJob) or job.status is None:
        return code
    judgement = judge_scores(job.name, job.status.scores, gate)
    for sentence in judgement.sentences:
        say(sentence)
    return judgement.code


def _by_kind(jobs: Sequence[AnyJob]) -> list[list[AnyJob]]:
    """The jobs of each kind, whose columns differ, in their order."""
    kinds = dict.fromkeys(job.kind for job in jobs)
    return [[job for job in jobs if job.kind == kind] for kind in kinds]


def _csv(jobs: Sequence[AnyJob]) -> str:
    titles = titles_of(jobs[0].kind)
    return csv_text([dict(zip(titles, row_of(each), strict=True)) for each in jobs], titles)
