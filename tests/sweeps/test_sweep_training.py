"""Sweeps over TrainingJobs, on a STAND-IN for the harness: what each cell is told, its scores beside the others', and another attempt."""

from pathlib import Path
from typing import Any

import pytest
from sweep_work import cell, sweep_document, sweep_in
from training_place import TrainingPlace, output, stand_in_python

from nodus_tui.contract.actions import RetryCells
from nodus_tui.contract.errors import NodusError

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def scoring(tmp_path: Path) -> TrainingPlace:
    """A folder with a task, and the stand-in."""
    place = TrainingPlace(tmp_path, stand_in_python(tmp_path))
    place.sums()
    return place


def training_sweep(place: TrainingPlace, *, repetitions: int = 1, **matrix: Any) -> dict[str, Any]:
    spec = place.document(parameters={"tasks": ["sums"], "limit": 4}, includePaths=["tasks"], maxCostUSD="2")["spec"]
    template = {"kind": "TrainingJob", "spec": spec}
    return sweep_document(template, cap="10", parallel=4, name="grid", repetitions=repetitions, **matrix)


async def test_each_cell_has_its_parameters_and_its_seed_and_its_scores_stand_beside_the_others(scoring: TrainingPlace) -> None:
    async with scoring.backend() as backend:
        await backend.apply(scoring.bundle(training_sweep(scoring, repetitions=2, parameters={"numFewshot": [2]})))
        status = await sweep_in(backend, "Completed")
        assert (status.failed, status.cost_usd > 0, status.spent_usd) == (0, True, status.cost_usd)
        first, second = (await backend.sweep_results("grid")).cells
        told = [(await output(backend, "harness/results_now.json", each.name))["seen"]["arguments"] for each in (first, second)]
        assert [each["num_fewshot"] for each in told] == [2, 2]
        assert told[1]["seed"] == told[0]["seed"] + 1
        assert [(score.task, score.metric) for each in (first, second) for score in each.scores] == [("sums", "acc")] * 2
        [kept] = {each.metadata.labels["nodus.dev/sweep"] for each in (await backend.list("TrainingJob")).items}
        assert kept == "grid"


async def test_a_cell_that_failed_is_tried_again_and_what_it_cost_stays_under_the_cap(scoring: TrainingPlace) -> None:
    scoring.behave(raises="OSError: the model cannot be read")
    async with scoring.backend() as backend:
        await backend.apply(scoring.bundle(training_sweep(scoring, parameters={"numFewshot": [0]})))
        status = await sweep_in(backend, "Failed")
        first = (await cell(backend, 1)).cost_usd
        assert (status.failed, status.spent_usd) == (1, first)
        scoring.behave()
        await backend.act(RetryCells(name="grid"))
        status = await sweep_in(backend, "Completed")
        again = await cell(backend, 1)
        assert again.scores
        assert again.cost_usd > first
        assert status.spent_usd == again.cost_usd


@pytest.mark.parametrize(
    ("matrix", "path"),
    [
        ({"parameters": {"batchSize": [1, 0]}}, "spec.matrix.parameters.batchSize[1]"),
        ({"parameters": {"maxCompletionLength": [64]}}, "spec.matrix.parameters.maxCompletionLength[0]"),
    ],
)
async def test_what_no_job_could_score_is_told_where_it_stands_in_the_sweep(
    scoring: TrainingPlace, matrix: dict[str, Any], path: str
) -> None:
    async with scoring.backend(role="look") as backend:
        with pytest.raises(NodusError) as refused:
            await backend.apply(scoring.bundle(training_sweep(scoring, **matrix)), dry_run=True)
    assert [fault.path for fault in refused.value.faults] == [path]


async def test_hardware_that_this_machine_has_not_is_refused_for_the_whole_sweep(scoring: TrainingPlace) -> None:
    async with scoring.backend() as backend:
        with pytest.raises(NodusError, match=r"its cells are not run here: .*grid-2 .* 1 × H999"):
            await backend.apply(scoring.bundle(training_sweep(scoring, accelerators=["CPU", "H999"])))
        assert not (await backend.list("Sweep")).items
