"""`describe`: one resource in detail; a run with its conversation and calls."""

from datetime import UTC, datetime

import click

from nodus_tui.cli.details import resource_text
from nodus_tui.cli.options import TargetType, output_option
from nodus_tui.cli.output import emit, json_text, yaml_text
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.targets import anything_named, split_target
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.agent import Agent, AgentSandbox
from nodus_tui.contract.resources.agent_run import AgentRun, Transcript
from nodus_tui.contract.resources.meta import Resource


@click.command("describe")
@click.argument("target", type=TargetType(), metavar="[KIND/]NAME")
@click.option("--transcript", "transcript_only", is_flag=True, help="For a run: its conversation alone, uncut.")
@output_option("table", "json", "yaml")
def command(target: str, output: str, *, transcript_only: bool) -> int:
    """One resource in detail; for a run its calls with their cost, its sandbox, and its conversation; for a sweep its cells; for a
    budget that blocks what it stops. Without a KIND it is looked for among all kinds.

    Text from tasks and models is shown with its control characters made visible. With -o json or yaml a run is one object
    with `resource` and `transcript`.
    """

    more = ""

    async def ask(backend: Backend) -> tuple[Resource, Transcript | None, AgentSandbox | None]:
        nonlocal more
        resource = await _find(backend, target)
        if resource.kind == "Sweep":
            from nodus_tui.cli.sweep_texts import cells_table  # noqa: PLC0415 - loaded for the kind that is asked for

            more = cells_table(await backend.sweep_results(resource.name))
        elif resource.kind == "Budget":
            from nodus_tui.cli.details.budgets import stops_text  # noqa: PLC0415 - as above

            more = await stops_text(backend, resource)
        if not isinstance(resource, AgentRun):
            return resource, None, None
        return resource, await backend.transcript(resource.name), await _limits(backend, resource)

    resource, transcript, limits = with_backend("look", ask)
    if transcript_only and transcript is None:
        raise click.UsageError(f"--transcript is for runs, and {target} is none")
    if output != "table":
        document = resource.to_document()
        if transcript is not None:
            document = transcript.to_document() if transcript_only else {"resource": document, "transcript": transcript.to_document()}
        emit(json_text(document) if output == "json" else yaml_text([document]))
        return 0
    told = resource_text(resource, now=datetime.now(UTC), limits=limits, transcript=transcript)
    parts = [] if transcript_only else [told, *([more] if more else [])]
    if transcript is not None:
        from nodus_tui.cli.details.runs import transcript_text  # noqa: PLC0415 - as above

        parts.append(transcript_text(transcript, calls=not transcript_only))
    emit("\n\n".join(parts))
    return 0


async def _limits(backend: Backend, run: AgentRun) -> AgentSandbox | None:
    """What the run's agent gives its sandboxes, as it was at the revision that the run pins; a backend may not keep those."""
    if run.status is None or run.status.sandbox is None:
        return None
    try:
        agent = await backend.get("Agent", f"{run.spec.agent}@{run.spec.agent_revision}")
    except NodusError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return None
        raise
    return agent.spec.sandbox if isinstance(agent, Agent) else None


async def _find(backend: Backend, target: str) -> Resource:
    if "/" not in target:
        return await anything_named(backend, target)
    kind, name = split_target(target)
    if not name:
        raise click.UsageError(f"{target!r} names a kind only; say KIND/NAME")
    return await backend.get(kind, name)
