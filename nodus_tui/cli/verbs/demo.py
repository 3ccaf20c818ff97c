"""`demo`: two campaigns at work, one of them on a real small model on this machine."""

import asyncio
import sys
from decimal import Decimal
from pathlib import Path
from shlex import quote
from shutil import which

import click

from nodus_tui.cli.console import has_terminal
from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.gate import Gate
from nodus_tui.cli.logs import log_to_file
from nodus_tui.cli.options import output_option
from nodus_tui.cli.session import author
from nodus_tui.cli.specs import load_files
from nodus_tui.cli.stalls import caps_to_start, next_cap, rounded_cap, unstarted, waiting_runs
from nodus_tui.cli.summary import FORMATS
from nodus_tui.cli.waiting import WaitOptions, wait_and_report
from nodus_tui.connect import demo_factory, home_path, open_backend
from nodus_tui.contract.actions import Delete, ExtendCap, Kill
from nodus_tui.contract.backend import Backend, BackendOptions
from nodus_tui.contract.demo import DemoKit, DemoRequest
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import enough_text, exact_usd
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupStatus


@click.command("demo")
@click.option("--headless", is_flag=True, help="No console: run one campaign and print its results (as without a terminal).")
@click.option("--simulated-only", is_flag=True, help="Leave out the campaign on the real model.")
@click.option("--small", is_flag=True, help="Fewer cases: only to see that it works.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@output_option(*FORMATS)
def command(output: str, *, headless: bool, simulated_only: bool, small: bool, quiet: bool) -> int:
    """Open the console on two campaigns in a workspace of their own: arithmetic on a small real model that runs on this machine, and
    a simulated campaign that shows every state a run can be in within a minute.

    Without a terminal, or with --headless, the real campaign runs (with --simulated-only the simulated one); where it stalls at a cap,
    the demo raises the cap as a person would; its results are printed.
    """
    alone = headless or not has_terminal()
    request = DemoRequest(
        home=home_path(),
        campaigns=frozenset({"simulated"} if simulated_only else {"real"} if alone else {"real", "simulated"}),
        size="small" if small else "full",
    )
    log_to_file()
    factory = demo_factory()
    # One loop prepares and tidies up; between the two the console has the thread, and a loop of its own.
    with asyncio.Runner() as runner:
        kit = runner.run(factory(request))
        try:
            if kit.problem:
                say(f"the real campaign is missing: {kit.problem}")
            if alone:
                ended = runner.run(_headless(kit, output, quiet=quiet)) if kit.campaigns else Exit.INFRASTRUCTURE
            else:
                runner.run(_launch_all(kit))
                from nodus_tui.opening import run_console  # noqa: PLC0415 - the screen library is loaded only here

                ended = run_console(_options(kit), starts_anew=True)
            if kit.campaigns:
                look = f"NODUS_HOME={quote(str(kit.home))} {quote(_this_program())} get groups"
                say(f"the demonstration has a workspace of its own; to look at it again: {look}")
            return ended
        finally:
            runner.run(kit.aclose())


def _this_program() -> str:
    """How a shell finds this program: `scripts/demo` starts it from a folder that is on nobody's path."""
    return "nodus-tui" if which("nodus-tui") else str(Path(sys.argv[0]).absolute())


def _options(kit: DemoKit) -> BackendOptions:
    return BackendOptions(home=kit.home, config=kit.config, role="work")


async def _launch_all(kit: DemoKit) -> None:
    async with await open_backend(BackendOptions(home=kit.home, config=kit.config, role="look")) as backend:
        await _launch(kit, backend)


async def _headless(kit: DemoKit, output: str, *, quiet: bool) -> int:
    async with await open_backend(_options(kit)) as backend:
        await _launch(kit, backend)
        names = tuple(campaign.group for campaign in kit.campaigns)
        # A demonstration has no opinion on the model: it has worked when something was scored.
        options = WaitOptions(gate=Gate(min_coverage=0), output=output, quiet=quiet, to_go_on=False)

        async def raise_caps(name: str, status: AgentGroupStatus) -> None:
            await _raise_caps(backend, name, status)

        return await wait_and_report(backend, names, options, raise_caps)


async def _launch(kit: DemoKit, backend: Backend) -> None:
    """Every demonstration starts anew: what an earlier one left is removed."""
    if (await backend.info()).scheduler_elsewhere:
        raise NodusError(ErrorCode.CONFLICT, f"another demonstration is at work in {kit.home}: close it first")
    for campaign in kit.campaigns:
        await _remove(backend, campaign.group)
        await backend.apply(load_files((str(campaign.spec),)), author=author())


async def _remove(backend: Backend, group: str) -> None:
    try:
        found = await backend.get("AgentGroup", group)
    except NodusError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return
        raise
    if isinstance(found, AgentGroup) and found.status is not None and not found.status.phase.at_rest:
        await backend.act(Kill(kind="AgentGroup", name=group, author=author(), why="a new demonstration starts"))
    await backend.act(Delete(kind="AgentGroup", name=group, author=author(), why="a new demonstration starts"))


async def _raise_caps(backend: Backend, group: str, status: AgentGroupStatus) -> None:
    """What a person in front of a stalled group does: give the runs that wait twice their cap, and the group room for all."""
    waiting = await waiting_runs(backend, group)
    caps = {run.name: next_cap(run) for run in waiting if not unstarted(run)}
    why = "the demonstration raises what stalls it"
    short = caps_to_start(waiting) + sum(caps.values(), Decimal(0)) - status.money.left_usd
    if short > 0:
        enough = rounded_cap(status.money.cap_usd + short)
        say(f"{group} needs {enough_text(short)} more for all its cases; raising its cap to {exact_usd(enough)}")
        await backend.act(ExtendCap(kind="AgentGroup", name=group, cap_usd=enough, author=author(), why=why))
    if caps:
        say(f"{len(caps)} runs of {group} wait at their own caps; extending them")
    for name, cap in caps.items():
        await backend.act(ExtendCap(kind="AgentRun", name=name, cap_usd=cap, author=author(), why=why))
