"""`compare`: groups, or the variants of a sweep, task by task."""

import click

from nodus_tui.cli.options import TargetType, output_option
from nodus_tui.cli.output import csv_text, emit, json_text, table_text
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.sweep_texts import pool_name
from nodus_tui.cli.targets import split_target
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.results import PairedDifference
from nodus_tui.statistics.comparing import compared_groups, compared_pools, difference_text, solved_text, why_not_compared
from nodus_tui.text import safe_text

_TITLES = ("FIRST", "SECOND", "FIRST − SECOND", "UNPAIRED SE", "CORRELATION", "LEFT OUT")


@click.command("compare")
@click.argument("targets", type=TargetType(), nargs=-1, required=True, metavar="NAME... | sweep/NAME")
@output_option("table", "json", "csv")
def command(targets: tuple[str, ...], output: str) -> int:
    """Compare the first NAME, a group or a sweep's cell, with each other one, on the tasks that both answered; or all variants of a
    sweep with its first, their shards and repetitions taken together.

    Each task's answers are averaged first, and the difference is that of the tasks: two pass rates beside each other would count the
    tasks' own difficulty as noise. Tasks that only one answered are left out.
    """
    kinds = [split_target(target) if "/" in target else ("AgentGroup", target) for target in targets]
    sweeps = [name for kind, name in kinds if kind == "Sweep"]
    if sweeps and len(targets) > 1:
        raise click.UsageError("one sweep at a time: its own variants are compared")
    if any(kind not in {"Sweep", "AgentGroup"} for kind, _ in kinds) or (not sweeps and len(targets) < 2):
        raise click.UsageError("name two groups or more, or one sweep (sweep/NAME)")

    async def ask(backend: Backend) -> list[PairedDifference]:
        if sweeps:
            results = await backend.sweep_results(sweeps[0])
            if problem := why_not_compared(results):
                raise NodusError(ErrorCode.NOT_SUPPORTED, f"{results.sweep} cannot be compared task by task: {problem}")
            return list(compared_pools(results, pool_name))
        first, *others = [await backend.results(name) for _, name in kinds]
        return [compared_groups(first, each) for each in others]

    differences = with_backend("look", ask)
    emit(comparison_text(differences, output))
    return 0


def comparison_text(differences: list[PairedDifference], output: str) -> str:
    """The differences in one of the formats: as a table, with who solved what and what a reader should know below it."""
    documents = [each.to_document() for each in differences]
    if output == "json":
        return json_text(list(documents))
    if output == "csv":
        return csv_text(documents, list(documents[0]))
    told = [f"{each.first} and {each.second}: {solved_text(each)}." for each in differences if each.tasks]
    notes = dict.fromkeys(note for each in differences for note in each.notes)
    said = "\n".join(safe_text(sentence) for sentence in (*told, *notes))
    return "\n\n".join(part for part in (table_text(_TITLES, [_row(each) for each in differences]), said) if part)


def _row(each: PairedDifference) -> tuple[str, ...]:
    unpaired = "-" if each.unpaired_standard_error is None else f"{100 * each.unpaired_standard_error:.1f}"
    correlation = "-" if each.correlation is None else f"{each.correlation:.2f}"
    return each.first, each.second, difference_text(each), unpaired, correlation, f"{each.only_first} + {each.only_second} tasks"
