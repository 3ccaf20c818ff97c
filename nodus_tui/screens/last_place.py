"""From the open views to the place that is remembered, and back to it, with the views below it as if one had come that way."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from nodus_tui.authoring.finding import is_example
from nodus_tui.last_places import Place
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.catalogue import make_screen
from nodus_tui.screens.going import go_to_box, go_to_job, go_to_run
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import RowsScreen
from nodus_tui.view_state.cells import Tone
from nodus_tui.view_state.views import View, destination
from nodus_tui.widgets.line_table import LineTable

_PARENTS = {
    View.JOB: View.JOBS,
    View.SANDBOX: View.SANDBOXES,
    View.SWEEP: View.SWEEPS,
    View.ENVIRONMENT: View.ENVIRONMENTS,
    View.SPEC: View.SPECS,
}
"""What lies below a view of one thing, where it is not the campaigns."""
_OF_A_GROUP = frozenset({View.GROUP, View.RESULTS, View.TIMELINE, View.WHAT_IF, View.COMPARISON})
_NAMED = frozenset({*_PARENTS, *_OF_A_GROUP, View.RUN})
"""Views of one thing that can be opened by its name alone, or by that and the name of another."""
_SCREENS = {
    View.RESULTS: "results:ResultsScreen",
    View.TIMELINE: "timeline:TimelineScreen",
    View.WHAT_IF: "what_if:WhatIfScreen",
    View.COMPARISON: "comparison:ComparisonScreen",
    View.SWEEP: "sweep:SweepScreen",
    View.ENVIRONMENT: "environment:EnvironmentScreen",
}
_KIND_WORDS = {View.JOBS: "The job", View.SANDBOXES: "The sandbox", View.SWEEPS: "The sweep"}
"""What the things of a view are called."""


def place_of(screens: Iterable[ViewScreen]) -> Place:
    """The place of the topmost view that can be opened again; an estimate cannot."""
    for screen in reversed(tuple(screens)):
        view = screen.VIEW
        if view not in _NAMED and destination(view.value) is None:
            continue
        name, second = (*(screen.names() if view in _NAMED else ()), "", "")[:2]
        below = View.JOBS.value if view is View.RESULTS and screen.crumbs()[0] == View.JOBS.value else ""
        row = ""
        # A view that has just been opened has no table yet.
        if isinstance(screen, RowsScreen) and screen.is_mounted and screen.active_table.id == "rows":
            row = screen.active_table.cursor_key or ""
        return Place(view, name, row, second, below)
    return Place(View.CAMPAIGNS)


async def go_to_place(first: ViewScreen, place: Place) -> None:
    """Open a place from the first view. What is gone is told, in the nearest view that is still there."""
    services = first.services
    if place.view is first.VIEW:
        _select(first, place.row)
        return
    parent = place.below or _PARENTS.get(place.view, place.view).value
    entry = destination(parent)
    if entry is not None:
        await first.app.push_screen(make_screen(entry, services))
    if place.view not in _NAMED:
        _select(first.app.screen, place.row)
        return
    here = first.app.screen
    if not isinstance(here, ViewScreen):
        return
    gone = next((each for each in (place.name, place.second) if each and not _is_there(services, place, each)), "")
    if gone:
        here.notice(f"{_KIND_WORDS.get(View(parent), 'The group')} {gone}, where you were last, is not there any more.", Tone.WARN)
        return
    await _open(here, place)
    _select(first.app.screen, place.row)


def _is_there(services: Services, place: Place, name: str) -> bool:
    feed = services.feed
    if place.view is View.JOB or place.below == View.JOBS.value:
        return feed.jobs.rows.find(name) is not None
    if place.view in _OF_A_GROUP:
        return feed.campaigns.rows.find(name) is not None
    if place.view is View.SWEEP:
        return feed.sweeps.rows.find(name) is not None
    # A run, an environment and a file are asked for: who opens them says what became of them.
    return place.view is not View.SANDBOX or feed.boxes.rows.find(name) is not None


async def _open(here: ViewScreen, place: Place) -> None:
    services, app = here.services, here.app
    match place.view:
        case View.RUN:
            await go_to_run(here, place.name)
        case View.JOB:
            go_to_job(here, place.name)
        case View.SANDBOX:
            go_to_box(here, place.name)
        case View.SPEC:
            from nodus_tui.screens.spec_opening import open_file  # noqa: PLC0415 - loaded when it is gone to

            await open_file(here, Path(place.name), example=is_example(Path(place.name)))
        case View.RESULTS if place.below:
            await app.push_screen(JobScreen(services, place.name))
            await app.push_screen(_made(services, "job_results:JobResultsScreen", place))
        case View.SWEEP | View.ENVIRONMENT:
            await app.push_screen(_made(services, _SCREENS[place.view], place))
        case _:
            await app.push_screen(GroupScreen(services, place.name))
            if place.view is not View.GROUP:
                await app.push_screen(_made(services, _SCREENS[place.view], place))


def _made(services: Services, named: str, place: Place) -> ViewScreen:
    """A screen of this folder that is loaded when it is gone to."""
    module, _, name = named.partition(":")
    made: ViewScreen = getattr(import_module(f"nodus_tui.screens.{module}"), name)(services, *filter(None, (place.name, place.second)))
    return made


def _select(screen: object, row: str) -> None:
    """Select a row, now or when it comes."""
    if row and isinstance(screen, RowsScreen):
        table: LineTable[object] = screen.active_table
        if table.id == "rows":
            table.await_row(row)
