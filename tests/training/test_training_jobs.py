"""TrainingJobs from end to end over a STAND-IN for the harness: what it is told, what it must not know, and how an attempt ends."""

import asyncio
import hashlib
import json
import os
from decimal import Decimal
from typing import Any

import psutil
import pytest
from training_place import TrainingPlace, log_of, output, until

from local_backend.jobs.order import read_report
from local_backend.jobs.process_tree import marked
from local_backend.own_code import own_code
from local_backend.training.command import Fetched, Places, harness_arguments, launched
from local_backend.training.order import EvaluationOrder, OrderedModel
from nodus_tui.contract.actions import Delete, ExtendCap, Kill, RetryJob
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.resources.training_job import TrainingJobStatus

pytestmark = pytest.mark.timeout(60)


async def seen(backend: Backend, name: str = "score") -> Any:
    """What the stand-in saw of its surroundings."""
    return (await output(backend, "harness/results_now.json", name))["seen"]


async def listed(backend: Backend, status: TrainingJobStatus, name: str = "score") -> set[str]:
    """The files of the manifest, each of which is what was kept under its name."""
    kept = {each.path.removeprefix("outputs/"): each.sha256 for each in status.outputs}
    found = {each["path"]: each["sha256"] for each in (await output(backend, "manifest.json", name))["files"]}
    assert found == {path: kept[path] for path in found}
    return set(found)


