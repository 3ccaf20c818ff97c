"""From the registry of views to their screens: a screen is loaded when it is first opened, so that the start does not pay for all."""

from importlib import import_module

from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.services import Services
from nodus_tui.view_state.views import View, ViewEntry

_OF_ONE = {
    View.GROUP: "group:GroupScreen",
    View.RESULTS: "results:ResultsScreen",
    View.TIMELINE: "timeline:TimelineScreen",
    View.WHAT_IF: "what_if:WhatIfScreen",
    View.COMPARISON: "comparison:ComparisonScreen",
    View.JOB: "job:JobScreen",
    View.SANDBOX: "box:SandboxScreen",
    View.SWEEP: "sweep:SweepScreen",
    View.ENVIRONMENT: "environment:EnvironmentScreen",
}
"""Screens of one thing that need no more than its name, or that and the name of another."""


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


def screen_of(view: View, services: Services, *names: str) -> ViewScreen:
    """A new screen of one thing by its name, or of that and another."""
    module, _, name = _OF_ONE[view].partition(":")
    made: ViewScreen = getattr(import_module(f"nodus_tui.screens.{module}"), name)(services, *names)
    return made
