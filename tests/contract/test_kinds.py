"""The kinds: their registry, their documented defaults and limits, and the figures that they derive."""

from datetime import timedelta
from decimal import Decimal

import pytest
from contract_examples import EXAMPLES, changed, faults_of

from nodus_tui.contract.resources.agent import AgentSpec
from nodus_tui.contract.resources.agent_group import AgentGroupSpec
from nodus_tui.contract.resources.budget import BudgetSpec
from nodus_tui.contract.resources.registry import API_VERSIONS, KINDS
from nodus_tui.contract.resources.sandbox import SandboxSpec
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJobSpec
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs


def test_nine_kinds_and_one_of_them_is_beta():
    assert set(KINDS) == {"Agent", "AgentRun", "AgentGroup", "Environment", "Budget", "Sandbox", "Sweep", "Job", "TrainingJob"}
    assert {kind for kind, version in API_VERSIONS.items() if version != "nodus.dev/v1"} == {"TrainingJob"}
    assert API_VERSIONS["TrainingJob"] == "nodus.dev/v1beta1"
    assert all(model.__name__ == kind for kind, model in KINDS.items())


def test_documented_defaults():
    agent = AgentSpec.model_validate({"model": {"families": ["haiku"]}})
    assert agent.per_run_max_cost_usd == Decimal("1.00")
    assert (agent.sandbox.cpus, agent.sandbox.memory_gib) == (1, 1)
    evaluation = {"environment": "nodus/arithmetic-v2@2.0.0", "tasks": 5}
    group = AgentGroupSpec.model_validate({"agent": "a", "maxCostUSD": "1", "evaluation": evaluation})
    assert group.max_active == 10
    assert group.evaluation is not None
    assert group.evaluation.timeout == timedelta(minutes=30)
    assert group.cases == 5
    assert BudgetSpec.model_validate({"limitUSD": "1"}).action == "Block"
    training = TrainingJobSpec.model_validate(
        {"runtime": "nodus/evaluate", "model": {"uri": "hf://a/b@c"}, "parameters": {"tasks": ["x"]}, "maxCostUSD": "1"}
    )
    assert (training.parameters.batch_size, training.parameters.seed) == (8, 0)
    assert training.parameters.evaluation_batch_size is None
    assert training.resources.hardware == ("RTX-4090", "L40S", "RTX-A6000", "A100-80G")
    assert SandboxSpec.model_validate({"maxCostUSD": "1"}).idle_timeout < SandboxSpec.model_validate({"maxCostUSD": "1"}).max_lifetime


TABLE = [
    ("batchSize", 1, 1024),
    ("evaluationBatchSize", 1, 1024),
    ("limit", 1, 1_000_000),
    ("maxCompletionLength", 8, 32_768),
    ("numFewshot", 0, 64),
    ("seed", 0, 2_147_483_647),
]


@pytest.mark.parametrize(("parameter", "low", "high"), TABLE)
def test_limits_of_evaluate_parameters(parameter, low, high):
    for value, faults in ((low, 0), (high, 0), (low - 1, 1), (high + 1, 1)):
        text = changed(EXAMPLES["TrainingJob"], "limit: 200", f"{parameter}: {value}")
        found = faults_of(text)
        assert len(found) == faults, value
        assert all(fault.message == f"{parameter} is {value}; it must be {low} to {high}" for fault in found)


def test_limits_of_task_lists_and_filters():
    for key, text, most in (
        ("tasks: [arc_easy]", "tasks: [{}]", 64),
        ("taskFilter: {family: sums, level: 2}", "taskFilter: {{{}}}", 8),
    ):
        for count, faults in ((most, 0), (most + 1, 1)):
            entries = ", ".join(f"k{number}" if "tasks" in key else f"k{number}: 1" for number in range(count))
            found = faults_of(changed(EXAMPLES["TrainingJob"], key, text.format(entries)))
            assert len(found) == faults
            assert all(f"has {most + 1} entries; it must have at most {most}" in fault.message for fault in found)


def test_a_sweep_counts_its_cells():
    (document,) = load_specs([SpecSource("sweep.yaml", EXAMPLES["Sweep"].encode())])
    assert isinstance(document.resource, Sweep)
    assert document.resource.spec.matrix.combinations == 4
    assert document.resource.spec.cells == 8


@pytest.mark.parametrize(("repetitions", "fits"), [(1, True), (64, True), (65, False), (0, False)])
def test_a_sweep_has_up_to_64_repetitions(repetitions, fits):
    assert (faults_of(changed(EXAMPLES["Sweep"], "repetitions: 2", f"repetitions: {repetitions}")) == ()) is fits


@pytest.mark.parametrize(
    ("tasks", "repetitions", "fits"), [(100, 1, True), (1, 100, True), (50, 2, True), (101, 1, False), (34, 3, False), (100, 2, False)]
)
def test_a_batch_holds_at_most_a_hundred_cases(tasks, repetitions, fits):
    text = changed(changed(EXAMPLES["AgentGroup"], "tasks: 50", f"tasks: {tasks}"), "repetitions: 2", f"repetitions: {repetitions}")
    assert (faults_of(text) == ()) is fits


@pytest.mark.parametrize("pattern", ["(" * 999 + ")" * 999, "a{99999999999}", "[[a]", "(?P<x", "\\", "x" * 1001, "(?i"])
def test_hostile_patterns_are_told_or_taken_and_never_escape(pattern):
    text = changed(EXAMPLES["Environment"], "'answer: (\\d+)'", f"'{pattern}'")
    for fault in faults_of(text):
        assert fault.path == "spec.grader.answerPattern"
        assert len(fault.message) < 300
