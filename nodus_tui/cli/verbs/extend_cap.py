"""`extend-cap`: a higher cap for runs, groups, jobs or sweeps, and a higher limit for budgets."""

from collections.abc import Sequence
from decimal import Decimal

import click
from msgspec import Struct, field

from nodus_tui.cli.acting import tell
from nodus_tui.cli.budget_limits import budgets_among, raise_limit
from nodus_tui.cli.exits import gravest
from nodus_tui.cli.failures import say
from nodus_tui.cli.jobs import wait_for_jobs
from nodus_tui.cli.options import AmountType, TargetType, output_option, why_option
from nodus_tui.cli.session import author, with_backend
from nodus_tui.cli.stalls import unstarted, waiting_runs
from nodus_tui.cli.sweeps import wait_for_sweeps
from nodus_tui.cli.targets import JOB_WORDS, Work, work_named
from nodus_tui.cli.waiting import WaitOptions, wait_and_report
from nodus_tui.contract.actions import ExtendCap
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.money import exact_usd
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.resources.agent_run import AgentRun


class _Raise(Struct, frozen=True):
    """What is asked for, and what it turned out to be about."""

    targets: tuple[str, ...]
    amount: Decimal
    why: str
    restart: bool
    waiting: bool
    waits: bool
    groups: dict[str, None] = field(default_factory=dict)
    """In their order; that of a run is the one that it belongs to."""
    jobs: list[str] = field(default_factory=list)
    sweeps: list[str] = field(default_factory=list)

    async def done(self, backend: Backend) -> Sequence[ActionOutcome]:
        """Find out all that is meant, then raise one after the other."""
        budgets, names = await budgets_among(backend, self.targets)
        if budgets and (self.restart or self.waiting or self.waits):
            raise click.UsageError(f"--restart, --waiting and --wait are for work, and {budgets[0].name} is a budget")
        actions = [action for name in names for action in await self._actions(backend, name)]
        raised = [await raise_limit(backend, budget, self.amount) for budget in budgets]
        return [*raised, *[await backend.act(action) for action in actions]]

    async def and_wait(self, backend: Backend, output: str) -> int:
        """Raise, then wait for what goes on."""
        for outcome in await self.done(backend):
            say(outcome.message)
        codes = [await wait_and_report(backend, tuple(self.groups), WaitOptions(output=output))] if self.groups else []
        codes += [await wait_for_sweeps(backend, self.sweeps, WaitOptions(output=output))] if self.sweeps else []
        codes += [await wait_for_jobs(backend, self.jobs, output, logs=False, quiet=False)] if self.jobs else []
        return gravest(tuple(codes))

    async def _actions(self, backend: Backend, target: str) -> list[ExtendCap]:
        kind, resource = await work_named(backend, target)
        if self.waiting:
            if kind != "AgentGroup":
                raise click.UsageError(f"--waiting is for groups, and {resource.name} is none")
            self.groups[resource.name] = None
            return [self._action("AgentRun", name) for name in await _at_their_caps(backend, resource.name, self.amount)]
        if self.restart and kind != "AgentRun":
            raise click.UsageError(f"--restart is for runs, and {resource.name} is none")
        if kind in JOB_WORDS:
            self.jobs.append(resource.name)
        elif kind == "Sweep":
            self.sweeps.append(resource.name)
        else:
            self.groups[(resource.spec.group or "") if isinstance(resource, AgentRun) else resource.name] = None
        return [self._action(kind, resource.name)]

    def _action(self, kind: Work, name: str) -> ExtendCap:
        return ExtendCap(kind=kind, name=name, cap_usd=self.amount, restart=self.restart, author=author(), why=self.why)


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
    A budget's limit is raised in place, and what it held goes on.
    """
    asked = _Raise(targets, amount, why, restart, waiting, waits)
    return with_backend("work", lambda backend: asked.and_wait(backend, output)) if waits else tell(asked.done, output)


async def _at_their_caps(backend: Backend, group: str, amount: Decimal) -> list[str]:
    """The runs of a group that wait at own caps below an amount; there must be one."""
    stuck = [run for run in await waiting_runs(backend, group) if not unstarted(run)]
    names = [run.name for run in stuck if (run.spec.max_cost_usd or Decimal(0)) < amount]
    if not names:
        below = f" below {exact_usd(amount)}" if stuck else ""
        raise click.UsageError(f"no run of {group} waits at a cap of its own{below}")
    return names
