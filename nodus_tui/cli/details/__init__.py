"""Resources in detail, for `describe`. What tells of a kind is loaded with the first of that kind. Pure."""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import Any

from nodus_tui.cli.output import pairs_text
from nodus_tui.cli.rows import row_of, titles_of
from nodus_tui.contract.resources.agent import AgentSandbox
from nodus_tui.contract.resources.agent_run import Transcript
from nodus_tui.contract.resources.meta import Resource

_TELLERS: dict[str, tuple[str, str]] = {
    "Agent": ("details.agents", "pairs"),
    "AgentGroup": ("details.groups", "pairs"),
    "Budget": ("details.budgets", "pairs"),
    "Job": ("details.jobs", "job_pairs"),
    "Sandbox": ("sandbox_texts", "sandbox_pairs"),
    "Sweep": ("details.sweeps", "pairs"),
    "TrainingJob": ("details.jobs", "training_job_pairs"),
}
"""Kind → its module, and what tells of it there; of a run more is to be known than its resource."""


def resource_text(
    resource: Resource, *, now: datetime | None = None, limits: AgentSandbox | None = None, transcript: Transcript | None = None
) -> str:
    """Everything a person wants to know of it; for a run, with `now`, also where its time went, and the limits of its sandbox."""
    common = [("Kind", resource.kind), ("Name", resource.name), ("Project", resource.metadata.project or ""), ("Labels", _labels(resource))]
    if resource.kind == "AgentRun":
        own = _of("details.runs", "pairs")(resource, now=now, limits=limits, transcript=transcript)
    elif resource.kind in _TELLERS:
        own = _of(*_TELLERS[resource.kind])(resource)
    else:
        own = list(zip((title.capitalize() for title in titles_of(resource.kind)[1:]), row_of(resource)[1:], strict=True))
    return pairs_text(common + own)


def _of(module: str, name: str) -> Callable[..., list[tuple[str, str]]]:
    found: Any = getattr(import_module(f"nodus_tui.cli.{module}"), name)
    made: Callable[..., list[tuple[str, str]]] = found
    return made


def _labels(resource: Resource) -> str:
    return ", ".join(f"{key}={value}" for key, value in resource.metadata.labels.items())
