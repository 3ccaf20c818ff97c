"""Where a person was when they left the console, by workspace, so that it opens there again. It knows the memory and no screen."""

from msgspec import Struct
from pydantic import JsonValue

from nodus_tui.console_memory import ConsoleMemory
from nodus_tui.view_state.views import View

_FACT = "places"
_MOST = 50
"""Workspaces that are remembered."""


class Place(Struct, frozen=True):
    """A view, what it shows, and the selected row."""

    view: View
    name: str = ""
    """Of the group, run, job or other thing that the view is of, or the path of a file; empty for a view of all."""
    row: str = ""
    """The key of the selected row; empty where there is none."""
    second: str = ""
    """The name of what it is compared with; empty in all other views."""
    below: str = ""
    """The view of all such things, where one view shows things of several kinds; empty for the usual one."""


class LastPlaces:
    """The places of earlier visits."""

    def __init__(self, memory: ConsoleMemory) -> None:
        self._memory = memory

    def last(self, workspace: str) -> Place | None:
        """Where the last visit ended; None for the first one, and where what was kept is no place (any more)."""
        kept = self._memory.get(_FACT)
        found = kept.get(workspace) if isinstance(kept, dict) else None
        if not isinstance(found, dict):
            return None
        view, *rest = (str(found.get(field, "")) for field in ("view", "name", "row", "second", "below"))
        return Place(View(view), *rest) if view in set(View) else None

    def leave(self, workspace: str, place: Place) -> None:
        """This visit ends there. Where that cannot be kept, the next one begins with the campaigns; nobody needs to hear of it."""
        kept = self._memory.get(_FACT)
        others = [(name, at) for name, at in kept.items() if name != workspace] if isinstance(kept, dict) else []
        words = {"view": place.view.value, "name": place.name, "row": place.row, "second": place.second, "below": place.below}
        fact: JsonValue = {field: word for field, word in words.items() if word}
        self._memory.keep(_FACT, dict([*others[-(_MOST - 1) :], (workspace, fact)]))
