"""Estimates of sandboxes, jobs, training jobs and sweeps."""

from decimal import Decimal
from typing import Any

import pytest

from nodus_tui.contract.estimates import KindEstimate
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.registry import KINDS
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.statistics.hardware_rates import DEFAULT_RATES, SECONDS_PER_TASK, rates_with
from nodus_tui.statistics.kind_estimate import (
    MeasuredSpeed,
    estimate_job,
    estimate_kind,
    estimate_sandbox,
    estimate_sweep,
    estimate_training_job,
)


def document(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "it"}, "spec": spec}


def job(**spec: Any) -> Job:
    return Job.model_validate(document({"command": ["true"], "maxCostUSD": "10.00", **spec}))


def sandbox(**spec: Any) -> Sandbox:
    return Sandbox.model_validate(document({"maxCostUSD": "10.00", **spec}))


def training(tasks: list[str] | None = None, **spec: Any) -> TrainingJob:
    parameters = {**({"tasks": tasks} if tasks else {}), **spec.pop("parameters", {})}
    model = {"uri": "hf://organisation/name@commit"}
    return TrainingJob.model_validate(
        document({"runtime": "nodus/evaluate", "model": model, "parameters": parameters, "maxCostUSD": "10.00", **spec})
    )


def sweep(cap: str, cell_cap: str, matrix: dict[str, Any], repetitions: int = 1) -> Sweep:
    template = {"kind": "Job", "spec": {"command": ["true"], "maxCostUSD": cell_cap}}
    return Sweep.model_validate(document({"maxCostUSD": cap, "template": template, "matrix": matrix, "repetitions": repetitions}))


def test_a_job_costs_its_timeout_at_its_rate_where_that_is_below_its_cap() -> None:
    made = estimate_job(job(hardware="L4", timeout="2h"), rates=DEFAULT_RATES)
    assert (made.ceiling_usd, made.longest_seconds, made.notes) == (Decimal("0.86"), Decimal(7200), ())


def test_a_job_whose_cap_ends_it_early_says_so() -> None:
    made = estimate_job(job(hardware="H100 SXM", accelerators=8, timeout="24h"), rates=DEFAULT_RATES)
    assert made.ceiling_usd == Decimal("10.00")
    assert made.notes == ("All 24h of its time would cost $499.20; its cap of $10.00 ends it before.",)


def test_a_job_that_serves_may_be_started_again_up_to_its_cap() -> None:
    made = estimate_job(job(timeout="1h", serve={"family": "qwen", "port": 8000}), rates=DEFAULT_RATES)
    assert made.ceiling_usd == Decimal("10.00")
    assert made.notes[-1] == "It serves qwen and may be started more than once: its cap bounds all of its time together."


def test_a_job_on_hardware_without_a_rate_is_bounded_by_its_cap_alone() -> None:
    made = estimate_job(job(hardware="Abacus"), rates=DEFAULT_RATES)
    assert made.ceiling_usd == Decimal("10.00")
    assert "no rate for Abacus" in made.notes[0]


def test_a_note_shows_control_characters_of_a_name_as_escapes() -> None:
    assert "no rate for L4\\x1b[2J," in estimate_job(job(hardware="L4\x1b[2J"), rates=DEFAULT_RATES).notes[0]


def test_a_cpu_slice_larger_than_the_priced_one_counts_as_so_many_of_it() -> None:
    made = estimate_job(job(cpus=8), rates=DEFAULT_RATES)
    assert made.ceiling_usd == Decimal("1.44")
    assert "8 vCPU and 1 GiB count as 8 of them" in made.notes[0]


def test_a_sandbox_costs_its_lifetime_at_its_rate() -> None:
    made = estimate_sandbox(sandbox(maxLifetime="100h"), rates=DEFAULT_RATES)
    assert (made.ceiling_usd, made.longest_seconds) == (Decimal("0.75"), Decimal(360_000))


@pytest.mark.parametrize(
    ("accelerator", "per_task", "for_2000"),
    [("A100-80G", "0.17", 340), ("H100", "0.11", 220), ("L40S", "0.25", 500), ("RTX-4090", "0.3", 600), ("RTX-A6000", "0.33", 660)],
)
def test_training_job_seconds_per_task_by_accelerator(accelerator: str, per_task: str, for_2000: int) -> None:
    assert SECONDS_PER_TASK[accelerator] == Decimal(per_task)
    spec = training(["arc_easy", "boolq"], parameters={"limit": 1000}, resources={"hardware": [accelerator]})
    made = estimate_training_job(spec, rates=DEFAULT_RATES)
    assert made.tasks == 2000
    assert made.seconds_by_hardware == {accelerator: for_2000}


def test_a_training_job_prices_the_time_where_the_list_has_the_hardware() -> None:
    spec = training(["arc_easy"], parameters={"limit": 36_000}, resources={"hardware": ["L40S", "RTX-4090"], "accelerators": 2})
    made = estimate_training_job(spec, rates=rates_with({"L40S": Decimal("0.80")}))
    # 9,000 seconds on one device, half of that on two, which together cost twice as much.
    assert made.seconds_by_hardware == {"L40S": 4500, "RTX-4090": 5400}
    assert made.usd_by_hardware == {"L40S": Decimal("2.00")}
    assert made.ceiling_usd == Decimal("10.00")
    assert made.notes == (
        "The price list has no rate for RTX-4090, so only the cap bounds the cost; set one under `rates` in the configuration.",
    )


