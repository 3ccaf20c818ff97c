"""From a box's record to what the contract tells of it. Pure."""

from collections.abc import Sequence
from datetime import datetime

from local_backend.sandbox_kind.limits import Limits, cost_of, limits_of
from local_backend.storage.records import event
from local_backend.storage.sandbox_records import SandboxRecord
from local_backend.storage.store import Statement
from nodus_tui.contract.money import usd_from_nano
from nodus_tui.contract.resources.meta import Metadata
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxStatus


def record_limits(record: SandboxRecord) -> Limits:
    """The limits of a box. Raises ValueError for a cap that is refused when it is applied."""
    spec = record.box
    return limits_of(cap=record.cap, rate=record.rate, idle=spec.idle_timeout, lifetime=spec.max_lifetime)


def cost_nano(record: SandboxRecord, now: datetime) -> int:
    """What it has cost up to now."""
    if record.started_at is None or record.ended_at is not None:
        return record.cost
    end = record_limits(record).end
    return cost_of(cap=record.cap, rate=record.rate, started_at=record.started_at, ended_at=now, end=end)


def sandbox_resource(record: SandboxRecord, now: datetime) -> Sandbox:
    """The Sandbox with its status."""
    running = record.phase == "Running"
    stops_at = record.started_at + record_limits(record).ask if running and record.started_at is not None else None
    return Sandbox(
        metadata=Metadata.model_validate(record.metadata),
        spec=record.box,
        status=SandboxStatus(
            phase=record.phase,
            reason=record.reason,
            message=record.message,
            until=record.until_at,
            until_kind=record.until_kind,
            hardware=record.hardware,
            devices=tuple(record.devices),
            device_names=tuple(record.device_names),
            engine=record.engine,
            isolation="weaker" if record.weaker else "full",
            image=record.image,
            cost_usd=usd_from_nano(cost_nano(record, now)),
            rate_usd=usd_from_nano(record.rate),
            created_at=record.created_at,
            started_at=record.started_at,
            ended_at=record.ended_at,
            commands=record.commands,
            idle_since=record.idle_since if running else None,
            stops_at=stops_at,
            files_kept=record.kept,
            notes=tuple(record.notes),
        ),
    )


def created(record: SandboxRecord, now: datetime) -> Sequence[Statement]:
    """The statements that make a box, and tell of it."""
    made = sandbox_resource(record, now)
    status = made.status.to_document() if made.status else {}
    told_of = event(now, "Created", "Sandbox", made.name, status=status, spec=made.spec.to_document(), metadata=made.metadata.to_document())
    return record.save(), told_of


def told(record: SandboxRecord, now: datetime) -> Sequence[Statement]:
    """The statements that write a box's row, and tell what changed of its status."""
    found = sandbox_resource(record, now)
    status = found.status.to_document() if found.status else {}
    changed = {name: value for name, value in status.items() if record.published.get(name, ...) != value}
    record.published = status
    return (record.save(), event(now, "Changed", "Sandbox", found.name, status=changed)) if changed else (record.save(),)
