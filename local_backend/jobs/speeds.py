"""How fast models were scored on this machine: one row by hardware and model, the newest measurement. For estimates."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from local_backend.jobs.telling import Measurement
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import time_text
from local_backend.storage.store import Statement, Store

_PUT = (
    "INSERT INTO speeds (hardware, model, samples, seconds, devices, measured_at) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (hardware, model) DO UPDATE SET samples = excluded.samples, seconds = excluded.seconds, devices = excluded.devices, "
    "measured_at = excluded.measured_at"
)


def measured(record: JobRecord, measurement: Measurement, now: datetime) -> Statement:
    """The statement that keeps what a job measured."""
    hardware = record.hardware or record.job.hardware
    values = (hardware, measurement.model, measurement.samples, measurement.seconds, measurement.devices, time_text(now))
    return _PUT, values


class Speed(Struct, frozen=True):
    """One measurement."""

    model: str
    """The address of the model, without its commit."""
    samples: int
    seconds_per_task: Decimal
    """On one device."""
    measured_at: datetime


async def speeds(store: Store, model: str) -> Mapping[str, Speed]:
    """The newest measurement by hardware: of this model where there is one, else of any."""
    rows = await store.read("SELECT * FROM speeds ORDER BY model = ?, measured_at", (model,))
    return {
        row["hardware"]: Speed(
            row["model"],
            row["samples"],
            Decimal(str(row["seconds"])) * row["devices"] / row["samples"],
            datetime.fromisoformat(row["measured_at"]),
        )
        for row in rows
    }
