"""TrainingJobs on the real lm-evaluation-harness, offline, on this machine's processors: few starts of it, for each takes ten seconds."""

import asyncio
import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import psutil
import pytest
from docker_engines import user_engine
from stand_in_hub import COMMIT, REPOSITORY, hub
from training_place import TrainingPlace, log_of, output, training_job, until

from local_backend.backend import LocalBackend
from local_backend.jobs.order import read_report
from local_backend.models.local_server import LOCAL_MODEL, local_model_problem, local_model_server
from local_backend.training.runtime import find, look
from nodus_tui.contract.actions import ExtendCap, Kill, RetryJob
from nodus_tui.contract.configuration import EvaluateSettings

pytestmark = pytest.mark.timeout(240)

EXAMPLE_TASKS = Path(__file__).parents[2] / "examples" / "training" / "tasks"
ARITHMETIC = "nodus/arithmetic-v2@2.0.0"


@pytest.fixture(scope="module")
def python() -> Path:
    found = find(EvaluateSettings(), os.environ)
    if found is None:
        assert not os.environ.get("CI"), "CI must have the harness: scripts/evaluate_environment"
        pytest.skip("lm-evaluation-harness is not here: scripts/evaluate_environment makes its environment")
    return Path(found.python)


@pytest.fixture(scope="module")
def model(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama, saved on this machine."""
    folder = tmp_path_factory.mktemp("model") / "tiny, random=llama"
    subprocess.run([python, Path(__file__).parent / "tiny_model.py", folder], check=True, capture_output=True)
    return folder


@pytest.fixture
def real(tmp_path: Path, python: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> TrainingPlace:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    return TrainingPlace(tmp_path, python, model)


async def test_what_is_here_says_its_versions(python: Path) -> None:
    fact = await look(EvaluateSettings(python=str(python)), os.environ)
    assert (fact.harness, fact.problem) == ("0.4.13", "")
    assert fact.torch.startswith("2.13.0")
    # It is none of ours: this process has neither.
    assert not {"lm_eval", "torch", "transformers"} & set(sys.modules)


async def test_benchmark_tasks_of_ones_own_are_scored_offline(real: TrainingPlace) -> None:
    """The example's among them, whose data a Python file beside it gives."""
    real.sums()
    real.words()
    parameters = {"batchSize": 4, "limit": 6, "numFewshot": 1, "seed": 3, "taskFilter": {"difficulty": "easy"}}
    async with real.backend() as backend:
        folders = {"includePaths": ["tasks", str(EXAMPLE_TASKS)]}
        await backend.apply(real.benchmark("sums", "words", "capitals", parameters=parameters, **folders))
        status = await until(backend)
        assert (status.phase, status.progress) == ("Succeeded", 1.0), await log_of(backend)
        scores = {(each.task, each.metric): each for each in status.scores}
        assert set(scores) == {("sums", "acc"), ("words", "exact_match"), ("capitals", "acc")}
        assert {each.samples for each in scores.values()} == {6}
        acc = scores["sums", "acc"]
        assert acc.standard_error is not None
        # The harness's error of a mean of six, against the formula.
        assert acc.standard_error == pytest.approx((acc.value * (1 - acc.value) / 5) ** 0.5)
        results, provenance = await output(backend, "results.json"), await output(backend, "provenance.json")
        assert results["tasks"]["sums"]["fewshot"] == 1
        assert (provenance["tasks"]["sums"]["samples"], provenance["tasks"]["sums"]["of"]) == (6, 20)
        assert len(provenance["tasks"]["sums"]["hash"]) == 64
        assert provenance["model"]["parameters"] == 37_984
        assert provenance["offline"] == "network namespace"
        assert {each.path for each in status.outputs if "harness/samples_" in each.path}
    assert sorted(each.suffix for each in EXAMPLE_TASKS.iterdir()) == [".jsonl", ".py", ".yaml"]


async def test_held_out_tasks_killed_midway_are_gone_on_with_from_the_harness_own_cache(
    real: TrainingPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a model that is fetched first, and is there for the second attempt although the hub has gone."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    parameters = {"limit": 20, "seed": 1, "evaluationBatchSize": 1, "maxCompletionLength": 64, "taskFilter": {"difficulty": "easy"}}
    async with real.backend() as backend:
        fetched = {"model": {"uri": f"hf://{REPOSITORY}@{COMMIT}"}, "resources": {"hardware": ["CPU"], "cpus": 1}}
        with hub(real.model) as there:
            monkeypatch.setenv("HF_ENDPOINT", there.url)
            await backend.apply(real.bundle(real.document(environment=ARITHMETIC, parameters=parameters, **fetched)))
            await until(backend, lambda status: (status.progress or 0) > 0.02)
            await backend.act(Kill(kind="TrainingJob", name="score"))
            first = await until(backend)
        assert (first.phase, first.reason) == ("Cancelled", "Killed")
        assert sorted(there.files) == sorted(each.name for each in real.model.iterdir())
        assert "Bearer hf_secret" in there.tokens
        await backend.act(RetryJob(kind="TrainingJob", name="score"))
        second = await until(backend)
        assert second.phase == "Succeeded", await log_of(backend)
        provenance = await output(backend, "provenance.json")
        assert 0 < provenance["answersFromEarlierAttempts"] < 20
        assert provenance["model"]["commit"] == COMMIT
        assert set(provenance["model"]["files"]) == set(there.files)
        assert f"commit {COMMIT} was fetched before" in " ".join(second.notes)
        assert (provenance["offline"], "hf_secret" in json.dumps(provenance)) == ("network namespace", False)
        found = (await output(backend, "results.json"))["environment"]
        assert found["coverage"]["total"] == found["coverage"]["scored"] == len(found["results"]) == 20
        by_metric = {each.metric: each for each in second.scores}
        assert (by_metric["coverage"].value, by_metric["passRate"].samples) == (1.0, 20)
        assert second.cost_usd > first.cost_usd


async def until_it_scores(backend: LocalBackend, cap: Decimal) -> Decimal:
    """How long loading takes is the machine's affair: until there are answers, the cap is kept some seconds ahead. Gives the cap."""
    while True:
        _, status = await training_job(backend)
        if status.phase == "Running" and (status.progress or 0) > 0.02:
            return cap
        if cap - status.cost_usd < Decimal("0.06"):
            cap += Decimal("0.05")
            await backend.act(ExtendCap(kind="TrainingJob", name="score", cap_usd=cap))
        await asyncio.sleep(0.1)


async def test_its_cap_ends_it_midway_and_a_higher_one_goes_on_from_the_harness_own_cache(real: TrainingPlace) -> None:
    """A cent pays for a second."""
    real.words(20, tokens=64)
    async with real.backend() as backend:
        await backend.apply(real.benchmark("words", maxCostUSD="0.12"))
        cap = await until_it_scores(backend, Decimal("0.12"))
        # From here on it answers no more, so that it is the cap that ends it and not its last answer.
        folder = real.folder / "home" / "jobs" / "score"
        report = read_report(folder, (folder / "token").read_text())
        assert report is not None
        (runner,) = psutil.Process(report.pid).children()
        for each in runner.children(recursive=True):
            each.suspend()
        first = await until(backend)
        assert (first.phase, first.reason) == ("Failed", "MaxCostReached"), await log_of(backend)
        assert cap / 2 < first.cost_usd <= cap
        kept = {each.path for each in first.outputs}
        assert {"outputs/results.json", "outputs/provenance.json", "outputs/manifest.json"} <= kept, "its runner came to a graceful end"
        assert (await output(backend, "results.json"))["complete"] is False
        await backend.act(ExtendCap(kind="TrainingJob", name="score", cap_usd=cap + 5))
        second = await until(backend)
        assert (second.phase, second.attempt) == ("Succeeded", first.attempt + 1), await log_of(backend)
        assert [(each.task, each.samples) for each in second.scores] == [("words", 20)]
        assert 0 < (await output(backend, "provenance.json"))["answersFromEarlierAttempts"] <= 20
        assert first.cost_usd < second.cost_usd <= cap + 5


async def test_a_served_model_is_asked_through_the_chat_endpoint(real: TrainingPlace) -> None:
    if problem := local_model_problem():
        assert not os.environ.get("CI"), f"CI must have the local model: {problem}"
        pytest.skip(problem)
    async with local_model_server() as base_url:
        real.settings = f"models: [{{family: own, provider: openai, name: {LOCAL_MODEL}, baseURL: {base_url}, price: free}}]\n"
        async with real.backend() as backend:
            parameters = {"limit": 4, "seed": 42, "maxCompletionLength": 16}
            spec = real.document(model={"uri": "family://own"}, environment=ARITHMETIC, parameters=parameters)
            await backend.apply(real.bundle(spec))
            status = await until(backend)
            assert status.phase == "Succeeded", await log_of(backend)
            found = (await output(backend, "results.json"))["environment"]
            assert found["coverage"]["scored"] == 4
            provenance = await output(backend, "provenance.json")
            assert provenance["model"] == {
                "uri": "family://own", "family": "own", "name": LOCAL_MODEL, "baseURL": base_url, "dialect": "chat"
            }  # fmt: skip
            assert (provenance["offline"], provenance["chatTemplate"]) == (None, True)


@pytest.fixture
def machine_folders(python: Path) -> set[str]:
    """The harness's environment, its Python, and the libraries that compiled packages need beside those of the base image."""
    known = subprocess.check_output(["ldconfig", "-p"], text=True).splitlines()
    libraries = Path(next(words[-1] for words in map(str.split, known) if words[0] == "libstdc++.so.6")).parent
    return {str(python.parent.parent), str(python.resolve().parent.parent), str(libraries)}


async def test_the_real_harness_is_asked_in_an_image(real: TrainingPlace, machine_folders: set[str]) -> None:
    """The image is made of this machine's own files; the harness's environment is mounted into it, for it is too large to be copied."""
    async with user_engine() as engine:
        digest = (await engine.prepare(None)).partition("@sha256:")[2]
    real.evaluate = {
        "image": f"nodus/base:{digest}",
        "mounts": [{"source": each, "target": each} for each in machine_folders],
    }
    real.sums()
    async with real.backend() as backend:
        await backend.apply(real.benchmark("sums", parameters={"limit": 6, "batchSize": 4}))
        status = await until(backend)
        assert (status.phase, status.progress) == ("Succeeded", 1.0), await log_of(backend)
        assert [(each.metric, each.samples) for each in status.scores] == [("acc", 6)]
        provenance = await output(backend, "provenance.json")
        assert (provenance["offline"], provenance["model"]["parameters"]) == ("container without a network", 37_984)
        assert provenance["image"] == f"nodus/base:{digest}"
