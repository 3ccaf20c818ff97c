"""Keeps where a person is, while they are there: a console that is killed, or loses its machine, opens there again all the same."""

from collections.abc import Iterable

from nodus_tui.last_places import LastPlaces, Place
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.table_screen import RowsScreen
from nodus_tui.values import replace
from nodus_tui.view_state.views import View, destination

PARENTS = {
    View.JOB: View.JOBS,
    View.SANDBOX: View.SANDBOXES,
    View.SWEEP: View.SWEEPS,
    View.ENVIRONMENT: View.ENVIRONMENTS,
    View.SPEC: View.SPECS,
}
"""What lies below a view of one thing, where it is not the campaigns."""
OF_A_GROUP = frozenset({View.GROUP, View.RESULTS, View.TIMELINE, View.WHAT_IF, View.COMPARISON})
NAMED = frozenset({*PARENTS, *OF_A_GROUP, View.RUN})
"""Views of one thing that can be opened by its name alone, or by that and the name of another."""


def place_of(screens: Iterable[ViewScreen]) -> Place:
    """The place of the topmost view that can be opened again; an estimate cannot."""
    for screen in reversed(tuple(screens)):
        view = screen.VIEW
        if view not in NAMED and destination(view.value) is None:
            continue
        name, second = (*(screen.names() if view in NAMED else ()), "", "")[:2]
        below = View.JOBS.value if view is View.RESULTS and screen.crumbs()[0] == View.JOBS.value else ""
        row = ""
        # A view that has just been opened has no table yet.
        if isinstance(screen, RowsScreen) and screen.is_mounted and screen.active_table.id == "rows":
            row = screen.active_table.cursor_key or ""
        return Place(view, name, row, second, below)
    return Place(View.CAMPAIGNS)


class PlaceKeeper:
    """Of one console: writes its place down when it is another one, and with the selected row when it is left."""

    def __init__(self, places: LastPlaces) -> None:
        self._places = places
        self._left: Place | None = None
        self._kept: Place | None = None

    def look(self, workspace: str, screens: Iterable[object]) -> None:
        """Keep the view that is on top now; a row that is selected meanwhile is not worth a write to the disk."""
        if self._left is not None:
            return
        place = place_of(screen for screen in screens if isinstance(screen, ViewScreen))
        if self._kept is None or replace(place, row="") != replace(self._kept, row=""):
            self._kept = place
            self._places.leave(workspace, place)

    def leaving(self, screens: Iterable[object]) -> None:
        """The person leaves: what is open is known only before the views are torn down, and by the first of several reasons to leave."""
        if self._left is None:
            self._left = place_of(screen for screen in screens if isinstance(screen, ViewScreen))

    def left(self, workspace: str) -> None:
        """The views are gone: keep the place that was left, with its row."""
        if self._left is not None and self._left != self._kept:
            self._places.leave(workspace, self._left)

    def broke(self, workspace: str) -> None:
        """What is shown here ended the console: it must not do so each time that the console is opened."""
        self._places.leave(workspace, Place(View.CAMPAIGNS))