async def test_every_parameter_of_a_benchmark_reaches_the_harness_and_nothing_else_does(
    place: TrainingPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    place.sums()
    place.words()
    before = {path: path.stat().st_mtime_ns for path in [*place.model.rglob("*"), *place.tasks.rglob("*")]}
    parameters = {"batchSize": 16, "limit": 3, "numFewshot": 2, "seed": 7}
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums", "words", parameters=parameters))
        status = await until(backend)
        assert (status.phase, status.progress) == ("Succeeded", 1.0), await log_of(backend)
        told = await seen(backend)
        given = told["arguments"]
        wanted = {"tasks": ["sums", "words"], "batch_size": 16, "limit": 3.0, "num_fewshot": 2, "seed": 7, "device": "cpu", "samples": None}
        assert {name: given[name] for name in wanted} == wanted
        assert given["model_args"] == {"pretrained": str(place.model)}
        assert not given["apply_chat_template"]
        scores = [(each.task, each.metric, each.value, each.standard_error, each.samples) for each in status.scores]
        assert scores == [("sums", "acc", 0.5, 0.1, 3), ("words", "acc", 0.5, 0.1, 3)]
        assert "|sums|      1|none  |     0|acc|" in await log_of(backend), "its own table of benchmarks is shown"
        # No network and no key, and nothing is written where the model and the tasks are.
        assert told["interfaces"] == ["lo"]
        assert not [name for name in told["environ"] if "TOKEN" in name or "KEY" in name]
        assert {told["environ"][name] for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")} == {"1"}
        # Where there are accelerators the harness would spread the model over them, whatever device it is told.
        assert told["environ"]["CUDA_VISIBLE_DEVICES"] == ""
        assert before == {path: path.stat().st_mtime_ns for path in [*place.model.rglob("*"), *place.tasks.rglob("*")]}
        # What was scored is written down, and every file has its digest.
        provenance = await output(backend, "provenance.json")
        assert provenance["offline"] == "network namespace"
        config = hashlib.sha256((place.model / "config.json").read_bytes()).hexdigest()
        assert provenance["model"]["files"]["config.json"] == config
        assert provenance["harness"] == {"name": "lm-evaluation-harness", "version": "0.4.13"}
        assert (provenance["versions"]["torch"], provenance["seed"], provenance["hardware"]["name"]) == ("2.13.0", 7, "CPU")
        assert provenance["tasks"]["sums"] == {"version": "1.0", "samples": 3, "of": 20, "hash": None}
        files = await listed(backend, status)
        assert {"results.json", "provenance.json", "harness/results_now.json"} <= files
        assert {f"outputs/{each}" for each in files} == {each.path for each in status.outputs} - {"outputs/manifest.json"}
        # It is one of its kind, and goes with everything that it left.
        assert (await backend.apply(place.benchmark("sums", "words", parameters=parameters))).documents[0].outcome == "unchanged"
        assert [each.name for each in (await backend.list("TrainingJob")).items] == ["score"]
        assert [each.name for each in (await backend.snapshot()).training_jobs] == ["score"]
        assert not (place.folder / "home" / "jobs" / "score" / "work" / "cache").exists()
        await backend.act(Delete(kind="TrainingJob", name="score"))
        assert not (place.folder / "home" / "jobs" / "score").exists()
        assert not (await backend.list("TrainingJob")).items


async def test_the_filter_keeps_samples_by_their_fields_before_they_are_counted(place: TrainingPlace) -> None:
    place.sums()
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums", parameters={"taskFilter": {"difficulty": "easy"}, "limit": 4}))
        status = await until(backend)
        given = (await seen(backend))["arguments"]
        assert (given["samples"], given["limit"]) == ({"sums": [1, 3, 5, 7]}, None)
        assert status.scores[0].samples == 4
        log = await log_of(backend)
        assert ("STAND-IN, rank 0" in log, "not a git repository" in log) == (True, False), "what is no failure is not told like one"


async def test_a_filter_that_keeps_nothing_is_told(place: TrainingPlace) -> None:
    place.sums()
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums", parameters={"taskFilter": {"difficulty": True}}))
        status = await until(backend)
        assert (status.phase, status.message) == ("Failed", "it exited with 1: no sample of these tasks has the values of taskFilter")
        assert (await output(backend, "results.json"))["complete"] is False


async def test_several_folders_of_tasks_and_several_devices(place: TrainingPlace) -> None:
    """Two processes by torchrun, as two accelerators would have them: the command is what is tried, for there is no accelerator here."""
    place.sums()
    other = place.folder / "other"
    other.mkdir()
    order = EvaluationOrder(
        job="score",
        workspace="",
        uri="",
        python=str(place.python),
        model=OrderedModel("local", str(place.model)),
        parameters={"batchSize": 2},
        tasks=("sums",),
        include_paths=(str(place.tasks), str(other)),
        devices=2,
    )
    places = Places(place.folder)
    (place.folder / "includes.json").write_text(json.dumps({"include_path": list(order.include_paths)}))
    command = launched(order.python, 2, harness_arguments(order, Fetched(str(place.model), ("sums",)), places, device="cuda"))
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()
    assert process.returncode == 0, said
    # Both write to one pipe, and their lines may stand in each other.
    assert all(f"STAND-IN, rank {rank}".encode() in said for rank in (0, 1))
    assert (place.folder / "cache" / "requests_rank1.db").exists()
    assert json.loads((place.folder / "harness" / "model" / "results_now.json").read_text())["seen"]["arguments"]["device"] == "cuda"


# How an attempt ends, and the next.


async def test_killed_midway_it_keeps_its_answers_and_a_retry_goes_on_from_them(place: TrainingPlace) -> None:
    place.sums(20)
    place.behave(hold_after=8, hold=str(place.folder / "go"))
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums"))
        await until(backend, lambda status: (status.progress or 0) >= 0.4)
        await backend.act(Kill(kind="TrainingJob", name="score"))
        first = await until(backend)
        assert (first.phase, first.reason, first.progress) == ("Cancelled", "Killed", 0.4)
        assert (await output(backend, "results.json"))["complete"] is False
        assert {"results.json", "provenance.json"} <= await listed(backend, first)
        (place.folder / "go").touch()
        outcome = await backend.act(RetryJob(kind="TrainingJob", name="score"))
        assert "attempt 2" in outcome.message
        second = await until(backend)
        assert (second.phase, second.attempt, second.scores[0].samples) == ("Succeeded", 2, 20)
        assert "Cached requests: 8, Requests remaining: 12" in await log_of(backend)
        assert (await output(backend, "provenance.json"))["answersFromEarlierAttempts"] == 8
        assert second.cost_usd > first.cost_usd


async def test_a_harness_that_is_killed_from_outside_fails_with_what_it_may_have_been_and_a_retry_goes_on(
    place: TrainingPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/of/the/user")
    place.sums(20)
    place.behave(hold_after=8, hold=str(place.folder / "go"))
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums"))
        await until(backend, lambda status: (status.progress or 0) >= 0.4)
        folder = place.folder / "home" / "jobs" / "score"
        report = read_report(folder, (folder / "token").read_text())
        assert report is not None
        (runner,) = psutil.Process(report.pid).children()
        (harness,) = runner.children()
        # The runner and its graders are found where this program is; the harness's Python has nothing of it.
        assert runner.environ()["PYTHONPATH"] == own_code(os.environ)
        assert harness.environ()["PYTHONPATH"] == str(place.folder / "stand-in")
        harness.kill()
        first = await until(backend)
        assert (first.phase, first.reason, first.exit_code) == ("Failed", "NonZeroExit", 1)
        assert "the harness was ended by signal 9; it may have run out of memory (resources.memoryGiB)" in first.message
        assert {"results.json", "provenance.json"} <= await listed(backend, first)
        assert marked(report.token) == set()
        (place.folder / "go").touch()
        await backend.act(RetryJob(kind="TrainingJob", name="score"))
        assert (await until(backend)).phase == "Succeeded"
        assert (await output(backend, "provenance.json"))["answersFromEarlierAttempts"] == 8


async def test_its_cap_ends_it_midway_and_a_higher_one_lets_it_go_on_under_one_account(place: TrainingPlace) -> None:
    place.sums(20)
    place.behave(hold_after=5, hold=str(place.folder / "go"), ignores_term=True)
    async with place.backend() as backend:
        # A busy machine may take longer than a small cap pays for to come to the first answers: a larger one finds it midway.
        for cap in map(Decimal, ("0.08", "0.20", "0.40")):
            name = f"under-{cap}".replace(".", "-")
            await backend.apply(place.benchmark("sums", name=name, maxCostUSD=str(cap)))
            first = await until(backend, name=name)
            assert first.reason == "MaxCostReached"
            assert first.cost_usd <= cap
            if first.progress == 0.25:
                break
        assert {"results.json", "provenance.json"} <= await listed(backend, first, name)
        (place.folder / "go").touch()
        raised = first.cost_usd + Decimal("0.60")
        await backend.act(ExtendCap(kind="TrainingJob", name=name, cap_usd=raised))
        second = await until(backend, name=name)
        assert (second.phase, second.attempt, second.cap_usd) == ("Succeeded", 2, raised)
        assert first.cost_usd < second.cost_usd <= raised
        assert (await output(backend, "provenance.json", name))["answersFromEarlierAttempts"] == 5


async def test_answers_of_another_model_are_never_taken_for_this_ones(place: TrainingPlace) -> None:
    place.sums(10)
    place.behave(hold_after=4, hold=str(place.folder / "go"))
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums"))
        await until(backend, lambda status: (status.progress or 0) >= 0.4)
        await backend.act(Kill(kind="TrainingJob", name="score"))
        await until(backend)
        (place.model / "config.json").write_text('{"other": "weights"}', encoding="utf-8")
        (place.folder / "go").touch()
        await backend.act(RetryJob(kind="TrainingJob", name="score"))
        await until(backend)
        assert (await output(backend, "provenance.json"))["answersFromEarlierAttempts"] == 0


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (
            "torch.OutOfMemoryError: CUDA out of memory.",
            "it exited with 1: the harness ended with 1: torch.OutOfMemoryError: CUDA out of memory.",
        ),
        ("something odd", "it exited with 1: the harness ended with 1: something odd"),
    ],
)
async def test_why_the_harness_failed_is_told(place: TrainingPlace, raised: str, words: str) -> None:
    place.sums()
    place.behave(raises=raised)
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums"))
        status = await until(backend)
        assert (status.phase, status.reason, status.message) == ("Failed", "NonZeroExit", words)
        assert (await output(backend, "results.json"))["problem"] in words
        assert "traceback" not in (await log_of(backend)).lower().replace("traceback (most recent call last):\n  in a file", "")


async def test_a_task_that_is_nowhere_and_one_that_runs_what_a_model_writes_are_refused(place: TrainingPlace) -> None:
    place.sums(name="unsafe")
    whole = json.loads((place.tasks / "unsafe.yaml").read_text())
    (place.tasks / "unsafe.yaml").write_text(json.dumps({**whole, "unsafe_code": True}))
    async with place.backend() as backend:
        await backend.apply(place.benchmark("nowhere"))
        assert f"the harness has no task nowhere, and {place.tasks} has none of that name" in (await until(backend)).message
        await backend.apply(place.benchmark("unsafe", name="second"))
        assert "runs code that the model writes" in (await until(backend, name="second")).message


async def test_what_it_measured_stands_in_the_next_estimate(place: TrainingPlace) -> None:
    place.sums(40)
    place.behave(hold_after=20, hold=str(place.folder / "go"))
    async with place.backend() as backend:
        bundle = place.benchmark("sums", parameters={"limit": 40})
        (before,) = await backend.estimate(bundle, minutes_per_case=Decimal(1))
        assert before.to_document()["secondsByHardware"] == {}
        await backend.apply(bundle)
        await until(backend, lambda status: (status.progress or 0) >= 0.5)
        (place.folder / "go").touch()
        await until(backend)
        (after,) = await backend.estimate(bundle, minutes_per_case=Decimal(1))
        assert after.to_document()["secondsByHardware"]["CPU"] > 0
        assert any("measured here on CPU" in note for note in after.notes)


async def test_a_scheduler_that_comes_back_finds_it_and_its_progress(place: TrainingPlace) -> None:
    place.sums(20)
    place.behave(hold_after=8, hold=str(place.folder / "go"))
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums"))
        await until(backend, lambda status: (status.progress or 0) >= 0.4)
    (place.folder / "go").touch()
    async with place.backend() as backend:
        status = await until(backend)
        assert (status.phase, status.attempt, status.scores[0].samples) == ("Succeeded", 1, 20)
