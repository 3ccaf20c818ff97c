"""Environments, their tasks and a scheduler's log, made up, for tests of the views that show them."""

from datetime import timedelta

from console_records import NOW, group
from scripted_backend import ScriptedBackend

from nodus_tui.contract.backend_info import EnvironmentFact
from nodus_tui.contract.environment_check import GoldCase, GoldRecord
from nodus_tui.contract.environment_tasks import TaskView
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.scheduler_view import LoopLag, SchedulerFacts

ARITHMETIC = "nodus/arithmetic-v2@2.0.0"
SUMS = "sums@1.0.0"

LOG = """\
2026-01-02 09:00:00,000 INFO local_backend.hosting.scheduler_service: process 4711 starts
2026-01-02 09:00:01,000 INFO local_backend.daemon.gate: ann GET /v1/snapshot 200
2026-01-02 09:00:02,000 WARNING local_backend.models.provider: the provider asks for a pause of 3 s
2026-01-02 09:00:03,000 ERROR local_backend.backend: the workspace could not be looked after: database is locked
Traceback (most recent call last):
  File "backend.py", line 1, in look
2026-01-02 09:00:04,000 INFO local_backend.daemon.gate: ann POST /v1/actions 200
"""


def case(task: str, problem: str = "", message: str = "") -> GoldCase:
    fields = {"taskId": task, "split": "test", "reference": Verdict.CORRECT, "empty": Verdict.INCORRECT}
    return GoldCase.model_validate({**fields, "problem": problem, "message": message})


def own(name: str, spec: dict[str, object], **status: object) -> Environment:
    document = {"apiVersion": "nodus.dev/v1", "kind": "Environment", "metadata": {"name": name}, "spec": {"version": "1.0.0", **spec}}
    facts = {"digest": "sha256:1", "tasks": {"test": 3}, "source": "file", **status}
    return Environment.model_validate({**document, "status": facts})


def environment_world() -> ScriptedBackend:
    """Two of the catalogue, one of which cannot be used, and two of the workspace, one with a weaker grader and a fault."""
    backend = ScriptedBackend([group()])
    backend.catalogue = (
        EnvironmentFact(
            name="nodus/arithmetic-v2",
            version="2.0.0",
            description="whole-number arithmetic",
            splits=("train", "test"),
            tasks=None,
            source="catalogue",
            grader="the last number of the reply",
        ),
        EnvironmentFact(
            name="reasoning-gym/chain_sum",
            version="0.1.25",
            description="chain sum",
            splits=("train", "test"),
            tasks=500,
            source="reasoning-gym",
            problem="reasoning-gym is not installed",
        ),
    )
    backend.environments = {
        "sums": own("sums", {"file": "/tasks/sums.jsonl", "description": "sums of our own", "grader": {"type": "exact"}}),
        "harbour": own("harbour", {"folder": "/tasks/harbour", "layout": "harbor"}, source="folder", tasks={"test": 12}),
    }
    fault = case("dock-3", "EmptyPasses", "the empty answer passes all tests")
    backend.gold_checks = (
        GoldRecord(
            environment="harbour@1.0.0", digest="sha256:1", checked_at=NOW - timedelta(hours=2), tasks=12, problems=1, faults=(fault,)
        ),
    )
    backend.gold_cases = {SUMS: (case("t1"), case("t2", "ReferenceFails", "7 is not 8"), case("t3"))}
    backend.tasks = {SUMS: tuple(TaskView(id=f"t{n}", prompts=(f"What is {n} and {n}?",)) for n in range(1, 121))}
    return backend


def log_world() -> ScriptedBackend:
    """A scheduler that works, and its log."""
    backend = ScriptedBackend([group()])
    backend.scheduler = SchedulerFacts(
        pid=4711,
        started_at=NOW - timedelta(hours=1, minutes=5),
        version="0.1.0",
        socket="/home/ann/.nodus/scheduler.sock",
        home="/home/ann/.nodus",
        loop_lag=LoopLag(median_ms=0.4, p99_ms=130, most_ms=140, seconds=61),
        clients=2,
        last_event=100,
        store_bytes=12_400_000,
        memory_bytes=81_000_000,
        free_disk_bytes=70_000_000_000,
    )
    backend.scheduler_log = LOG
    return backend
