"""Jobs of both kinds in detail. Pure."""

from nodus_tui.cli.cell_texts import time_text
from nodus_tui.cli.rows.jobs import cap_text, command_text, hardware_text, progress_text
from nodus_tui.cli.targets import JOB_WORDS
from nodus_tui.cli.transfers import bytes_text
from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.job import Job, JobStatus
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.statistics.scores import COVERAGE, PASS_RATE, environment_text, of_environment, with_error
from nodus_tui.view_state.cells import Tone, plain
from nodus_tui.view_state.devices import until_words
from nodus_tui.view_state.figures import bar
from nodus_tui.view_state.run_facts import beside_cpu, devices_text
from nodus_tui.view_state.words import phase_words

_BAR_CELLS = 24
_COMMAND_CHARACTERS = 1000
_MOST_OUTPUTS = 50
_OF_RATE = frozenset({PASS_RATE, COVERAGE})
"""What stands in the text of a pass rate."""


def job_pairs(job: Job) -> list[tuple[str, str]]:
    """What is to be known of it."""
    spec, status = job.spec, job.status
    pairs = [
        ("Image", spec.image or ""),
        ("Command", command_text(spec.command, _COMMAND_CHARACTERS)),
        ("Working folder", _working_folder(job)),
        ("Machine", f"{beside_cpu(spec)}{spec.cpus:g} CPU, {spec.memory_gib:g} GiB" + ("" if spec.network else ", no network")),
        ("Environment", ", ".join([*spec.env, *(f"{name} (the scheduler's)" for name in spec.env_from)])),
        ("Timeout", duration_text(spec.timeout)),
    ]
    if status is None:
        return pairs
    return [*pairs, *_serving(job), *_job_status(job, status)]


def _working_folder(job: Job) -> str:
    named, status = job.spec.working_dir, job.status
    if status is not None and status.working_dir is not None:
        return status.working_dir
    if named is None:
        return "the image's" if job.spec.image else "its own"
    return named if job.spec.image or named.startswith("/") else f"{named}, below the folder of its spec"


def _serving(job: Job) -> list[tuple[str, str]]:
    """What it serves, where and how well, and who uses it."""
    serve, serving = job.spec.serve, job.status.serving if job.status else None
    if serve is None or serving is None:
        return []
    since = f" since {time_text(serving.since)}" if serving.since else ""
    health = "answers" if serving.answering else "does not answer"
    stays = "kept up" if serve.keep else f"stops {duration_text(serve.stop_after)} after the last one that uses it"
    return [
        ("Serves", f"{serving.family}, asked for as {serving.model}"),
        ("Address", serving.address or f"port {serve.port}, while it runs"),
        ("Health", f"GET {serve.health_path} {health}{since}" if serving.address else f"GET {serve.health_path}"),
        ("Used by", ", ".join(serving.users) or ("nobody now" if serving.address else "nobody")),
        ("Stays up", stays + (f": {time_text(serving.stops_at)}" if serving.stops_at else "")),
        ("Restarts", f"{serving.restarts} of {serve.restarts}" if serve.restarts else ""),
    ]


def training_job_pairs(job: TrainingJob) -> list[tuple[str, str]]:
    """What is to be known of it."""
    spec, status, parameters = job.spec, job.status, job.spec.parameters.to_document()
    resources = spec.resources
    given = [f"{name} {value}" for name, value in parameters.items() if value is not None and name != "tasks"]
    pairs = [
        ("Model", spec.model.uri),
        ("Environment" if spec.environment else "Tasks", spec.environment or ", ".join(spec.parameters.tasks or ())),
        ("Parameters", ", ".join(given)),
        ("Own tasks", "\n".join(spec.include_paths)),
        ("Machine", f"{hardware_text(job)}, {resources.all_cpus:g} CPU, {resources.all_memory_gib:g} GiB"),
        ("Timeout", duration_text(spec.timeout)),
    ]
    if status is None:
        return pairs
    done = (
        "" if status.progress is None or status.ended else f"{plain(bar(status.progress, _BAR_CELLS, Tone.INFO))} {progress_text(status)}"
    )
    return [*pairs, *_job_status(job, status), ("Done", done), ("Results", results_text(job))]


def results_text(job: TrainingJob) -> str:
    """All its scores, one a line; an Environment's as its pass rate."""
    scores = job.status.scores if job.status else ()
    if not scores:
        return ""
    lines = [f"{each.task}  {each.metric}  {with_error(each)}  {each.samples:,} samples" for each in scores if each.metric not in _OF_RATE]
    return "\n".join([environment_text(scores), *lines] if of_environment(scores) else lines)


def _job_status(job: Job | TrainingJob, status: JobStatus) -> list[tuple[str, str]]:
    target = f"{JOB_WORDS[job.kind]}/{job.name}"
    kept = [f"{each.path}  {bytes_text(each.bytes)}  sha256 {each.sha256}" for each in status.outputs]
    more = [f"and {len(kept) - _MOST_OUTPUTS} more: `nodus-tui cp {target}:` lists them"] if len(kept) > _MOST_OUTPUTS else []
    return [
        ("Phase", phase_words(status.phase, status.reason, status.message) + _until(status)),
        ("Devices", devices_text(status.device_names, status.devices)),
        ("Attempt", str(status.attempt) if status.attempt > 1 else ""),
        ("Exit code", "" if status.exit_code is None else str(status.exit_code)),
        ("Cost", f"{display_usd(status.cost_usd)} of {cap_text(job)}, at {display_usd(status.rate_usd)} an hour"),
        ("Electricity", "" if status.energy_wh is None else f"{status.energy_wh:,.3f} Wh by its devices"),
        ("Created", time_text(status.created_at)),
        ("Started", time_text(status.started_at)),
        ("Ended", time_text(status.ended_at)),
        ("Ends by", f"{time_text(status.deadline_at)}, at its cap or its timeout" if status.deadline_at else ""),
        ("Outputs", "\n".join(kept[:_MOST_OUTPUTS] + more)),
        ("Notes", "\n".join(status.notes)),
        ("Log", f"nodus-tui logs {target}"),
    ]


def _until(status: JobStatus) -> str:
    return "" if status.until is None else f", {until_words(time_text(status.until), status.until_kind)}"
