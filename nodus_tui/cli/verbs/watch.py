"""`watch`: what changes, a line each, for pipes, screen readers and CI: the console's views as a text that goes on."""

import asyncio

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import TargetType, output_option
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.signals import stop_on_signals
from nodus_tui.cli.targets import KIND_NAMES, split_target, work_named
from nodus_tui.cli.watching import WATCHED, Wanted, watch, write_json, write_text
from nodus_tui.contract.backend import Backend

_PLURALS = frozenset(words[0] for words in KIND_NAMES.values())


@click.command("watch")
@click.argument("target", type=TargetType(), required=False, metavar="[KIND|KIND/NAME|NAME]")
@click.option("--once", is_flag=True, help="Say how it stands, and end.")
@click.option("--until-done", is_flag=True, help="End when the one thing that is named has ended, with its exit code.")
@output_option("text", "json")
def command(target: str | None, output: str, *, once: bool, until_done: bool) -> int:
    """Say how things stand, then what changes, a line each, until Ctrl-C.

    Without a target everything but runs and cells is told; a KIND (groups, runs, jobs …) tells all of that kind, group/NAME a group and
    its runs, sweep/NAME a sweep and its cells. With -o json each line is an event as the API sends it; how things stood comes first, with
    the change "Present".

    It starts no scheduler, and stops nothing.
    """

    async def ask(backend: Backend) -> int:
        wanted = await _wanted(backend, target, one=until_done)
        write = write_json if output == "json" else write_text
        with stop_on_signals(lambda _count: None) as stop:
            work = asyncio.ensure_future(watch(backend, wanted, write, once=once, until_done=until_done))
            asked = asyncio.ensure_future(stop.asked.wait())
            await asyncio.wait({work, asked}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                asked.cancel()
                return work.result()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        if not stop.hung_up:
            say("no longer watching; the work goes on")
        return Exit.INTERRUPTED

    return with_backend("look", ask)


async def _wanted(backend: Backend, target: str | None, *, one: bool) -> Wanted:
    """What the person means. Raises UsageError, and NodusError for a name that nothing has."""
    if target is None:
        found = Wanted()
    elif "/" in target or target.lower() in _PLURALS:
        kind, name = split_target(target)
        if kind not in WATCHED:
            raise click.UsageError(f"nothing is told of {target} as it changes; `nodus-tui get {target}` shows it")
        found = Wanted(kind, (await backend.get(kind, name)).name if name else "")
    else:
        work, resource = await work_named(backend, target)
        found = Wanted(work, resource.name)
    if one and (not found.name or found.kind == "Budget"):
        raise click.UsageError("--until-done needs the name of something that ends: a run, a group, a job, a sweep or a Sandbox")
    return found
