"""`wait`: until a group has ended or stands stalled. It starts the workspace's scheduler where none runs."""

from datetime import timedelta

import click

from nodus_tui.cli.gate import Gate
from nodus_tui.cli.options import DurationType, TargetType, gate_options, output_option
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.summary import FORMATS
from nodus_tui.cli.waiting import WaitOptions, wait_and_report
from nodus_tui.contract.backend import Backend


@click.command("wait")
@click.argument("groups", type=TargetType(), nargs=-1, required=True, metavar="GROUP...")
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
    """Wait until every GROUP has ended (or, unless --for ended, stands stalled), then print the results and judge them as `run` does.

    The workspace's scheduler is started where none runs. Ctrl-C ends the waiting only; the work goes on.
    """
    gate = Gate(min_pass_rate=min_pass_rate, min_coverage=min_coverage)
    options = WaitOptions(gate=gate, output=output, quiet=quiet, keep_waiting=what == "ended", timeout=timeout)

    async def ask(backend: Backend) -> int:
        return await wait_and_report(backend, groups, options)

    return with_backend("work", ask)
