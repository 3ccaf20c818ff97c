"""`delete`: remove resources that nothing unfinished needs."""

from collections.abc import Sequence

import click

from nodus_tui.cli.acting import act
from nodus_tui.cli.options import TargetType, confirm, output_option, why_option, yes_option
from nodus_tui.cli.session import author
from nodus_tui.cli.targets import split_target
from nodus_tui.contract.actions import Action, Delete
from nodus_tui.contract.backend import Backend


@click.command("delete")
@click.argument("targets", type=TargetType(), nargs=-1, required=True, metavar="KIND/NAME...")
@yes_option()
@why_option()
@output_option("table", "json")
def command(targets: tuple[str, ...], why: str, output: str, *, yes: bool) -> int:
    """Remove each KIND/NAME (agents/solver, groups/demo). A group goes with its runs and all their records, a job with its log and
    its kept outputs. A budget goes, and what it had stopped goes on; what was spent stays on record."""
    named = [split_target(target) for target in targets]
    for (_, name), target in zip(named, targets, strict=True):
        if not name:
            raise click.UsageError(f"{target!r} names a kind only; say KIND/NAME")
    confirm(f"Delete {', '.join(targets)} for good?", yes=yes)

    async def plan(_: Backend) -> Sequence[Action]:
        return [Delete(kind=kind, name=name, author=author(), why=why) for kind, name in named]

    return act(plan, output, role="act")
