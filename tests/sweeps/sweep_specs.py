"""Sweeps for tests."""

from typing import Any

from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJobSpec

GROUP: dict[str, Any] = {
    "kind": "AgentGroup",
    "spec": {"agent": "plain", "maxCostUSD": "1.00", "evaluation": {"environment": "nodus/arithmetic-v2@2.0.0", "tasks": 10, "seed": 7}},
}
JOB: dict[str, Any] = {"kind": "Job", "spec": {"command": ["true"], "maxCostUSD": "0.10", "env": {"MODE": "fast"}}}
TRAINING: dict[str, Any] = {
    "kind": "TrainingJob",
    "spec": {
        "runtime": "nodus/evaluate",
        "model": {"uri": "file:///models/tiny"},
        "parameters": {"tasks": ["arc_easy"], "seed": 5},
        "maxCostUSD": "0.10",
    },
}


def sweep(template: dict[str, Any] = GROUP, *, name: str = "sweep", **spec: Any) -> Sweep:
    return Sweep.model_validate({"metadata": {"name": name}, "spec": {"maxCostUSD": "10.00", "template": template, **spec}})


def training(cell_spec: object) -> TrainingJobSpec:
    assert isinstance(cell_spec, TrainingJobSpec)
    return cell_spec
