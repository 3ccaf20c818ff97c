"""`wait`: until a group, a job or a sweep has ended or stands stalled, or a Sandbox runs. It starts the scheduler where none runs."""

from datetime import timedelta

import click

from nodus_tui.cli.boxes import wait_for_sandboxes
from nodus_tui.cli.exits import Exit, gravest
from nodus_tui.cli.gate import Gate
from nodus_tui.cli.jobs import wait_for_jobs
from nodus_tui.cli.options import DurationType, TargetType, gate_options, output_option
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.summary import FORMATS
from nodus_tui.cli.sweeps import wait_for_sweeps
from nodus_tui.cli.targets import JOB_WORDS, job_of, split_target
from nodus_tui.cli.waiting import WaitOptions, wait_and_report
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError


@click.command("wait")
@click.argument("groups", type=TargetType(), nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--for",
    "what",
    type=click.Choice(["ended", "stalled"]),
    default="stalled",
    show_default=True,
    help="Stop at a stall too, or at the end only.",
)
@click.option("--timeout", type=DurationType(), help="Give up after this time (90s, 10m) and exit 4; everything is kept.")
@gate_options
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@output_option(*FORMATS)
def command(
    groups: tuple[str, ...],
    what: str,
    timeout: timedelta | None,
    min_pass_rate: float | None,
    min_coverage: float | None,
    output: str,
    *,
    quiet: bool,
) -> int:
    """Wait until each NAME, a group, a job (job/NAME, tj/NAME) or a sweep (sweep/NAME), has ended, or unless --for ended stands stalled.
    A Sandbox (sandbox/NAME) is waited for until it runs, with --for ended until it has ended.

    Then print the results and judge them as `run` does. A job that succeeded passes.

    The workspace's scheduler is started where none runs. Ctrl-C ends the waiting only; the work goes on.
    """
    gate = Gate(min_pass_rate=min_pass_rate, min_coverage=min_coverage)
    options = WaitOptions(gate=gate, output=output, quiet=quiet, keep_waiting=what == "ended", timeout=timeout)

    async def ask(backend: Backend) -> int:
        kinds = [await _kind(backend, target) for target in groups]
        named = tuple(name for kind, name in kinds if kind == "AgentGroup")
        jobs = tuple(name for kind, name in kinds if kind in JOB_WORDS)
        sweeps = tuple(name for kind, name in kinds if kind == "Sweep")
        boxes = tuple(name for kind, name in kinds if kind == "Sandbox")
        codes = [await wait_and_report(backend, named, options)] if named else []
        if boxes and Exit.INTERRUPTED not in codes:
            ended = what == "ended"
            codes.append(await wait_for_sandboxes(backend, boxes, output, quiet=quiet, timeout=timeout, ended=ended))
        if sweeps and Exit.INTERRUPTED not in codes:
            codes.append(await wait_for_sweeps(backend, sweeps, options))
        if jobs and Exit.INTERRUPTED not in codes:
            codes.append(await wait_for_jobs(backend, jobs, output, logs=False, quiet=quiet, timeout=timeout, gate=gate))
        return gravest(tuple(codes))

    return with_backend("work", ask)


async def _kind(backend: Backend, target: str) -> tuple[str, str]:
    """What a target means, as kind and name: a job only where it says so or there is no group of that name."""
    if "/" in target:
        kind, name = split_target(target)
        if kind not in {"AgentGroup", "Sweep", "Sandbox"} and kind not in JOB_WORDS:
            raise click.UsageError(f"{target} is neither a group nor a job nor a sweep nor a Sandbox")
        return kind, name
    try:
        await backend.get("AgentGroup", target)
    except NodusError as error:
        if error.code is ErrorCode.NOT_FOUND and (found := await job_of(backend, target)) is not None:
            return found[0], target
    return "AgentGroup", target
