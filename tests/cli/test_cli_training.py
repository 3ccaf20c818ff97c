"""TrainingJobs by the command line, over a STAND-IN for the harness."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from cli_workspace import Workspace
from click.testing import Result
from free_ports import free_port
from training_place import TrainingPlace, stand_in_python

pytestmark = pytest.mark.timeout(90)

Nodus = Callable[..., Result]


@pytest.fixture
def place(workspace: Workspace) -> TrainingPlace:
    """A model and tasks beside the workspace, which knows the stand-in. An hour of a slice costs $9: a job's four are a cent a second."""
    python = stand_in_python(workspace.folder)
    settings = f"rates: {{CPU: '9'}}\nevaluate: {{python: {json.dumps(str(python))}}}\njobs: {{stopGrace: 2s}}\n"
    workspace.config.write_text(settings, encoding="utf-8")
    return TrainingPlace(workspace.folder, python)


def spec(workspace: Workspace, place: TrainingPlace, *tasks: str, name: str = "score", **more: Any) -> str:
    parameters = {"tasks": list(tasks), **more.pop("parameters", {})}
    return workspace.write(json.dumps(place.document(name, parameters=parameters, includePaths=["tasks"], **more)), f"{name}.json")


def test_run_shows_the_harness_waits_and_prints_the_scores(workspace: Workspace, nodus: Nodus, place: TrainingPlace) -> None:
    place.sums()
    place.words()
    path = spec(workspace, place, "sums", "words", parameters={"limit": 3})
    done = nodus("run", "-f", path, "-o", "json")
    assert done.exit_code == 0, done.stderr
    assert "STAND-IN, rank 0" in done.stderr
    document = json.loads(done.stdout)
    assert (document["kind"], document["status"]["phase"], document["status"]["progress"]) == ("TrainingJob", "Succeeded", 1.0)
    assert [each["task"] for each in document["status"]["scores"]] == ["sums", "words"]
    # The same by every verb that shows, and by every way to name it.
    for words in (("get", "tj"), ("get", "trainingjobs"), ("get", "tj/score"), ("describe", "score"), ("results", "tj/score")):
        shown = nodus(*words)
        assert shown.exit_code == 0, shown.stderr
        assert "Succeeded" in shown.stdout
        assert "sums" in shown.stdout
    results = json.loads(nodus("results", "tj/score", "-o", "json").stdout)
    assert results["complete"] is True
    rows = list(csv.DictReader(io.StringIO(nodus("results", "tj/score", "-o", "csv").stdout)))
    assert [(row["TASK"], row["METRIC"], row["VALUE"], row["SE"], row["SAMPLES"]) for row in rows] == [
        ("sums", "acc", "0.5", "0.1", "3"),
        ("words", "acc", "0.5", "0.1", "3"),
    ]
    assert nodus("results", "tj/score", "--min-pass-rate", "0.1").exit_code == 2
    assert "STAND-IN, rank 0" in nodus("logs", "tj/score").stdout
    for source in ("tj/score:outputs/results.json", "tj/score:results.json"):
        target = workspace.folder / "here.json"
        assert nodus("cp", "--force", source, str(target)).exit_code == 0
        assert json.loads(target.read_text()) == results
    again = nodus("run", "-f", path, "-o", "json")
    assert json.loads(again.stdout)["status"] == document["status"]
    assert nodus("wait", "tj/score").exit_code == 0
    assert "deleted" in nodus("delete", "--yes", "tj/score").stdout
    assert nodus("results", "tj/score").exit_code == 2


