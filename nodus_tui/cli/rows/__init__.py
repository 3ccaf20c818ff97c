"""One line a resource, for `get`. What makes the lines of a kind is loaded with the first line of that kind. Pure."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from nodus_tui.contract.resources.meta import Resource

RIGHT = frozenset(
    {"REVISION", "CASE", "COST", "CAP", "TURNS", "SPENT", "ENDED", "SANDBOX", "SANDBOXES", "EXIT", "TOOK", "LEFT", "LIMIT", "DONE"}
    | {"GOING", "AN HOUR"}
)
"""Columns of figures."""

_MAKERS: dict[str, tuple[str, str, str]] = {
    "Agent": ("rows.agents", "TITLES", "agent_row"),
    "AgentGroup": ("rows.groups", "TITLES", "group_row"),
    "AgentRun": ("rows.runs", "TITLES", "run_row"),
    "Job": ("rows.jobs", "TITLES", "job_row"),
    "TrainingJob": ("rows.jobs", "TRAINING_TITLES", "training_job_row"),
    "Sweep": ("sweep_texts", "SWEEP_TITLES", "sweep_row"),
    "Sandbox": ("sandbox_texts", "SANDBOX_TITLES", "sandbox_row"),
    "Budget": ("rows.budgets", "TITLES", "budget_row"),
    "Environment": ("rows.environments", "TITLES", "environment_row"),
}
"""Kind → its module, and what the columns and the maker of a line are called there."""


def titles_of(kind: str) -> tuple[str, ...]:
    """The columns of a kind."""
    if kind not in _MAKERS:
        return "KIND", "NAME"
    module, titles, _ = _MAKERS[kind]
    found: tuple[str, ...] = _of(module, titles)
    return found


def row_of(resource: Resource, *, bars: bool = False) -> tuple[str, ...]:
    """The cells of one resource, under the columns of its kind; with `bars` for people, who see a share best as a length."""
    if resource.kind not in _MAKERS:
        return resource.kind, resource.name
    module, _, maker = _MAKERS[resource.kind]
    make: Callable[..., tuple[str, ...]] = _of(module, maker)
    return make(resource, bars=bars) if resource.kind == "Budget" else make(resource)


def _of(module: str, name: str) -> Any:
    return getattr(import_module(f"nodus_tui.cli.{module}"), name)
