"""`get`: resources of a kind, or one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nodus_tui.cli.failures import say
from nodus_tui.cli.options import TargetType, output_option
from nodus_tui.cli.output import csv_text, emit, json_text, resources_yaml, table_text, yaml_text
from nodus_tui.cli.rows import RIGHT, row_of, titles_of
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.targets import KIND_NAMES, all_of, split_target
from nodus_tui.contract.backend import Query

if TYPE_CHECKING:
    from nodus_tui.contract.backend import Backend
    from nodus_tui.contract.backend_info import BackendInfo
    from nodus_tui.contract.resources.meta import Resource


@click.command("get")
@click.argument("target", type=TargetType(), metavar="KIND[/NAME]")
@click.argument("name", type=TargetType(), required=False)
@click.option("--group", default="", metavar="GROUP", help="Runs of this group only.")
@click.option("--project", default="", metavar="PROJECT", help="Of this project only.")
@click.option("--catalogue", is_flag=True, help="environments: those that come with nodus-tui.")
@click.option("--all-attempts", is_flag=True, help="Runs whose case another attempt took over too.")
@output_option("table", "json", "yaml", "csv")
def command(target: str, name: str | None, group: str, project: str, output: str, *, catalogue: bool, all_attempts: bool) -> int:
    """List the resources of KIND, or show one. Kinds: agents, groups (ag), runs, jobs, trainingjobs (tj), sweeps, sandboxes,
    budgets, environments (env).

    -o json and -o yaml print whole resources, as `apply -f -` takes them: one for KIND/NAME, a list (YAML: documents) for KIND.
    """
    kind, in_target = split_target(target)
    wanted = in_target or name or ""
    if catalogue:
        return _catalogue(kind, output)
    query = Query(group=group, project=project, current_only=not all_attempts)

    async def ask(backend: Backend) -> list[Resource]:
        return [await backend.get(kind, wanted)] if wanted else await all_of(backend, kind, query)

    resources = with_backend("look", ask)
    if not resources:
        say(f"no {KIND_NAMES[kind][0]} here")
    if kind == "Environment" and not wanted:
        say("with --catalogue: the environments that come with nodus-tui")
    documents = [each.to_document() for each in resources]
    if output == "json":
        emit(json_text(documents[0] if wanted else list(documents)))
    elif output == "yaml":
        if resources:
            emit(resources_yaml(resources))
    elif output == "csv":
        titles = titles_of(kind)
        emit(csv_text([dict(zip(titles, row_of(each), strict=True)) for each in resources], titles))
    else:
        emit(table_text(titles_of(kind), [row_of(each, bars=True) for each in resources], right=RIGHT))
    return 0


def _catalogue(kind: str, output: str) -> int:
    if kind != "Environment":
        raise click.UsageError("--catalogue lists environments: nodus-tui get environments --catalogue")

    async def ask(backend: Backend) -> BackendInfo:
        return await backend.info()

    entries = [entry.to_document() for entry in with_backend("look", ask).environments]
    if output == "json":
        emit(json_text(list(entries)))
    elif output == "yaml":
        emit(yaml_text(list(entries)))
    else:
        titles = ("NAME", "VERSION", "SOURCE", "SPLITS", "TASKS", "DESCRIPTION")
        rows = [
            (
                str(entry["name"]),
                str(entry["version"]),
                str(entry["source"]),
                ",".join(str(split) for split in entry["splits"]) if isinstance(entry["splits"], list) else "",
                "no end" if entry["tasks"] is None else str(entry["tasks"]),
                f"{entry['description']}{' — ' if entry['problem'] else ''}{entry['problem']}",
            )
            for entry in entries
        ]
        emit(csv_text([dict(zip(titles, row, strict=True)) for row in rows], titles) if output == "csv" else table_text(titles, rows))
    return 0
