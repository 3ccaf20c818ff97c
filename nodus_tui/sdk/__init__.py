"""The Python interface: `from nodus_tui import sdk as nodus`.

    evaluation = {"environment": "nodus/arithmetic-v2@2.0.0", "tasks": 2}
    group = nodus.AgentGroup.create("hello", agent="worker", max_cost="0.20", evaluation=evaluation)
    status = group.wait(timeout=660)
    print(status.phase, status.evaluation.get("passRate"))

It talks to whichever backend the environment chooses, as the command line does: the workspace's scheduler by default, the one in this
process with NODUS_IN_PROCESS=1, an API with NODUS_URL. `nodus.aio` has the same calls to be awaited. docs/python.md has all of it.
"""

from nodus_tui.contract.environment_check import GoldCase, GoldSummary
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import CaseState, GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.contract.resources.job import JobStatus
from nodus_tui.contract.resources.sandbox import SandboxStatus
from nodus_tui.contract.resources.sweep import SweepStatus
from nodus_tui.contract.resources.training_job import TaskScore, TrainingJobStatus
from nodus_tui.contract.sandboxes import FileEntry, SandboxFact
from nodus_tui.contract.sweep_results import SweepResults
from nodus_tui.sdk import aio
from nodus_tui.sdk.bridge import BRIDGE
from nodus_tui.sdk.handles import Agent, AgentGroup, AgentRun, check_environment, sandboxes, submit_many
from nodus_tui.sdk.jobs import Job, TrainingJob
from nodus_tui.sdk.sandbox import Sandbox
from nodus_tui.sdk.sandbox_operations import Executed
from nodus_tui.sdk.sweeps import Sweep
from nodus_tui.sdk.values import Answer, Case, EvaluationStatus, GroupStatus, Results

__all__ = [
    "Agent",
    "AgentGroup",
    "AgentRun",
    "Answer",
    "Case",
    "CaseState",
    "ErrorCode",
    "EvaluationStatus",
    "Executed",
    "FileEntry",
    "GoldCase",
    "GoldSummary",
    "GroupPhase",
    "GroupStatus",
    "Job",
    "JobStatus",
    "NodusError",
    "Reason",
    "Results",
    "RunPhase",
    "Sandbox",
    "SandboxFact",
    "SandboxStatus",
    "Sweep",
    "SweepResults",
    "SweepStatus",
    "TaskScore",
    "TrainingJob",
    "TrainingJobStatus",
    "Verdict",
    "aio",
    "check_environment",
    "close",
    "sandboxes",
    "submit_many",
]


def close() -> None:
    """Let go of the backend; the next call opens one anew, as the environment says then. Done by itself when the program ends.

    Where the scheduler runs in this process, work under way stops as it does at the end of the program: nothing is lost, and the next
    scheduler of the workspace goes on.
    """
    BRIDGE.close()
