"""`pause`: let no further cell of a sweep start."""

from collections.abc import Sequence

import click

from nodus_tui.cli.acting import act
from nodus_tui.cli.options import TargetType, output_option, why_option
from nodus_tui.cli.session import author
from nodus_tui.cli.targets import split_target
from nodus_tui.contract.actions import Action, PauseSweep
from nodus_tui.contract.backend import Backend


@click.command("pause")
@click.argument("sweeps", type=TargetType(), nargs=-1, required=True, metavar="sweep/NAME...")
@why_option()
@output_option("table", "json")
def command(sweeps: tuple[str, ...], why: str, output: str) -> int:
    """Let no further cell of each sweep start; the cells that are going go on to their ends. `resume sweep/NAME` lets it start cells again.

    What works is not stopped by this: `kill` ends cells, and Ctrl-C in `run` stops groups gracefully.
    """
    names = []
    for target in sweeps:
        kind, name = split_target(target) if "/" in target else ("Sweep", target)
        if kind != "Sweep":
            raise click.UsageError(f"{target} is no sweep, and only a sweep is paused")
        names.append(name)

    async def plan(_: Backend) -> Sequence[Action]:
        return [PauseSweep(name=name, author=author(), why=why) for name in names]

    return act(plan, output, role="act")
