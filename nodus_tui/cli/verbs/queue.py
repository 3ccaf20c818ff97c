"""`queue`: who waits for what, a group's timeline, and a forecast with another maxActive."""

import shutil
from datetime import UTC, datetime

import click
from pydantic import JsonValue

from nodus_tui.cli.failures import say
from nodus_tui.cli.options import TargetType, output_option
from nodus_tui.cli.output import emit, json_text
from nodus_tui.cli.queue_texts import queue_document, queue_table, timeline_document, timeline_text, what_if_document, what_if_table
from nodus_tui.cli.session import with_backend
from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.view_state.boxes import BoxesState
from nodus_tui.view_state.budgets import BudgetsState
from nodus_tui.view_state.campaigns import CampaignsState
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.group_load import in_order
from nodus_tui.view_state.jobs import JobsState
from nodus_tui.view_state.queue import QueueState
from nodus_tui.view_state.queue_columns import reasons_line
from nodus_tui.view_state.sweeps import SweepsState
from nodus_tui.view_state.what_if import head_lines, row_words, what_if_rows


def _local(now: datetime) -> datetime:
    return now.astimezone()


@click.command("queue")
@click.argument("group", type=TargetType(), required=False, default="")
@click.option("--timeline", "timeline", is_flag=True, help="When each run of GROUP queued, was prepared, ran, was held up and graded.")
@click.option(
    "--max-active", "values", multiple=True, type=click.IntRange(1, 1000), metavar="N", help="Forecast GROUP's end with this maxActive too."
)
@click.option("--all", "whole", is_flag=True, help="A line for every run, also where many of one group wait for the same.")
@output_option("table", "json")
def command(group: str, values: tuple[int, ...], output: str, *, timeline: bool, whole: bool) -> int:
    """Who waits for what, since when, and until when: of the whole workspace, or of GROUP. Who is next stands first.

    Times are this machine's; ~ marks a forecast, ≤ the latest moment; `by hand` waits for somebody. -o json has UTC, and every run.
    """
    name = group.removeprefix("group/")
    if (timeline or values) and not name:
        raise click.UsageError("--timeline and --max-active are of one group: nodus-tui queue GROUP …")
    if timeline and values:
        raise click.UsageError("--timeline shows what was, --max-active what would be: choose one")
    if timeline:
        return _timeline(name, output)
    return _what_if(name, values, output) if values else _queue(name, output, whole=whole)


async def _runs(backend: Backend, query: Query) -> list[AgentRun]:
    found: list[AgentRun] = []
    while True:
        page = await backend.list("AgentRun", query)
        found += [run for run in page.items if isinstance(run, AgentRun)]
        if not page.next_after:
            return found
        query = query.model_copy(update={"after": page.next_after})


def _queue(name: str, output: str, *, whole: bool) -> int:
    async def ask(backend: Backend) -> QueueState:
        if name:
            await backend.get("AgentGroup", name)
        snapshot = await backend.snapshot()
        groups, jobs, boxes, sweeps, budgets = CampaignsState(), JobsState(), BoxesState(), SweepsState(), BudgetsState()
        for state in (groups, jobs, boxes, sweeps, budgets):
            state.load(snapshot)
        queue = QueueState(groups.rows, jobs.rows, boxes.rows, sweeps.rows, budgets.rows)
        queue.load(await _runs(backend, Query(group=name, unfinished=True)))
        return queue

    queue = with_backend("look", ask)
    now = datetime.now(UTC)
    queue.narrow(name)
    queue.refresh(now)
    if whole or output == "json":
        queue.turn_all()
        queue.refresh(now)
    waiters = [queue.rows.item(queue.rows.key_at(place)) for place in range(len(queue.rows))]
    if output == "json":
        emit(json_text([queue_document(each) for each in waiters]))
    elif waiters:
        emit(f"{plain(reasons_line(queue.reasons))}\n\n{queue_table(waiters, _local(now), of_one_group=bool(name))}")
    else:
        say(f"nothing of {name} waits" if name else "nothing waits")
    return 0


def _timeline(name: str, output: str) -> int:
    async def ask(backend: Backend) -> list[AgentRun]:
        await backend.get("AgentGroup", name)
        return in_order(await _runs(backend, Query(group=name, current_only=False)))

    runs = with_backend("look", ask)
    now = datetime.now(UTC)
    if output == "json":
        emit(json_text([timeline_document(run, now) for run in runs]))
    elif runs:
        emit(timeline_text(runs, _local(now), shutil.get_terminal_size((100, 24)).columns))
    else:
        say(f"{name} has no runs yet")
    return 0


def _what_if(name: str, values: tuple[int, ...], output: str) -> int:
    async def ask(backend: Backend) -> tuple[AgentGroup, list[AgentRun]]:
        group = await backend.get("AgentGroup", name)
        if not isinstance(group, AgentGroup):
            raise TypeError(f"the backend gave {group.kind} {name} as an AgentGroup")
        return group, await _runs(backend, Query(group=name, unfinished=True))

    group, runs = with_backend("look", ask)
    now = datetime.now(UTC)
    load, rows = what_if_rows(group, runs, now, values)
    shown = [row for row in rows if row.added or row.is_present]
    if output == "json":
        documents: list[JsonValue] = [what_if_document(row) for row in shown]
        emit(json_text(documents))
        return 0
    if not load.going and not load.waiting:
        emit(plain(head_lines(group, load)[0]))
        return 0
    local = _local(now)
    said = [plain(each) for row in shown if not row.is_present for each in row_words(row, local)]
    emit("\n".join([*(plain(each) for each in head_lines(group, load)), "", what_if_table(shown, local), "", *said]).rstrip())
    return 0
