"""`retry`: new runs for cases that ended unscored, the next attempt of a job, or broken cells of a sweep. A verdict stands."""

from collections.abc import Sequence

import click

from nodus_tui.cli.acting import act, act_and_wait
from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.gate import Gate
from nodus_tui.cli.jobs import job_named, server_words, wait_for_jobs
from nodus_tui.cli.options import TargetType, gate_options, output_option, why_option
from nodus_tui.cli.session import author, with_backend
from nodus_tui.cli.summary import FORMATS
from nodus_tui.cli.sweeps import act_on_sweep
from nodus_tui.cli.targets import JOB_WORDS, split_target, work_named
from nodus_tui.cli.waiting import WaitOptions
from nodus_tui.contract.actions import Action, Retry, RetryCells, RetryJob
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import Reason, Verdict
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.training_job import TrainingJob

_REASONS = (
    Reason.INFRASTRUCTURE_FAILURE,
    Reason.EVALUATION_TIMEOUT,
    Reason.TURN_LIMIT_REACHED,
    Reason.SANDBOX_LIMIT_REACHED,
    Reason.KILLED,
    Reason.BUDGET_EXCEEDED,
    Reason.INTERRUPTED,
    Reason.MAX_COST_REACHED,
)


@click.command("retry")
@click.argument("group", type=TargetType())
@click.argument("runs", type=TargetType(), nargs=-1, metavar="[RUN...]")
@click.option("--interrupted", is_flag=True, help="Those that are interrupted, as `resume` does it.")
@click.option(
    "--reason",
    "reasons",
    multiple=True,
    type=click.Choice([each.value for each in _REASONS], case_sensitive=False),
    help="Those that ended for it. May be given several times.",
)
@click.option(
    "--verdict",
    "verdicts",
    multiple=True,
    type=click.Choice([Verdict.INFRASTRUCTURE_FAILURE.value], case_sensitive=False),
    help="Those with this verdict; only an unscored one can be retried.",
)
@click.option("--no-wait", is_flag=True, help="Only order them; do not wait.")
@gate_options
@why_option()
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@output_option(*FORMATS)
def command(
    group: str,
    runs: tuple[str, ...],
    reasons: tuple[str, ...],
    verdicts: tuple[str, ...],
    min_pass_rate: float | None,
    min_coverage: float | None,
    why: str,
    output: str,
    *,
    interrupted: bool,
    no_wait: bool,
    quiet: bool,
) -> int:
    """Run the unscored cases of GROUP again, all of them or those of the named RUNs and filters; then wait and print as `run` does.
    Or, for job/NAME and tj/NAME, begin a job's next attempt: in its work folder as it is, under the same cap. Or, for sweep/NAME, try its
    cells again that ended broken, all of them or those named after it.

    A scored case is never run again: its verdict stands. An interrupted group goes on, as with `resume`.
    """
    gate = Gate(min_pass_rate=min_pass_rate, min_coverage=min_coverage)
    if "/" in group and split_target(group)[0] in JOB_WORDS:
        if runs or reasons or verdicts or interrupted:
            raise click.UsageError("RUNs, --reason, --verdict and --interrupted choose runs of a group; a job is tried again whole")
        return retry_job(group, why, output, gate, no_wait=no_wait, quiet=quiet)
    options = WaitOptions(gate=gate, output=output, quiet=quiet, launches=True)
    if "/" in group and split_target(group)[0] == "Sweep":
        if reasons or verdicts or interrupted:
            raise click.UsageError("--reason, --verdict and --interrupted choose runs of a group; of a sweep name cells")
        again = RetryCells(name=split_target(group)[1], cells=runs, author=author(), why=why)
        return act_on_sweep(again, None if no_wait else options, "json" if output == "json" else "table")
    chosen = tuple(Reason(each) for each in reasons) + ((Reason.INTERRUPTED,) if interrupted else ())
    action = Retry(group=group, runs=runs, reasons=chosen, verdicts=tuple(Verdict(each) for each in verdicts), author=author(), why=why)

    async def plan(_: Backend) -> Sequence[Action]:
        return [action]

    if no_wait:
        return act(plan, output)
    return act_and_wait(plan, lambda _: group, options)


def retry_job(target: str, why: str, output: str, gate: Gate, *, no_wait: bool, quiet: bool, interrupted_only: bool = False) -> int:
    """Begin the next attempt of a job. With `interrupted_only`, any that came to its end in another way is refused."""

    async def plan(backend: Backend) -> Sequence[RetryJob]:
        kind, job = await work_named(backend, target)
        phase = job.status.phase if isinstance(job, Job | TrainingJob) and job.status is not None else "Interrupted"
        if interrupted_only and phase != "Interrupted":
            detail = f"{job.name} is {phase}: only what is interrupted is resumed; `nodus-tui retry {target}` begins a job's next attempt"
            raise NodusError(ErrorCode.INVALID_ACTION, detail)
        return [RetryJob.model_validate({"kind": kind, "name": job.name, "author": author(), "why": why})]

    async def wait(backend: Backend) -> int:
        (action,) = await plan(backend)
        # What earlier attempts wrote was there to be read before.
        written = (await backend.job_log(action.name, after=-1)).size
        say((await backend.act(action)).message)
        job = await job_named(backend, action.name)
        if isinstance(job, Job) and job.spec.serve is not None:
            say(server_words(job.name, job.spec.serve))
            return Exit.DONE
        return await wait_for_jobs(backend, (action.name,), output, logs=True, quiet=quiet, gate=gate, after=written)

    return act(plan, "json" if output == "json" else "table") if no_wait else with_backend("work", wait)
