"""From the open views to the place that is remembered, and back to it, with the views below it as if one had come that way."""

from pathlib import Path

from nodus_tui.authoring.finding import is_example
from nodus_tui.last_places import Place
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.catalogue import make_screen, screen_of
from nodus_tui.screens.going import go_to_box, go_to_job, go_to_run
from nodus_tui.screens.job_results import JobResultsScreen
from nodus_tui.screens.place_keeper import NAMED, OF_A_GROUP, PARENTS
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import RowsScreen
from nodus_tui.view_state.cells import Tone
from nodus_tui.view_state.views import View, destination
from nodus_tui.widgets.line_table import LineTable

_KIND_WORDS = {View.JOBS: "The job", View.SANDBOXES: "The sandbox", View.SWEEPS: "The sweep"}
"""What the things of a view are called."""


async def go_to_place(first: ViewScreen, place: Place) -> None:
    """Open a place from the first view. What is gone is told, in the nearest view that is still there."""
    services = first.services
    if place.view is first.VIEW:
        _select(first, place.row)
        return
    parent = place.below or PARENTS.get(place.view, place.view).value
    entry = destination(parent)
    if entry is not None:
        await first.app.push_screen(make_screen(entry, services))
    if place.view not in NAMED:
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
    if place.view in OF_A_GROUP:
        return feed.campaigns.rows.find(name) is not None
    if place.view is View.SWEEP:
        return feed.sweeps.rows.find(name) is not None
    # A run, an environment and a file are asked for: who opens them says what became of them.
    return place.view is not View.SANDBOX or feed.boxes.rows.find(name) is not None


async def _open(here: ViewScreen, place: Place) -> None:
    services, app = here.services, here.app
    names = tuple(filter(None, (place.name, place.second)))
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
            await app.push_screen(screen_of(View.JOB, services, place.name))
            await app.push_screen(JobResultsScreen(services, place.name))
        case View.SWEEP | View.ENVIRONMENT:
            await app.push_screen(screen_of(place.view, services, *names))
        case _:
            await app.push_screen(screen_of(View.GROUP, services, place.name))
            if place.view is not View.GROUP:
                await app.push_screen(screen_of(place.view, services, *names))


def _select(screen: object, row: str) -> None:
    """Select a row, now or when it comes."""
    if row and isinstance(screen, RowsScreen):
        table: LineTable[object] = screen.active_table
        if table.id == "rows":
            table.await_row(row)
