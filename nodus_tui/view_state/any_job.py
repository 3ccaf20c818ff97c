"""What jobs of every kind show alike: their status, the cap in force, how far they are; and what is of one kind only, in words."""

import shlex

from nodus_tui.contract.resources.job import Job, JobStatus
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.statistics.scores import environment_text, of_environment, scores_text, with_error
from nodus_tui.view_state.cells import Line, Tone, joined, line, muted, strong
from nodus_tui.view_state.devices import hardware_words
from nodus_tui.view_state.figures import NOTHING, bar

AnyJob = Job | TrainingJob

KIND_WORDS = {"Job": "job", "TrainingJob": "eval"}
"""For a narrow column."""

TARGET_WORDS = {"Job": "job", "TrainingJob": "tj"}
"""How the command line names them."""

_COMMAND_CHARACTERS = 2000
_BAR_CELLS = 6
_MOST_SCORES = 6


def job_status(job: AnyJob) -> JobStatus:
    """The status that a backend's jobs always have; ValueError says which one lacks it."""
    if job.status is None:
        raise ValueError(f"the backend gave {job.kind} {job.name} without a status")
    return job.status


def waits_for_budget(job: AnyJob) -> bool:
    """Whether a budget stopped it, so that it goes on by itself where that has room again, unless it is killed."""
    status = job_status(job)
    return status.phase == "Cancelled" and status.reason == "BudgetExceeded" and status.serving is None


def what_words(job: AnyJob) -> str:
    """What it runs, as a shell would take it; of a TrainingJob what is scored, and on what."""
    if isinstance(job, TrainingJob):
        spec = job.spec
        return f"{spec.environment or ', '.join(spec.parameters.tasks or ())} on {spec.model.uri}"
    words = [shlex.quote(word) for word in job.spec.command]
    return " ".join([*([f"[{job.spec.image}]"] if job.spec.image else []), *words])[:_COMMAND_CHARACTERS]


def what_line(job: AnyJob) -> Line:
    """The same with a sign before it."""
    return line(muted("scores " if isinstance(job, TrainingJob) else "$ "), what_words(job))


def machine_words(job: AnyJob) -> tuple[str, str]:
    """The hardware that it asks for, and what else of the machine."""
    if isinstance(job, Job):
        spec = job.spec
        return hardware_words(spec), f"{spec.cpus:g} CPU, {spec.memory_gib:g} GiB" + ("" if spec.network else ", no network")
    resources = job.spec.resources
    count = f"{resources.accelerators} × " if resources.accelerators > 1 else ""
    return count + " or ".join(resources.hardware), f"{resources.all_cpus:g} CPU, {resources.all_memory_gib:g} GiB"


def progress_cell(job: AnyJob) -> Line:
    """How far it is, where it says so: a bar while it runs, a figure afterwards."""
    status = job_status(job)
    if status.progress is None:
        return line(NOTHING)
    if status.ended:
        return line(muted(f"{status.progress:.0%}"))
    return bar(status.progress, _BAR_CELLS, Tone.INFO)


def progress_line(job: AnyJob, width: int) -> Line:
    """The same in its own line, while it runs."""
    status = job_status(job)
    if status.progress is None or status.ended:
        return ()
    return line(*bar(status.progress, min(20, width // 5), Tone.INFO), f" {status.progress:.0%} done")


def result_words(job: AnyJob) -> str:
    """The scores of a TrainingJob on one line."""
    return scores_text(job.status.scores) if isinstance(job, TrainingJob) and job.status is not None else ""


def score_lines(job: AnyJob) -> tuple[Line, ...]:
    """The scores of a TrainingJob, each with its error; of an Environment its pass rate with coverage. The first ones of many."""
    scores = job.status.scores if isinstance(job, TrainingJob) and job.status is not None else ()
    if not scores:
        return ()
    if of_environment(scores):
        rewards = [line(muted("mean reward "), with_error(each)) for each in scores if each.metric == "meanReward"]
        return (joined([line(strong(environment_text(scores))), *rewards]),)
    shown = [line(strong(each.task), f" {each.metric} {with_error(each)}", muted(f"  {each.samples:,} samples")) for each in scores]
    if len(shown) <= _MOST_SCORES:
        return tuple(shown)
    rest = line(muted(f"and {len(shown) - _MOST_SCORES + 1} more: nodus-tui results tj/{job.name}"))
    return (*shown[: _MOST_SCORES - 1], rest)
