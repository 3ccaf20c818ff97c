"""What of a TrainingJob is refused when it is applied, with its place in the spec and what to do."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from training_place import TrainingPlace

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.evaluation import requirements
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

MODELS = """
models:
  - {family: own, provider: openai, name: own-1, baseURL: "http://127.0.0.1:9/v1", price: free}
  - {family: paid, provider: openai, name: paid-1, baseURL: "http://127.0.0.1:9/v1", price: {inputPerMTok: "1", outputPerMTok: "2"}}
  - {family: claude, provider: anthropic, name: claude-1, baseURL: "http://127.0.0.1:9", price: free}
  - {family: made-up, provider: simulated, name: made-up-1}
"""

TASKS = {"tasks": ["sums"]}
OWN = {"model": {"uri": "family://own"}}
ARITHMETIC = "nodus/arithmetic-v2@2.0.0"


async def faults(backend: Backend, place: TrainingPlace, document: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(NodusError) as met:
        await backend.apply(place.bundle(document))
    assert met.value.code is ErrorCode.INVALID_SPEC, met.value.detail
    assert not (await backend.list("TrainingJob")).items
    return [(fault.path, fault.message) for fault in met.value.faults]


@pytest.mark.parametrize(
    ("spec", "path", "words"),
    [
        ({"model": {"uri": "s3://bucket/model"}, "parameters": TASKS}, "spec.model.uri", "no kind of model address"),
        ({"model": {"uri": "hf://a/b/c"}, "parameters": TASKS}, "spec.model.uri", "not hf://organisation/name@commit"),
        ({"model": {"uri": "hf://a/..@x"}, "parameters": TASKS}, "spec.model.uri", "not hf://organisation/name@commit"),
        ({"model": {"uri": "file:///nowhere/at/all"}, "parameters": TASKS}, "spec.model.uri", "no model at /nowhere/at/all"),
        ({"model": {"uri": "file://host/model"}, "parameters": TASKS}, "spec.model.uri", "an absolute path"),
        ({"model": {"uri": "family://owm"}, "parameters": TASKS}, "spec.model.uri", 'no model family "owm"'),
        ({"model": {"uri": "family://own/loud"}, "parameters": TASKS}, "spec.model.uri", "family://NAME/chat"),
        ({"model": {"uri": "family://paid"}, "parameters": TASKS}, "spec.model.uri", "costs money by the token"),
        ({"model": {"uri": "family://claude"}, "parameters": TASKS}, "spec.model.uri", "the harness speaks openai's only"),
        ({"model": {"uri": "family://made-up"}, "parameters": TASKS}, "spec.model.uri", "is simulated"),
        ({**OWN, "parameters": TASKS, "resources": {"hardware": ["L4"]}}, "spec.resources.hardware", "hardware: [CPU]"),
        ({"parameters": {"tasks": ["sums", "/etc/evil.yaml"]}}, "spec.parameters.tasks[1]", "is no task's name"),
        ({"parameters": {"tasks": ["a,b"]}}, "spec.parameters.tasks[0]", "is no task's name"),
        ({"parameters": {**TASKS, "maxCompletionLength": 64}}, "spec.parameters.maxCompletionLength", "for an Environment"),
        ({"parameters": {**TASKS, "evaluationBatchSize": 4}}, "spec.parameters.evaluationBatchSize", "for an Environment"),
        ({"environment": ARITHMETIC, "parameters": {"limit": 5, "numFewshot": 2}}, "spec.parameters.numFewshot", "no worked examples"),
        ({"environment": ARITHMETIC}, "spec.parameters.limit", "without end"),
        ({"environment": ARITHMETIC, "parameters": {"limit": 50_000}}, "spec.parameters.limit", "at most"),
        ({"environment": "nodus/arithmetic@2.0.0", "parameters": {"limit": 5}}, "spec.environment", "there is no environment"),
        ({"environment": ARITHMETIC, "parameters": {"limit": 5}, "includePaths": ["tasks"]}, "spec.includePaths[0]", "no benchmark task"),
        ({"parameters": TASKS, "includePaths": ["nowhere"]}, "spec.includePaths[0]", "is no folder"),
        ({"parameters": TASKS, "resources": {"hardware": ["CPU"], "accelerators": 2}}, "spec.resources.accelerators", "is one process"),
        ({"parameters": TASKS, "maxCostUSD": "0.01"}, "spec.maxCostUSD", "this cap is too small"),
    ],
)  # fmt: skip
async def test_faults_have_their_places(place: TrainingPlace, spec: dict[str, Any], path: str, words: str) -> None:
    place.settings = MODELS
    async with place.backend(role="look") as backend:
        found = await faults(backend, place, place.document(**spec))
        assert [each for each, _ in found] == [path]
        assert words in found[0][1]


async def test_without_the_harness_it_is_valid_and_refused_with_what_to_do(place: TrainingPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_CACHE", str(place.folder / "cache"))
    place.sums()
    for python, words in (
        (place.folder / "none", "is no program: correct evaluate.python"),
        (Path("/usr/bin/env"), "does not say what it has"),
        (place.folder / "empty", "has no lm-evaluation-harness: `nodus-tui evaluate setup` makes its environment"),
        (place.folder / "old", "has lm-evaluation-harness 0.3.0, and this version works with 0.4.13"),
    ):
        place.python = python
        if python.name in {"empty", "old"}:
            said = json.dumps(["0.3.0" if python.name == "old" else "", ""])
            python.write_text(f"#!/bin/sh\necho '{said}'\n")
            python.chmod(0o755)
        async with place.backend(role="look") as backend:
            checked = await backend.apply(place.benchmark("sums"), dry_run=True)
            assert words in checked.documents[0].message
            with pytest.raises(NodusError) as met:
                await backend.apply(place.benchmark("sums"))
            assert (met.value.code, words in met.value.detail) == (ErrorCode.NOT_SUPPORTED, True)
            assert words in (await backend._rooms.training.fact()).problem


async def test_without_torch_only_served_models_are_scored(place: TrainingPlace) -> None:
    place.settings = MODELS
    place.sums()
    python = place.folder / "api-only"
    python.write_text('#!/bin/sh\necho \'["0.4.13", ""]\'\n')
    python.chmod(0o755)
    place.python = python
    async with place.backend(role="look") as backend:
        with pytest.raises(NodusError, match="has no torch"):
            await backend.apply(place.benchmark("sums"))
        served = await backend.apply(place.benchmark("sums", model={"uri": "family://own"}), dry_run=True)
        assert (served.documents[0].outcome, served.documents[0].message) == ("created", "")


async def test_jobs_of_either_kind_share_one_space_of_names(place: TrainingPlace) -> None:
    place.sums()
    job = {"apiVersion": "nodus.dev/v1", "kind": "Job", "metadata": {"name": "score"}, "spec": {"command": ["true"], "maxCostUSD": "1"}}
    async with place.backend(role="look") as backend:
        await backend.apply(place.benchmark("sums"))
        for other in (place.bundle(job), place.benchmark("sums", parameters={"limit": 3})):
            with pytest.raises(NodusError) as met:
                await backend.apply(other)
            assert met.value.code is ErrorCode.CONFLICT
            assert "there is a TrainingJob score with another spec" in met.value.faults[0].message
        assert (await backend.apply(place.benchmark("sums"))).documents[0].outcome == "unchanged"


async def test_relative_folders_of_tasks_need_the_specs_own_folder(place: TrainingPlace) -> None:
    place.sums()
    document = place.document(parameters=TASKS, includePaths=["tasks"])
    async with place.backend(role="look") as backend:
        with pytest.raises(NodusError) as met:
            await backend.apply(load_specs([SpecSource("score.yaml", json.dumps(document).encode(), None)]))
        assert [fault.path for fault in met.value.faults] == ["spec.includePaths[0]"]


def test_what_the_extras_install_is_what_the_environment_of_its_own_has() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: {_plain(each) for each in wanted} for name, wanted in project["optional-dependencies"].items()}
    assert extras["evaluate"] == {_plain(each) for each in requirements("gpu")}
    assert extras["evaluate-api"] == {_plain(each) for each in requirements("api")}


def _plain(requirement: str) -> tuple[str, frozenset[str], str]:
    parsed = Requirement(requirement)
    return parsed.name, frozenset(parsed.extras), str(parsed.specifier)
