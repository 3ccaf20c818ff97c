"""`sandboxes`: those that run on the backend's machine, and removing what dead owners left behind."""

from datetime import UTC, datetime

import click

from nodus_tui.cli.cell_texts import seconds_text
from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import output_option
from nodus_tui.cli.output import emit, json_text, table_text
from nodus_tui.cli.session import with_backend
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.sandboxes import ReapOutcome, SandboxFact
from nodus_tui.view_state.image_names import short_image

_TITLES = ("SANDBOX", "RUN", "PURPOSE", "ENGINE", "IMAGE", "NETWORK", "AGE", "COST", "OWNER", "WORKSPACE")
_FIGURES = frozenset({"AGE", "COST"})
_ID_LENGTH = 18
"""Of an engine's id, as much as bubblewrap's has: enough for `docker` to know its own by. JSON has it whole."""


@click.group("sandboxes")
def command() -> None:
    """The sandboxes of nodus-tui on the machine that does the work, each labelled with the process that it lives for.

    A sandbox whose owner is dead is removed when the next scheduler starts; `reap` does it now.
    """


@command.command("list")
@output_option("table", "json")
def list_sandboxes(output: str) -> int:
    """Each sandbox with its run, purpose, engine, age, cost so far, and whether its owner lives."""

    async def ask(backend: Backend) -> tuple[SandboxFact, ...]:
        return await backend.sandboxes()

    found = with_backend("look", ask)
    if output == "json":
        emit(json_text([each.to_document() for each in found]))
    elif found:
        emit(sandbox_table(found, datetime.now(UTC)))
    else:
        say("no sandbox runs")
    return Exit.DONE


@command.command("reap")
@output_option("table", "json")
def reap(output: str) -> int:
    """Remove the sandboxes whose owner is dead, with all that runs in them. Exit 4 when one cannot be removed."""

    async def ask(backend: Backend) -> ReapOutcome:
        return await backend.reap_sandboxes()

    outcome = with_backend("act", ask)
    if output == "json":
        emit(json_text(outcome.to_document()))
    elif outcome.removed:
        emit(sandbox_table(outcome.removed, datetime.now(UTC)))
    count = len(outcome.removed)
    kept = f", {outcome.kept} kept: {'its owner lives' if outcome.kept == 1 else 'their owners live'}" if outcome.kept else ""
    say(f"{count or 'no'} sandbox{'es' if count != 1 else ''} removed{kept}")
    for sentence in outcome.failures:
        say(sentence)
    return Exit.INFRASTRUCTURE if outcome.failures else Exit.DONE


def sandbox_table(facts: tuple[SandboxFact, ...], now: datetime) -> str:
    """One line a sandbox."""
    return table_text(_TITLES, [_row(each, now) for each in facts], right=_FIGURES)


def _row(fact: SandboxFact, now: datetime) -> tuple[str, ...]:
    age = "-" if fact.created_at is None else seconds_text(max(0.0, (now - fact.created_at).total_seconds()))
    return (
        fact.id[:_ID_LENGTH],
        fact.run,
        fact.purpose,
        fact.engine,
        short_image(fact.image),
        "yes" if fact.network else "no",
        age,
        "-" if fact.cost_usd is None else display_usd(fact.cost_usd),
        owner_text(fact),
        "this one" if fact.mine else fact.workspace,
    )


def owner_text(fact: SandboxFact) -> str:
    """`process 4711, alive`; of another host, which nobody can ask from here, its name."""
    if fact.owner_alive is None:
        return f"process {fact.owner_pid} on {fact.owner_host}"
    return f"process {fact.owner_pid}, {'alive' if fact.owner_alive else 'dead'}"
