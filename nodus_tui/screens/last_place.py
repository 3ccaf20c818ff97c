"""From the open views to the place that is remembered, and back to it, with the views below it as if one had come that way."""

from collections.abc import Iterable

from nodus_tui.last_places import Place
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.catalogue import make_screen
from nodus_tui.screens.going import go_to_box, go_to_job, go_to_run
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.run import RunScreen
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import RowsScreen
from nodus_tui.view_state.cells import Tone
from nodus_tui.view_state.views import VIEW_TITLES, View, destination
from nodus_tui.widgets.line_table import LineTable

_NAMED = {View.GROUP, View.RUN, View.JOB, View.SANDBOX, View.SWEEP, View.ENVIRONMENT, View.RESULTS, View.TIMELINE}
"""Views of one thing that can be opened by its name alone."""
_PARENTS = {View.JOB: View.JOBS, View.SANDBOX: View.SANDBOXES, View.SWEEP: View.SWEEPS, View.ENVIRONMENT: View.ENVIRONMENTS}
"""What lies below such a view, where it is not the campaigns."""
_OF_A_GROUP = frozenset({View.GROUP, View.RESULTS, View.TIMELINE})


def place_of(screens: Iterable[ViewScreen]) -> Place:
    """The place of the topmost view that can be opened again; editors and estimates cannot."""
    for screen in reversed(tuple(screens)):
        view = screen.VIEW
        if destination(view.value) is None and view not in _NAMED:
            continue
        row = ""
        if isinstance(screen, RowsScreen) and screen.active_table.id == "rows":
            row = screen.active_table.cursor_key or ""
        return Place(view, _name_of(screen) if view in _NAMED else "", row)
    return Place(View.CAMPAIGNS)


def _name_of(screen: ViewScreen) -> str:
    """What a view is of: its crumbs end with that, or with what of it they show."""
    crumbs = screen.crumbs()
    if isinstance(screen, RunScreen):
        return screen.state.name
    return crumbs[1] if len(crumbs) > 1 else ""


async def go_to_place(first: ViewScreen, place: Place) -> None:
    """Open a place from the first view. What is gone is told, in the nearest view that is still there."""
    services = first.services
    if place.view is first.VIEW:
        _select(first, place.row)
        return
    entry = destination(_PARENTS.get(place.view, place.view).value)
    if entry is not None:
        await first.app.push_screen(make_screen(entry, services))
    if place.view not in _NAMED:
        _select(first.app.screen, place.row)
        return
    here = first.app.screen
    if not isinstance(here, ViewScreen):
        return
    if not _is_there(services, place):
        what = VIEW_TITLES[place.view].partition(" ")[0].lower()
        of = "of " if place.view in {View.RESULTS, View.TIMELINE} else ""
        here.notice(f"The {what} {of}{place.name}, where you were last, is not there any more.", Tone.WARN)
        return
    await _open(here, place)
    _select(first.app.screen, place.row)


def _is_there(services: Services, place: Place) -> bool:
    feed = services.feed
    if place.view in _OF_A_GROUP:
        return feed.campaigns.rows.find(place.name) is not None
    if place.view is View.JOB:
        return feed.jobs.rows.find(place.name) is not None
    if place.view is View.SWEEP:
        return feed.sweeps.rows.find(place.name) is not None
    # A run and an environment are asked for: their views say what became of them.
    return place.view is not View.SANDBOX or feed.boxes.rows.find(place.name) is not None


async def _open(here: ViewScreen, place: Place) -> None:
    services, app = here.services, here.app
    match place.view:
        case View.RUN:
            await go_to_run(here, place.name)
        case View.JOB:
            go_to_job(here, place.name)
        case View.SANDBOX:
            go_to_box(here, place.name)
        case View.SWEEP:
            from nodus_tui.screens.sweep import SweepScreen  # noqa: PLC0415 - loaded when it is gone to

            await app.push_screen(SweepScreen(services, place.name))
        case View.ENVIRONMENT:
            from nodus_tui.screens.environment import EnvironmentScreen  # noqa: PLC0415 - see above

            await app.push_screen(EnvironmentScreen(services, place.name))
        case _:
            await app.push_screen(GroupScreen(services, place.name))
            await _open_of_group(here, place)


async def _open_of_group(here: ViewScreen, place: Place) -> None:
    """What lies above a group's own view."""
    if place.view is View.RESULTS:
        from nodus_tui.screens.results import ResultsScreen  # noqa: PLC0415 - see above

        await here.app.push_screen(ResultsScreen(here.services, place.name))
    elif place.view is View.TIMELINE:
        from nodus_tui.screens.timeline import TimelineScreen  # noqa: PLC0415 - see above

        await here.app.push_screen(TimelineScreen(here.services, place.name))


def _select(screen: object, row: str) -> None:
    """Select a row, now or when it comes."""
    if row and isinstance(screen, RowsScreen):
        table: LineTable[object] = screen.active_table
        if table.id == "rows":
            table.await_row(row)
