"""Cells: every combination once, in a fixed order, under fixed names, each with its own spec; and faults told where they come from."""

from collections.abc import Iterable
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweep_specs import GROUP, JOB, TRAINING, sweep, training

from local_backend.sweeps.cells import CellFaultsError, axes_of, cell_names, cells_of
from nodus_tui.contract.resources.agent_group import AgentGroupSpec
from nodus_tui.contract.resources.job import JobSpec
from nodus_tui.contract.resources.sweep import Scalar, scalar_text

scalars = st.one_of(st.booleans(), st.integers(-5, 5), st.text("abc", max_size=3), st.sampled_from([0.5, 1.5]))
several = st.lists(scalars, min_size=1, max_size=3, unique_by=scalar_text)


def texts(names: Iterable[str], values: Iterable[Scalar]) -> tuple[tuple[str, str], ...]:
    """Values by which false and 0 differ."""
    return tuple((name, scalar_text(value)) for name, value in zip(names, values, strict=True))


@given(
    accelerators=st.lists(st.sampled_from(["L4", "H100 SXM", "CPU"]), max_size=3, unique=True),
    parameters=st.dictionaries(st.sampled_from(["ONE", "TWO", "THREE"]), several, max_size=3),
    shards=st.integers(1, 4),
    repetitions=st.integers(1, 3),
)
def test_every_combination_is_a_cell_once(accelerators: list[str], parameters: dict[str, list[Any]], shards: int, repetitions: int) -> None:
    made = sweep(JOB, matrix={"accelerators": accelerators, "parameters": parameters, "shards": shards}, repetitions=repetitions)
    cells = cells_of("sweep", made.spec)
    axes = axes_of(made.spec)
    wanted = {texts(axes, values) for values in product(*axes.values())}
    assert len(cells) == made.spec.cells == len(wanted)
    assert {texts(cell.axes, cell.axes.values()) for cell in cells} == wanted
    assert [cell.name for cell in cells] == cell_names("sweep", len(cells))
    assert [cell.place for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert isinstance(cell.spec, JobSpec)
        assert cell.spec.hardware == cell.axes.get("accelerator", "CPU")
        assert cell.spec.env["MODE"] == "fast"
        assert all(cell.spec.env[name] == scalar_text(cell.axes[name]) for name in parameters)
        assert cell.spec.env.get("NODUS_SHARD") == (str(cell.axes["shard"]) if shards > 1 else None)
        assert cell.spec.env.get("NODUS_REPETITION") == (str(cell.axes["repetition"]) if repetitions > 1 else None)
    assert cells == cells_of("sweep", made.spec)


def test_names_are_in_the_order_of_the_alphabet() -> None:
    for count in (1, 9, 10, 99, 100, 1000):
        names = cell_names("big", count)
        assert names == sorted(names)
        assert len(set(names)) == count
    assert cell_names("big", 2) == ["big-1", "big-2"]
    assert cell_names("big", 64)[:2] == ["big-01", "big-02"]


@given(tasks=st.integers(1, 20), shards=st.integers(1, 12), repetitions=st.integers(1, 3))
def test_shards_are_disjoint_and_together_the_task_order(tasks: int, shards: int, repetitions: int) -> None:
    template = {**GROUP, "spec": {**GROUP["spec"], "evaluation": {**GROUP["spec"]["evaluation"], "tasks": tasks}}}
    made = sweep(template, matrix={"agents": ["plain", "thinker"], "shards": shards}, repetitions=repetitions)
    for agent in ("plain", "thinker"):
        for repetition in range(1, repetitions + 1):
            slices = []
            for cell in cells_of("sweep", made.spec):
                assert isinstance(cell.spec, AgentGroupSpec)
                assert cell.spec.evaluation is not None
                if cell.spec.agent == agent and cell.axes.get("repetition", 1) == repetition:
                    assert cell.spec.evaluation.seed == 7
                    slices.append(range(cell.spec.evaluation.skipped, cell.spec.evaluation.skipped + cell.spec.evaluation.tasks))
            assert [number for each in slices for number in each] == list(range(shards * tasks))


def test_variants_come_before_shards_and_shards_before_repetitions() -> None:
    made = sweep(matrix={"agents": ["plain", "thinker"], "shards": 2}, repetitions=2)
    order = [tuple(cell.axes.values()) for cell in cells_of("sweep", made.spec)]
    assert order == [
        *[("plain", 1, 1), ("thinker", 1, 1), ("plain", 2, 1), ("thinker", 2, 1)],
        *[("plain", 1, 2), ("thinker", 1, 2), ("plain", 2, 2), ("thinker", 2, 2)],
    ]
    assert list(axes_of(made.spec)) == ["agent", "shard", "repetition"]


def test_repetitions_of_a_training_job_count_its_seed_up() -> None:
    made = sweep(TRAINING, matrix={"accelerators": ["L40S", "H100"], "parameters": {"batchSize": [4, 8]}}, repetitions=3)
    cells = cells_of("sweep", made.spec)
    seeds = [training(cell.spec).parameters.seed for cell in cells]
    assert seeds == [5] * 4 + [6] * 4 + [7] * 4
    assert {(training(cell.spec).resources.hardware, training(cell.spec).parameters.batch_size) for cell in cells} == {
        (hardware, size) for hardware in (("L40S",), ("H100",)) for size in (4, 8)
    }


@pytest.mark.parametrize(
    ("template", "spec", "path", "message"),
    [
        (
            TRAINING,
            {"matrix": {"parameters": {"batchSize": [8, 0]}}},
            "matrix.parameters.batchSize.1",
            "batchSize is 0; it must be 1 to 1024",
        ),
        (
            TRAINING,
            {"matrix": {"parameters": {"batchSize": ["8"]}}},
            "matrix.parameters.batchSize.0",
            'batchSize is "8"; it must be a whole',
        ),
        (TRAINING, {"matrix": {"parameters": {"batchsize": [8]}}}, "matrix.parameters.batchsize.0", 'parameters has no field "batchsize"'),
        (TRAINING, {"matrix": {"parameters": {"seed": [1, 2]}}, "repetitions": 2}, "repetitions", "seed is an axis already"),
        (JOB, {"matrix": {"parameters": {"a b": [1]}}}, "matrix.parameters.a b.0", "is no environment variable's name"),
        (JOB, {"matrix": {"parameters": {"A": ["nul\0"]}}}, "matrix.parameters.A.0", "holds a NUL character"),
        (JOB, {"matrix": {"accelerators": ["L4", ""]}}, None, ""),
    ],
)
def test_a_value_that_its_kind_does_not_allow_is_told_where_it_stands(
    template: dict[str, Any], spec: dict[str, Any], path: str | None, message: str
) -> None:
    if path is None:
        with pytest.raises(ValueError, match="accelerators"):
            sweep(template, **spec)
        return
    made = sweep(template, **spec)
    with pytest.raises(CellFaultsError) as refused:
        cells_of("sweep", made.spec)
    (fault,) = refused.value.faults
    assert ".".join(map(str, fault.path)) == path
    assert message in fault.message


def test_a_fault_of_many_cells_is_told_once() -> None:
    made = sweep(TRAINING, matrix={"parameters": {"batchSize": [8, 0], "limit": [1, 2, 3, 0]}}, repetitions=8)
    with pytest.raises(CellFaultsError) as refused:
        cells_of("sweep", made.spec)
    assert len(refused.value.faults) == 2


@pytest.mark.parametrize(
    ("template", "spec", "message"),
    [
        (GROUP, {"matrix": {"accelerators": ["L4"]}}, "accelerators are an axis of a Job or TrainingJob template only"),
        (TRAINING, {"matrix": {"shards": 2}}, "or number the cells of a Job template"),
        (JOB, {"matrix": {"parameters": {"shard": [1]}}}, "a parameter cannot be called shard"),
        (JOB, {"matrix": {"parameters": {"A": [1, "1"]}}}, "stands twice on its axis"),
        (
            {**GROUP, "spec": {**GROUP["spec"], "evaluation": {**GROUP["spec"]["evaluation"], "shard": {"index": 1, "of": 2}}}},
            {"matrix": {"shards": 2}},
            "has a shard already",
        ),
        (
            {**GROUP, "spec": {**GROUP["spec"], "evaluation": {**GROUP["spec"]["evaluation"], "shard": {"index": 3, "of": 2}}}},
            {},
            "slice 3 of 2 does not exist",
        ),
    ],
)
def test_axes_that_a_template_cannot_have_are_refused(template: dict[str, Any], spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sweep(template, **spec)


def test_a_thousand_cells_are_made_in_their_order() -> None:
    made = sweep(JOB, matrix={"parameters": {"A": list(range(50))}, "shards": 20})
    cells = cells_of("sweep", made.spec)
    assert len(cells) == 1000
    assert all(before.name < after.name for before, after in pairwise(cells))
