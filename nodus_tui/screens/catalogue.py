"""From the registry of views to their screens: a screen is loaded when it is first opened, so that the start does not pay for all."""

from importlib import import_module

from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.services import Services
from nodus_tui.view_state.views import ViewEntry


def screen_class(entry: ViewEntry) -> type[ViewScreen]:
    """The screen of a view that can be gone to from everywhere. Raises TypeError where the registry names something else."""
    module, _, name = entry.screen.partition(":")
    found = getattr(import_module(module), name)
    if not (isinstance(found, type) and issubclass(found, ViewScreen) and found.VIEW is entry.view):
        raise TypeError(f"{entry.screen} is not the screen of the view {entry.view.value}")
    return found


def make_screen(entry: ViewEntry, services: Services) -> ViewScreen:
    """A new screen of a view that can be gone to from everywhere."""
    return screen_class(entry)(services)
