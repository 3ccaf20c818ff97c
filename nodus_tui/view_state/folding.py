"""Folding events into resources: a status takes over the changed fields, and everything else stays."""

from nodus_tui.contract.events import Event
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupStatus
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunStatus
from nodus_tui.contract.resources.budget import Budget, BudgetStatus
from nodus_tui.contract.resources.job import Job, JobStatus
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxStatus
from nodus_tui.contract.resources.sweep import Sweep, SweepStatus
from nodus_tui.contract.resources.training_job import TrainingJob, TrainingJobStatus


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
        known = group.status.to_document() if group.status else {}
        changed["status"] = AgentGroupStatus.model_validate({**known, **event.status})
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
        known = run.status.to_document() if run.status else {}
        changed["status"] = AgentRunStatus.model_validate({**known, **event.status})
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
    known = job.status.to_document() if job.status else {}
    status: type[JobStatus] = TrainingJobStatus if isinstance(job, TrainingJob) else JobStatus
    return job.model_copy(update={"status": status.model_validate({**known, **event.status})})


def budget_after(budget: Budget | None, event: Event) -> Budget | None:
    """The budget after the event; None when it is deleted, or when a change came of a budget that nobody told of."""
    if event.change == "Deleted":
        return None
    if event.metadata:
        return Budget.model_validate({"metadata": event.metadata, "spec": event.spec, "status": event.status or None})
    if budget is None or not event.status:
        return budget
    known = budget.status.to_document() if budget.status else {}
    return budget.model_copy(update={"status": BudgetStatus.model_validate({**known, **event.status})})


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
        known = sweep.status.to_document() if sweep.status else {}
        changed["status"] = SweepStatus.model_validate({**known, **event.status})
    return sweep.model_copy(update=changed)


def sandbox_after(sandbox: Sandbox | None, event: Event) -> Sandbox | None:
    """The Sandbox after the event; None when it is deleted, or when a change came of a Sandbox that nobody told of."""
    if event.change == "Deleted":
        return None
    if event.metadata:
        return Sandbox.model_validate({"metadata": event.metadata, "spec": event.spec, "status": event.status or None})
    if sandbox is None or not event.status:
        return sandbox
    known = sandbox.status.to_document() if sandbox.status else {}
    return sandbox.model_copy(update={"status": SandboxStatus.model_validate({**known, **event.status})})
