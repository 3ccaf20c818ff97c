"""Jobs and TrainingJobs as lines of `get`, and what else is told of them in a few words. Pure."""

import shlex

from nodus_tui.cli.cell_texts import seconds_text, time_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.job import Job, JobStatus
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.statistics.scores import scores_text
from nodus_tui.view_state.devices import given_words, hardware_words

TITLES = ("NAME", "PHASE", "REASON", "EXIT", "COST", "CAP", "TOOK", "STARTED", "DEVICES", "SERVES", "COMMAND")
TRAINING_TITLES = ("NAME", "PHASE", "REASON", "DONE", "SCORES", "COST", "CAP", "TOOK", "STARTED", "HARDWARE", "MODEL")

_COMMAND_CHARACTERS = 60


def job_row(job: Job) -> tuple[str, ...]:
    """The cells of a Job."""
    status, cap = job.status, cap_text(job)
    command = command_text(job.spec.command, _COMMAND_CHARACTERS) or job.spec.image or ""
    if status is None:
        return job.name, "-", "-", "-", "-", cap, "-", "-", hardware_words(job.spec), serves_text(job), command
    return (
        job.name,
        status.phase,
        status.reason or "-",
        "-" if status.exit_code is None else str(status.exit_code),
        display_usd(status.cost_usd),
        cap,
        seconds_text(_took(status)),
        time_text(status.started_at),
        given_words(status.hardware, status.device_names) or hardware_words(job.spec),
        serves_text(job),
        command,
    )


def training_job_row(job: TrainingJob) -> tuple[str, ...]:
    """The cells of a TrainingJob."""
    spec, status = job.spec, job.status
    hardware = hardware_text(job)
    if status is None:
        return job.name, "-", "-", "-", "-", "-", cap_text(job), "-", "-", hardware, spec.model.uri
    return (
        job.name,
        status.phase,
        status.reason or "-",
        progress_text(status),
        scores_text(status.scores) or "-",
        display_usd(status.cost_usd),
        cap_text(job),
        seconds_text(_took(status)),
        time_text(status.started_at),
        given_words(status.hardware, status.device_names) or hardware,
        spec.model.uri,
    )


def cap_text(job: Job | TrainingJob) -> str:
    """The cap in force."""
    raised = job.status.cap_usd if job.status else None
    return display_usd(job.spec.max_cost_usd if raised is None else raised)


def _took(status: JobStatus) -> float | None:
    return None if status.started_at is None or status.ended_at is None else (status.ended_at - status.started_at).total_seconds()


def progress_text(status: JobStatus) -> str:
    """How far it is, where it says so."""
    return "-" if status.progress is None else f"{status.progress:.0%}"


def hardware_text(job: TrainingJob) -> str:
    """What it runs on, or may run on."""
    resources = job.spec.resources
    count = f"{resources.accelerators} × " if resources.accelerators > 1 else ""
    return count + " or ".join(resources.hardware)


def serves_text(job: Job) -> str:
    """The family that a job serves, where, and for whom; a hyphen for one that serves nothing."""
    serve, serving = job.spec.serve, job.status.serving if job.status else None
    if serve is None:
        return "-"
    if serving is None or serving.address is None:
        return serve.family
    return f"{serve.family} at {serving.address} for {', '.join(serving.users) or 'nobody now'}"


def command_text(command: tuple[str, ...], limit: int) -> str:
    """A command as a shell would take it, on one line, cut to so many characters."""
    text = " ".join(shlex.quote(word) for word in command).replace("\n", "␤")
    return text if len(text) <= limit else text[: limit - 1] + "…"
