"""`extend-cap`: a higher cap for runs or groups."""

from collections.abc import Sequence
from decimal import Decimal

import click

from nodus_tui.cli.acting import act, act_and_wait
from nodus_tui.cli.options import AmountType, TargetType, output_option, why_option
from nodus_tui.cli.session import author
from nodus_tui.cli.targets import run_or_group
from nodus_tui.cli.waiting import WaitOptions
from nodus_tui.contract.actions import Action, ActionOutcome, ExtendCap
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.resources.agent_run import AgentRun


@click.command("extend-cap")
@click.argument("targets", type=TargetType(), nargs=-1, required=True, metavar="NAME...")
@click.argument("amount", type=AmountType())
@click.option("--restart", is_flag=True, help="For a run: begin afresh instead of going on from the paid conversation.")
@click.option("--wait", "waits", is_flag=True, help="Then wait for the group as `nodus-tui wait` does.")
@why_option()
@output_option("table", "json")
def command(targets: tuple[str, ...], amount: Decimal, why: str, output: str, *, restart: bool, waits: bool) -> int:
    """Raise the cap of each NAME to AMOUNT dollars: the whole new cap, not what is added.

    A group's cap is raised in place. A run ends as superseded, and a new run with the higher cap goes on from its conversation,
    with what it spent counted against the new cap.
    """
    groups: dict[str, str] = {}

    async def plan(backend: Backend) -> Sequence[Action]:
        actions = []
        for target in targets:
            kind, resource = await run_or_group(backend, target)
            if restart and kind == "AgentGroup":
                raise click.UsageError(f"--restart is for runs, and {resource.name} is a group")
            groups[resource.name] = (resource.spec.group or "") if isinstance(resource, AgentRun) else resource.name
            actions.append(ExtendCap(kind=kind, name=resource.name, cap_usd=amount, restart=restart, author=author(), why=why))
        return actions

    def group_of(outcome: ActionOutcome) -> str:
        return groups.get(outcome.name, outcome.name)

    return act_and_wait(plan, group_of, WaitOptions(output=output)) if waits else act(plan, output)