def test_a_training_job_with_every_rate_known_costs_its_timeout_on_the_dearest() -> None:
    spec = training(["arc_easy"], parameters={"limit": 10}, resources={"hardware": ["L40S", "H100"]}, timeout="2h")
    made = estimate_training_job(spec, rates={"L40S": Decimal("0.80"), "H100": Decimal("2.60")})
    assert (made.ceiling_usd, made.notes) == (Decimal("5.20"), ())


def test_what_was_measured_of_this_model_comes_first_then_what_is_published_then_what_was_measured_of_another() -> None:
    spec = training(["arc_easy"], parameters={"limit": 100}, resources={"hardware": ["L40S", "H100", "CPU", "L4"]})
    own = MeasuredSpeed(Decimal("0.5"), 640, spec.spec.model.uri.partition("@")[0])
    other = MeasuredSpeed(Decimal(2), 30, "hf://somebody/else")
    made = estimate_training_job(spec, rates=DEFAULT_RATES, measured={"L40S": own, "H100": other, "CPU": other})
    assert made.seconds_by_hardware == {"L40S": 50, "H100": 11, "CPU": 200}
    assert [note for note in made.notes if "measured here" in note] == [
        f"0.5 s a task were measured here on L40S, over 640 samples of {own.model}.",
        "2 s a task were measured here on CPU, over 30 samples of hf://somebody/else.",
    ]
    assert "How fast L4 scores is not known." in made.notes


def test_a_training_job_on_a_cpu_costs_its_slices() -> None:
    spec = training(["arc_easy"], parameters={"limit": 3600}, resources={"hardware": ["CPU"], "memoryGiB": 8}, timeout="1h")
    speed = MeasuredSpeed(Decimal(1), 10, spec.spec.model.uri.partition("@")[0])
    made = estimate_training_job(spec, rates=rates_with({"CPU": Decimal("0.01")}), measured={"CPU": speed})
    assert (made.usd_by_hardware, made.ceiling_usd) == ({"CPU": Decimal("0.08")}, Decimal("0.08"))


def test_a_training_job_without_limit_has_no_time_and_says_why() -> None:
    made = estimate_training_job(training(["arc_easy"]), rates=DEFAULT_RATES)
    assert (made.tasks, made.seconds_by_hardware) == (None, {})
    assert "Each benchmark task is scored whole" in made.notes[0]


@pytest.mark.parametrize(
    ("limit", "held", "expected"), [(None, None, None), (None, 500, 500), (100, None, 100), (100, 500, 100), (900, 500, 500)]
)
def test_a_training_job_over_an_environment_scores_the_smaller_of_limit_and_size(
    limit: int | None, held: int | None, expected: int | None
) -> None:
    spec = training(environment="own/tasks@1.0", parameters={} if limit is None else {"limit": limit})
    assert estimate_training_job(spec, rates=DEFAULT_RATES, environment_tasks=held).tasks == expected


def test_a_training_job_longer_than_its_timeout_or_of_unknown_speed_says_so() -> None:
    spec = training(["arc_easy"], parameters={"limit": 1000}, resources={"hardware": ["L40S", "H100", "L4"]}, timeout="2m")
    notes = estimate_training_job(spec, rates={"L40S": Decimal(1), "H100": Decimal(1), "L4": Decimal(1)}).notes
    assert notes == ("How fast L4 scores is not known.", "On L40S it takes longer than its timeout of 2m: raise the timeout.")


def test_a_sweep_with_room_for_every_cell_costs_its_cells_caps() -> None:
    made = estimate_sweep(sweep("100.00", "2.00", {"accelerators": ["L4", "H100 SXM"]}, repetitions=3))
    assert (made.cells, made.cells_sure_to_start, made.ceiling_usd, made.notes) == (6, 6, Decimal("12.00"), ())


def test_a_sweep_with_too_small_a_cap_says_how_many_cells_start() -> None:
    made = estimate_sweep(sweep("5.00", "2.00", {"accelerators": ["L4", "H100 SXM"]}, repetitions=3))
    assert (made.cells_sure_to_start, made.ceiling_usd) == (2, Decimal("5.00"))
    assert made.notes[0].endswith("raise maxCostUSD to $12.00 to give every cell room.")


def test_every_kind_with_an_estimate_is_dispatched_and_no_other() -> None:
    resources = [sandbox(), job(), training(["arc_easy"]), sweep("5.00", "2.00", {})]
    made = [estimate_kind(each, rates=DEFAULT_RATES) for each in resources]
    assert [each.kind for each in made if each] == ["Sandbox", "Job", "TrainingJob", "Sweep"]
    agent = KINDS["Agent"].model_validate(document({"model": {"families": ["haiku"]}}))
    assert estimate_kind(agent, rates=DEFAULT_RATES) is None


def test_an_estimate_of_a_kind_as_json_has_money_as_text_and_seconds_as_numbers() -> None:
    spec = training(["arc_easy"], parameters={"limit": 100}, resources={"hardware": ["A100-80G", "L40S"]})
    made = estimate_training_job(spec, rates=rates_with({"L40S": Decimal("0.80")}))
    shown = made.to_document()
    assert shown["secondsByHardware"] == {"A100-80G": 17, "L40S": 25}
    assert shown["usdByHardware"] == {"L40S": "0.0056"}
    assert shown["ceilingUSD"] == "10.00"
    assert KindEstimate.model_validate(shown) == made
