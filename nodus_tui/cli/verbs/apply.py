"""`apply`: create or change all resources of a spec, or none."""

import click

from nodus_tui.cli.failures import say
from nodus_tui.cli.options import FilesCommand, files_option, output_option
from nodus_tui.cli.output import emit, json_text, table_text, yaml_text
from nodus_tui.cli.session import author, with_backend
from nodus_tui.cli.specs import load_files
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.outcomes import AppliedDocument


@click.command("apply", cls=FilesCommand)
@files_option()
@click.option("--dry-run", is_flag=True, help="Say what would happen; change nothing.")
@output_option("table", "json", "yaml")
def command(files: tuple[str, ...], output: str, *, dry_run: bool) -> int:
    """Create or change the resources of a spec: all of them, or with any fault none.

    A new group or job starts at once; the workspace's scheduler works on it, and is started where none runs.
    """
    bundle = load_files(files)

    async def ask(backend: Backend) -> int:
        outcome = await backend.apply(bundle, dry_run=dry_run, author=author())
        if output == "json":
            emit(json_text(outcome.to_document()))
        elif output == "yaml":
            emit(yaml_text([outcome.to_document()]))
        else:
            emit(table_text(("KIND", "NAME", "OUTCOME", ""), [_row(each) for each in outcome.documents]))
        await _tell_who_works(backend, outcome.documents, dry_run=dry_run)
        return 0

    return with_backend("look" if dry_run else "order", ask)


def _row(applied: AppliedDocument) -> tuple[str, str, str, str]:
    changes = "; ".join(f"{change.field}: {change.old or 'none'} → {change.new or 'none'}" for change in applied.changes)
    return applied.kind, applied.name, applied.outcome, "; ".join(part for part in (applied.message, changes) if part)


async def _tell_who_works(backend: Backend, documents: tuple[AppliedDocument, ...], *, dry_run: bool) -> None:
    if dry_run:
        say("dry run: nothing was changed")
        return
    created = [each for each in documents if each.kind in {"AgentGroup", "Job"} and each.outcome == "created"]
    info = await backend.info()
    if created and not (info.scheduling or info.scheduler_elsewhere):
        name = created[0].name if created[0].kind == "AgentGroup" else f"job/{created[0].name}"
        say(f"no scheduler is running; `nodus-tui wait {name}` or the console starts the work")
