"""An update between a scheduler and what it starts: orders of other code are understood, or refused in a sentence that says what to do."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from job_place import job, supervisor_of, until, workspace

from local_backend.environments.worker_process import clean_environment, worker_command
from local_backend.grading.client import grading_command
from local_backend.handed_over import SPOKEN, OtherCodeError
from local_backend.jobs.order import REPORT_FILE, Order, Report, read_report
from local_backend.own_code import own_code
from local_backend.sandboxes.bubblewrap.records import Records
from local_backend.training.container import ContainerRequest
from local_backend.training.order import EvaluationOrder, OrderedModel
from nodus_tui import __version__
from nodus_tui.contract.actions import Kill

ORDER = Order("/job", "token", ["true"], "/", {}, True, 1, 1 << 30, 1, "Timeout", None, 1, 1)
EVALUATION = EvaluationOrder("name", "workspace", "nodus://name", "/python", OrderedModel("local", "/model"), {})


def changed(text: str, *without: str, **more: object) -> str:
    """An order as other code writes it: without these fields, and with more."""
    values = json.loads(text)
    return json.dumps({name: value for name, value in values.items() if name not in without} | more)


def test_an_order_of_code_that_knew_less_is_understood() -> None:
    older = ("version", "needs", "image", "claims", "hidden", "remarks", "attempt", "min_free_bytes")
    assert Order.from_text(changed(ORDER.to_text(), *older)) == ORDER
    fewer = ("tasks", "environment", "include_paths", "devices", "cpus", "fetching_variables", "image")
    assert EvaluationOrder.from_text(changed(EVALUATION.to_text(), *fewer)) == EVALUATION


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (changed(ORDER.to_text(), "ask_us", version="0.0.7"), "version 0.0.7"),
        (changed(ORDER.to_text(), "ask_us", "version"), "an earlier version"),
        (changed(ORDER.to_text(), version="9.0.0", sealed=True), "version 9.0.0"),
        (changed(ORDER.to_text(), needs={"picture": "x"}), f"version {__version__}"),
        ("[]", "an earlier version"),
        ("{", "an earlier version"),
    ],
)
def test_what_is_not_understood_says_whose_it_is_and_what_to_do(text: str, told: str) -> None:
    for kind in (Order, EvaluationOrder, ContainerRequest):
        with pytest.raises(OtherCodeError) as refused:
            kind.from_text(text)
        assert f"it was started by {told} of nodus-tui" in str(refused.value)
        assert "`nodus-tui scheduler restart`" in str(refused.value)


async def test_a_job_whose_order_is_not_understood_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Order.to_text
    monkeypatch.setattr(Order, "to_text", lambda order: changed(written(order), "ask_reason", version="0.0.7"))
    async with workspace(tmp_path) as backend:
        await backend.apply(job())
        status = await until(backend)
    assert (status.phase, status.reason) == ("Failed", "NotStarted")
    assert "it was started by version 0.0.7 of nodus-tui" in status.message
    assert "restart the scheduler" in status.message


def test_a_report_of_code_that_says_more_is_read(tmp_path: Path) -> None:
    report = Report("token", "Running", "2026-01-01T00:00:00+00:00", used_us=7)
    report.write(tmp_path, durable=False)
    file = tmp_path / REPORT_FILE
    file.write_text(changed(file.read_text(), weather="fine"))
    assert read_report(tmp_path, "token") == report
    file.write_text("[]")
    assert read_report(tmp_path, "token") is None


@pytest.mark.parametrize(
    "forged",
    [{"pid": -1}, {"pid": "1"}, {"used_us": -1}, {"used_us": "a"}, {"started_at": "x"}, {"started_at": "2026-01-01"}, {"state": "Over"}],
)
def test_a_report_that_no_supervisor_would_write_is_none(tmp_path: Path, forged: dict[str, object]) -> None:
    Report("token", "Running", "2026-01-01T00:00:00+00:00", pid=1).write(tmp_path, durable=False)
    assert read_report(tmp_path, "token") is not None
    file = tmp_path / REPORT_FILE
    file.write_text(changed(file.read_text(), **forged))
    assert read_report(tmp_path, "token") is None


def test_a_claim_of_a_sandbox_by_code_that_says_more_is_read(tmp_path: Path) -> None:
    values = {"id": "a", "run": "r", "purpose": "Agent", "image": "base", "created_at": "2026-01-01T00:00:00+00:00", "weather": "fine"}
    owner = {"workspace": "w", "boot": "b", "pid": 1, "started": "1", "host": "h", "weather": "fine"}
    (tmp_path / "0.json").write_text(json.dumps({**values, "owner": owner}))
    assert [record.id for record in Records(tmp_path).all()] == ["a"]


async def answered(command: list[str], *requests: Mapping[str, object]) -> list[dict[str, Any]]:
    """What a process of a grader answers."""
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, env=clean_environment())
    told, _ = await process.communicate(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
    return [json.loads(line) for line in told.splitlines()]


@pytest.mark.parametrize("command", [worker_command(), grading_command()])
async def test_a_grader_that_does_not_understand_who_asks_says_whose_it_is_and_what_to_do(command: list[str]) -> None:
    # As a request of other code may be: of the tasks it says something else, or nothing.
    request = {"op": "load", "split": "test", "seed": 0, "tasks": 1}
    (told,) = await answered(command, {**request, "version": "0.0.7"})
    assert "it was started by version 0.0.7 of nodus-tui" in told["message"]
    assert "`nodus-tui scheduler restart`" in told["message"]
    assert "an earlier version" in (await answered(command, request))[0]["message"]
    (own,) = await answered(command, {**SPOKEN, **request})
    assert "nodus-tui" not in own["message"], "a fault of its own is not told as one of an update"


async def test_a_grade_that_other_code_asks_for_in_another_way_is_no_verdict_and_says_so() -> None:
    environment = {"name": "nodus/arithmetic-v2", "version": "2.0.0", "source": "catalogue", "options": {}}
    load = {"version": "0.0.7", "op": "load", "environment": environment, "split": "test", "seed": 0, "tasks": 1, "gradeSeconds": 5}
    (loaded,) = await answered(worker_command(), load)
    assert loaded["ok"], "what is understood is done"
    _, graded = await answered(worker_command(), load, {"op": "grade", "n": 1, "task": loaded["tasks"][0]["id"], "simulated": False})
    assert graded["verdict"] == "InfrastructureFailure"
    assert "started by version 0.0.7 of nodus-tui" in graded["message"]


async def test_a_supervisor_runs_the_schedulers_own_code(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="exec sleep 60"))
        await until(backend, "Running")
        pid = supervisor_of(tmp_path)
        environ = (await asyncio.to_thread(Path(f"/proc/{pid}/environ").read_bytes)).split(b"\0")
        await backend.act(Kill(kind="Job", name="work"))
        await until(backend)
    assert f"PYTHONPATH={own_code(os.environ)}".encode() in environ


def test_own_code_is_found_where_this_process_found_it() -> None:
    root = str(Path(__file__).parents[2])
    assert own_code({}) == root
    assert own_code({"PYTHONPATH": "/a::/b"}) == f"{root}:/a:/b"
