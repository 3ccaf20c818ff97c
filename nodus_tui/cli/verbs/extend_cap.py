"""`extend-cap`: a higher cap for runs, groups, jobs or sweeps."""

from collections.abc import Sequence
from decimal import Decimal

import click

from nodus_tui.cli.acting import act
from nodus_tui.cli.exits import gravest
from nodus_tui.cli.failures import say
from nodus_tui.cli.jobs import wait_for_jobs
from nodus_tui.cli.options import AmountType, TargetType, output_option, why_option
from nodus_tui.cli.session import author, with_backend
from nodus_tui.cli.stalls import unstarted, waiting_runs
from nodus_tui.cli.sweeps import wait_for_sweeps
from nodus_tui.cli.targets import JOB_WORDS, work_named
from nodus_tui.cli.waiting import WaitOptions, wait_and_report
from nodus_tui.contract.actions import Action, ExtendCap
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.money import exact_usd
from nodus_tui.contract.resources.agent_run import AgentRun


@click.command("extend-cap")
@click.argument("targets", type=TargetType(), nargs=-1, required=True, metavar="NAME...")
@click.argument("amount", type=AmountType())
@click.option("--restart", is_flag=True, help="For a run: begin afresh instead of going on from the paid conversation.")
@click.option("--waiting", is_flag=True, help="Of a group: its runs that wait at their own caps, in place of its own cap.")
@click.option("--wait", "waits", is_flag=True, help="Then wait for the group or the job as `nodus-tui wait` does.")
@why_option()
@output_option("table", "json")
def command(targets: tuple[str, ...], amount: Decimal, why: str, output: str, *, restart: bool, waiting: bool, waits: bool) -> int:
    """Raise the cap of each NAME to AMOUNT dollars: the whole new cap, not what is added.

    A group's cap is raised in place. A run ends as superseded, and a new run with the higher cap goes on from its conversation,
    with what it spent counted against the new cap. A job's cap is raised in place too, while it runs; one that its cap ended goes on.
    A sweep's cap is raised in place; that of a cell's group, run or job only where it fits under what its sweep has left.
    """
    groups: dict[str, str] = {}
    jobs: list[str] = []
    sweeps: list[str] = []

    async def plan(backend: Backend) -> Sequence[Action]:
        actions: list[Action] = []
        for target in targets:
            kind, resource = await work_named(backend, target)
            if waiting:
                if kind != "AgentGroup":
                    raise click.UsageError(f"--waiting is for groups, and {resource.name} is none")
                names = await _at_their_caps(backend, resource.name, amount)
                groups.update(dict.fromkeys(names, resource.name))
                actions += [
                    ExtendCap(kind="AgentRun", name=name, cap_usd=amount, restart=restart, author=author(), why=why) for name in names
                ]
                continue
            if restart and kind != "AgentRun":
                raise click.UsageError(f"--restart is for runs, and {resource.name} is none")
            if kind in JOB_WORDS:
                jobs.append(resource.name)
            if kind == "Sweep":
                sweeps.append(resource.name)
            groups[resource.name] = (resource.spec.group or "") if isinstance(resource, AgentRun) else resource.name
            actions.append(ExtendCap(kind=kind, name=resource.name, cap_usd=amount, restart=restart, author=author(), why=why))
        return actions

    async def raise_and_wait(backend: Backend) -> int:
        for action in await plan(backend):
            say((await backend.act(action)).message)
        named = tuple(dict.fromkeys(group for name, group in groups.items() if name not in {*jobs, *sweeps}))
        codes = [await wait_and_report(backend, named, WaitOptions(output=output))] if named else []
        codes += [await wait_for_sweeps(backend, sweeps, WaitOptions(output=output))] if sweeps else []
        return gravest((*codes, *([await wait_for_jobs(backend, jobs, output, logs=False, quiet=False)] if jobs else [])))

    return with_backend("work", raise_and_wait) if waits else act(plan, output)


async def _at_their_caps(backend: Backend, group: str, amount: Decimal) -> list[str]:
    """The runs of a group that wait at own caps below an amount; there must be one."""
    stuck = [run for run in await waiting_runs(backend, group) if not unstarted(run)]
    names = [run.name for run in stuck if (run.spec.max_cost_usd or Decimal(0)) < amount]
    if not names:
        below = f" below {exact_usd(amount)}" if stuck else ""
        raise click.UsageError(f"no run of {group} waits at a cap of its own{below}")
    return names
