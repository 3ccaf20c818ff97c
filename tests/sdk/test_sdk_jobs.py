"""Jobs and TrainingJobs by the Python interface: made, waited for, read, tried again; by both kinds of calls alike."""

import inspect
import json
import re
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from nodus_tui import sdk as nodus
from nodus_tui.sdk import aio, jobs

sys.path.append(str(Path(__file__).parent.parent / "training"))

from training_place import TrainingPlace, stand_in_python

pytestmark = pytest.mark.timeout(60)

_TWICE = "if test -e half; then echo whole | tee whole; else echo half | tee half; exit 7; fi"


def test_a_job_is_run_read_and_tried_again(tmp_path: Path) -> None:
    spec = {"command": ["/bin/sh", "-c", _TWICE], "outputs": ["half", "whole"], "network": True}
    job = nodus.Job.create("work", spec=spec, max_cost="1.00")
    first = job.wait(timeout=30)
    assert (first.phase, first.exit_code, first.attempt) == ("Failed", 7, 1)
    assert job.logs() == "half\n"
    assert [each.path for each in job.outputs()] == ["half"]
    assert job.extend_cap("2.00").changed
    assert job.retry().changed
    second = job.wait(timeout=30)
    assert (second.phase, second.attempt, second.cap_usd) == ("Succeeded", 2, Decimal("2.00"))
    assert re.fullmatch(r"half\n=== attempt 2, .* UTC ===\nwhole\n", job.logs())
    assert [path.read_text() for path in job.download("whole", tmp_path)] == ["whole\n"]
    assert [each.name for each in nodus.Job.list()] == ["work"]
    assert nodus.Job.get("work").status() == second
    with pytest.raises(nodus.NodusError) as taken:
        nodus.Job.create("work", spec=spec, max_cost="1.00")
    assert taken.value.code is nodus.ErrorCode.CONFLICT
    job.delete()
    assert not nodus.Job.list()


def test_one_that_goes_on_is_killed_and_a_wait_has_an_end() -> None:
    job = nodus.Job.create("work", spec={"command": ["sleep", "300"], "network": True}, max_cost="1.00")
    with pytest.raises(TimeoutError, match="it goes on"):
        job.wait(timeout=0.05)
    assert job.kill().changed
    assert job.status().reason == "Killed"
    job.delete()
    with pytest.raises(nodus.NodusError):
        job.status()
    with pytest.raises(TypeError, match="max_cost is money"):
        nodus.Job.create("x", spec={"command": ["true"]}, max_cost=1.0)  # type: ignore[arg-type]
    with pytest.raises(nodus.NodusError) as faults:
        nodus.Job.create("x", spec={"comand": ["true"]}, max_cost="1.00")
    assert "command" in {fault.suggestion for fault in faults.value.faults}


def test_a_training_job_gives_its_scores_and_its_results(tmp_path: Path, workspace: Path) -> None:
    """Over a stand-in for the harness."""
    folder = tmp_path / "place"
    folder.mkdir()
    place = TrainingPlace(folder, stand_in_python(folder))
    place.sums()
    (workspace / "config.yaml").write_text(json.dumps({"evaluate": {"python": str(place.python)}}), encoding="utf-8")
    spec = {**place.document(parameters={"tasks": ["sums"], "limit": 4})["spec"], "includePaths": [str(place.tasks)]}
    job = nodus.TrainingJob.create("score", spec=spec, max_cost="1.00")
    status = job.wait(timeout=50)
    assert (status.phase, status.progress) == ("Succeeded", 1.0), job.logs()
    assert [(each.task, each.metric, each.samples) for each in status.scores] == [("sums", "acc", 4)]
    assert job.results()["scores"][0]["value"] == 0.5
    assert json.loads(job.download("results.json", tmp_path / "mine.json")[0].read_text()) == job.results()
    assert [each.name for each in nodus.TrainingJob.list()] == ["score"]
    with pytest.raises(nodus.NodusError, match="has succeeded"):
        job.retry()
    job.delete()


async def test_both_interfaces_have_the_same_calls() -> None:
    for one_kind, other_kind in ((jobs.Job, aio.Job), (jobs.TrainingJob, aio.TrainingJob)):
        calls = {each for each in dir(one_kind) if not each.startswith("_") and each != "KIND"}
        assert calls == {each for each in dir(other_kind) if not each.startswith("_") and each != "KIND"}
        for call in calls:
            one, other = getattr(one_kind, call), getattr(other_kind, call)
            assert inspect.signature(one) == inspect.signature(other)
            assert inspect.getdoc(one) == inspect.getdoc(other)
            assert inspect.iscoroutinefunction(other)
    with pytest.raises(nodus.NodusError):
        await aio.Job.get("none")