def test_what_its_cap_ended_goes_on_under_a_higher_one_and_what_failed_is_tried_again(
    workspace: Workspace, nodus: Nodus, place: TrainingPlace
) -> None:
    place.sums()
    place.behave(hold=str(place.folder / "go"), hold_after=5)
    path = spec(workspace, place, "sums", maxCostUSD="0.03")
    capped = nodus("run", "-q", "-f", path)
    assert capped.exit_code == 3, capped.stderr
    assert "MaxCostReached" in nodus("get", "tj/score").stdout
    place.behave(raises="RuntimeError: the weights do not fit")
    raised = nodus("extend-cap", "tj/score", "5.00", "-o", "json")
    assert raised.exit_code == 0, raised.stderr
    failed = nodus("wait", "tj/score")
    assert failed.exit_code == 1
    assert "RuntimeError: the weights do not fit" in failed.stderr
    place.behave()
    tried = nodus("retry", "tj/score")
    assert tried.exit_code == 0, tried.stderr
    status = json.loads(nodus("get", "tj/score", "-o", "json").stdout)["status"]
    assert (status["phase"], status["attempt"], status["capUSD"]) == ("Succeeded", 3, "5.00")
    assert nodus("retry", "tj/score").exit_code == 2


def test_the_pass_rate_of_held_out_tasks_is_a_gate_and_a_benchmark_has_none(
    workspace: Workspace, nodus: Nodus, place: TrainingPlace
) -> None:
    place.sums()
    refused = nodus("run", "--min-pass-rate", "0.5", "-f", spec(workspace, place, "sums"))
    assert refused.exit_code == 2
    assert "a benchmark's figures are no pass rate" in refused.stderr
    held_out = place.document("held", environment="nodus/arithmetic-v2@2.0.0", parameters={"limit": 4, "seed": 1})
    path = workspace.write(json.dumps(held_out), "held.json")
    judged = nodus("run", "-q", "--min-pass-rate", "0.99", "-f", path)
    assert judged.exit_code == 1, judged.stderr
    assert "held: the pass rate is 0.0%, below the gate of 99.0%" in judged.stderr
    assert nodus("wait", "tj/held", "--min-pass-rate", "0.99").exit_code == 1
    assert nodus("wait", "tj/held").exit_code == 0
    assert nodus("results", "tj/held", "--min-pass-rate", "0").exit_code == 0
    shown = nodus("results", "tj/held").stdout
    assert "4/4 scored" in shown
    assert shown.count("Incorrect") == 4
    assert nodus("retry", "tj/held", "--reason", "Killed").exit_code == 2


def test_a_model_whose_server_has_ended_is_not_waited_for(workspace: Workspace, nodus: Nodus, place: TrainingPlace) -> None:
    serving = {"command": ["false"], "network": True, "maxCostUSD": "1", "serve": {"family": "qwen", "port": free_port()}}
    server = {"apiVersion": "nodus.dev/v1", "kind": "Job", "metadata": {"name": "qwen-server"}, "spec": serving}
    parameters = {"limit": 2, "seed": 1}
    job = place.document(model={"uri": "family://qwen"}, environment="nodus/arithmetic-v2@2.0.0", parameters=parameters)
    done = nodus("run", "-f", workspace.write(f"{json.dumps(server)}\n---\n{json.dumps(job)}", "both.yaml"))
    assert done.exit_code == 4, done.stderr
    assert "score: the model server of qwen has ended: job qwen-server (Failed, it exited with 1)" in done.stderr
    assert "nodus-tui retry job/qwen-server" in done.stderr
    assert "ModelServerEnded" in done.stdout
    assert nodus("wait", "tj/score").exit_code == 4
    assert nodus("kill", "--yes", "tj/score").exit_code == 0


def test_without_the_harness_it_is_said_what_to_do(
    workspace: Workspace, nodus: Nodus, place: TrainingPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.config.write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(workspace.folder / "empty"))
    status = nodus("evaluate", "status")
    assert status.exit_code == 4
    assert "nodus-tui evaluate setup" in status.stdout + status.stderr
    refused = nodus("run", "-f", spec(workspace, place, "sums"))
    assert refused.exit_code == 2
    assert "nodus-tui evaluate setup" in refused.stderr
