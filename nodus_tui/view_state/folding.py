"""Folding events into resources: a status takes over the changed fields, and everything else stays."""

from typing import TypeVar

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.events import Event
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupStatus
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunStatus
from nodus_tui.contract.resources.budget import Budget, BudgetStatus
from nodus_tui.contract.resources.job import Job, JobStatus
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxStatus
from nodus_tui.contract.resources.sweep import Sweep, SweepStatus
from nodus_tui.contract.resources.training_job import TrainingJob, TrainingJobStatus
from nodus_tui.view_state.merging import merged

Status = TypeVar("Status", bound=ContractModel)


def group_after(group: AgentGroup | None, event: Event) -> AgentGroup | None:
    """The group after the event; None when it is deleted, or when a change came of a group that nobody told of."""
    if event.change == "Deleted":
        return None
    if event.metadata:
        return AgentGroup.model_validate({"metadata": event.metadata, "spec": event.spec, "status": event.status or None})
    if group is None:
        return None
    return _group_merged(group, event)


def _group_merged(group: AgentGroup, event: Event) -> AgentGroup:
    changed: dict[str, object] = {}
    if event.spec:
        changed["spec"] = type(group.spec).model_validate({**group.spec.to_document(), **event.spec})
    if event.status:
        changed["status"] = _status_after(AgentGroupStatus, group.status, event)
    return group.model_copy(update=changed)


def run_after(run: AgentRun | None, event: Event) -> AgentRun | None:
    """The run after the event; None when it is deleted, or when a change came of a run that nobody told of."""
    if event.change == "Deleted":
        return None
    if event.metadata:
        return AgentRun.model_validate({"metadata": event.metadata, "spec": event.spec, "status": event.status or None})
    if run is None:
        return None
    changed: dict[str, object] = {}
    if event.spec:
        changed["spec"] = type(run.spec).model_validate({**run.spec.to_document(), **event.spec})
    if event.status:
        changed["status"] = _status_after(AgentRunStatus, run.status, event)
    return run.model_copy(update=changed)


def job_after(job: Job | TrainingJob | None, event: Event) -> Job | TrainingJob | None:
    """The job after the event, of whichever kind; None when it is deleted, or when a change came of a job that nobody told of."""
    if event.change == "Deleted":
        return None
    kind: type[Job | TrainingJob] = TrainingJob if event.kind == "TrainingJob" else Job
    if event.metadata:
        return kind.model_validate({"metadata": event.metadata, "spec": event.spec, "status": event.status or None})
    if job is None or not event.status:
        return job
    status: type[JobStatus] = TrainingJobStatus if isinstance(job, TrainingJob) else JobStatus
    return job.model_copy(update={"status": _status_after(status, job.status, event)})


def budget_after(budget: Budget | None, event: Event) -> Budget | None:
    """The budget after the event; None when it is deleted, or when a change came of a budget that nobody told of."""
    if event.change == "Deleted":
        return None
    if event.metadata:
        return Budget.model_validate({"metadata": event.metadata, "spec": event.spec, "status": event.status or None})
    if budget is None or not event.status:
        return budget
    return budget.model_copy(update={"status": _status_after(BudgetStatus, budget.status, event)})


def sweep_after(sweep: Sweep | None, event: Event) -> Sweep | None:
    """The sweep after the event; None when it is deleted, or when a change came of a sweep that nobody told of."""
    if event.change == "Deleted":
        return None
    if event.metadata:
        return Sweep.model_validate({"metadata": event.metadata, "spec": event.spec, "status": event.status or None})
    if sweep is None:
        return None
    changed: dict[str, object] = {}
    if event.spec:
        changed["spec"] = type(sweep.spec).model_validate({**sweep.spec.to_document(), **event.spec})
    if event.status:
        changed["status"] = _status_after(SweepStatus, sweep.status, event)
    return sweep.model_copy(update=changed)


def sandbox_after(sandbox: Sandbox | None, event: Event) -> Sandbox | None:
    """The Sandbox after the event; None when it is deleted, or when a change came of a Sandbox that nobody told of."""
    if event.change == "Deleted":
        return None
    if event.metadata:
        return Sandbox.model_validate({"metadata": event.metadata, "spec": event.spec, "status": event.status or None})
    if sandbox is None or not event.status:
        return sandbox
    return sandbox.model_copy(update={"status": _status_after(SandboxStatus, sandbox.status, event)})


def _status_after(kind: type[Status], known: Status | None, event: Event) -> Status:
    return kind.model_validate(event.status) if known is None else merged(known, event.status)
