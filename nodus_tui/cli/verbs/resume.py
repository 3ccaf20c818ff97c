"""`resume`: let an interrupted group go on from its last committed turns, or a paused sweep start cells again."""

from collections.abc import Sequence

import click

from nodus_tui.cli.acting import act, act_and_wait
from nodus_tui.cli.gate import Gate
from nodus_tui.cli.options import TargetType, gate_options, output_option, why_option
from nodus_tui.cli.session import author
from nodus_tui.cli.summary import FORMATS
from nodus_tui.cli.sweeps import act_on_sweep
from nodus_tui.cli.targets import JOB_WORDS, split_target
from nodus_tui.cli.verbs.retry import retry_job
from nodus_tui.cli.waiting import WaitOptions
from nodus_tui.contract.actions import Action, Resume, ResumeSweep
from nodus_tui.contract.backend import Backend


@click.command("resume")
@click.argument("group", type=TargetType())
@click.option("--no-wait", is_flag=True, help="Only order it; do not wait.")
@gate_options
@why_option()
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@output_option(*FORMATS)
def command(
    group: str,
    min_pass_rate: float | None,
    min_coverage: float | None,
    why: str,
    output: str,
    *,
    no_wait: bool,
    quiet: bool,
) -> int:
    """Let what is interrupted of GROUP go on where it stopped, then wait and print as `run` does. Nothing is paid twice.

    sweep/NAME lets a paused sweep start cells again, and its interrupted cells go on; job/NAME and tj/NAME begin the next attempt of an
    interrupted job, as `retry` does.
    """
    options = WaitOptions(gate=Gate(min_pass_rate=min_pass_rate, min_coverage=min_coverage), output=output, quiet=quiet, launches=True)
    if "/" in group:
        target, (kind, group) = group, split_target(group)
        if kind in JOB_WORDS:
            return retry_job(target, why, output, options.gate, no_wait=no_wait, quiet=quiet, interrupted_only=True)
        if kind == "Sweep":
            on = ResumeSweep(name=group, author=author(), why=why)
            return act_on_sweep(on, None if no_wait else options, "json" if output == "json" else "table")
        if kind != "AgentGroup":
            raise click.UsageError(f"{group} is no group, sweep or job")

    async def plan(_: Backend) -> Sequence[Action]:
        return [Resume(group=group, author=author(), why=why)]

    if no_wait:
        return act(plan, output)
    return act_and_wait(plan, lambda _: group, options)
