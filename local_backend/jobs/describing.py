"""From a job's record to what the contract tells of it. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import PurePath

from local_backend.jobs.deadlines import SECOND_US, Deadlines, charge, plan
from local_backend.jobs.standing import serving_status
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import event
from local_backend.storage.store import Statement
from nodus_tui.contract.money import nano_from_usd, usd_from_nano
from nodus_tui.contract.resources.job import Job, JobSpec, JobStatus, OutputFile
from nodus_tui.contract.resources.meta import Metadata
from nodus_tui.contract.resources.training_job import TaskScore, TrainingJob, TrainingJobSpec, TrainingJobStatus

_JOULES_PER_WH = 3600


def deadlines_of(record: JobRecord, grace: timedelta) -> Deadlines:
    """When it is ended by force. Raises ValueError for a cap that no job fits under, which is refused when it is applied."""
    timeout = record.job.timeout
    return plan(
        cap=record.cap_left, rate=record.rate, timeout_us=timeout // timedelta(microseconds=1), grace_us=grace // timedelta(microseconds=1)
    )


def cost_nano(record: JobRecord, now: datetime) -> int:
    """What all its attempts have cost up to now. Never more than its cap: it is gone by then."""
    if record.started_at is None or record.ended_at is not None:
        return record.cost_before + record.cost
    # Somebody may have set the clock back since it was started.
    used_us = max(0, (now - record.started_at) // timedelta(microseconds=1))
    return min(record.cap, record.cost_before + charge(used_us, record.rate))


def job_resource(record: JobRecord, now: datetime, grace: timedelta) -> Job | TrainingJob:
    """The job, of whichever kind, with its status."""
    metadata = Metadata.model_validate(record.metadata)
    status = _status(record, now, grace)
    if record.kind == "TrainingJob":
        scores = tuple(TaskScore.model_validate(each) for each in record.scores)
        whole = TrainingJobStatus.model_validate({**dict(status), "scores": scores})
        return TrainingJob(metadata=metadata, spec=TrainingJobSpec.model_validate(record.spec), status=whole)
    return Job(metadata=metadata, spec=JobSpec.model_validate(record.spec), status=status)


def _status(record: JobRecord, now: datetime, grace: timedelta) -> JobStatus:
    running = record.phase in {"Running", "Serving"} and record.started_at is not None and record.ended_at is None
    deadline = None
    if running and record.started_at is not None:
        deadline = record.started_at + timedelta(seconds=deadlines_of(record, grace).ask_us / SECOND_US)
    return JobStatus(
        phase=record.phase,
        reason=record.reason,
        message=record.message,
        until=record.until_at,
        until_kind=record.until_kind,
        exit_code=record.exit_code,
        working_dir=_working_dir(record),
        cost_usd=usd_from_nano(cost_nano(record, now)),
        cap_usd=usd_from_nano(record.cap) if record.cap != nano_from_usd(record.job.max_cost_usd) else None,
        earlier_usd=usd_from_nano(record.cost_before),
        attempt=record.attempt,
        devices=tuple(record.devices),
        device_names=tuple(record.device_names),
        hardware=record.hardware,
        energy_wh=round(record.energy["joules"] / _JOULES_PER_WH, 6) if "joules" in record.energy else None,
        progress=record.progress,
        outputs=tuple(OutputFile.model_validate(each) for each in record.outputs),
        rate_usd=usd_from_nano(record.rate),
        notes=tuple(record.notes),
        created_at=record.created_at,
        started_at=record.started_at,
        ended_at=record.ended_at,
        deadline_at=deadline,
        serving=serving_status(record),
    )


def _working_dir(record: JobRecord) -> str | None:
    """Of a command that names one. A TrainingJob and an image have their own."""
    named = record.job.working_dir if record.kind == "Job" and record.job.image is None else None
    return None if named is None else str(PurePath(record.folder or "/") / named)


def created(record: JobRecord, now: datetime, grace: timedelta) -> Sequence[Statement]:
    """The statements that make a job, and tell of it."""
    job = job_resource(record, now, grace)
    status = job.status.to_document() if job.status else {}
    told = event(now, "Created", record.kind, job.name, status=status, spec=job.spec.to_document(), metadata=job.metadata.to_document())
    return record.save(), told


def told(record: JobRecord, now: datetime, grace: timedelta) -> Sequence[Statement]:
    """The statements that write a job's row, and tell what changed of its status."""
    job = job_resource(record, now, grace)
    status = job.status.to_document() if job.status else {}
    changed = {name: value for name, value in status.items() if record.published.get(name, ...) != value}
    record.published = status
    return (record.save(), event(now, "Changed", record.kind, job.name, status=changed)) if changed else (record.save(),)
