"""Whose processes and devices this machine's are, as far as it is written down."""

from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import RunRecord
from local_backend.storage.store import Store
from nodus_tui.contract.hardware_view import DeviceHolder


async def job_launches(store: Store) -> dict[str, str]:
    """The jobs that may have processes on this machine, by the tokens of their launches."""
    rows = await store.read("SELECT name, token FROM jobs WHERE phase IN ('Pending', 'Running', 'Serving') AND token != ''")
    return {row["token"]: row["name"] for row in rows}


async def device_holders(store: Store) -> dict[str, tuple[DeviceHolder, ...]]:
    """Who has been given which device, by uuid: for a process that gives none itself."""
    found: dict[str, tuple[DeviceHolder, ...]] = {}
    jobs, runs = await store.read_many(
        [
            ("SELECT * FROM jobs WHERE phase IN ('Pending', 'Running', 'Serving') AND token != '' AND devices != '[]'", ()),
            ("SELECT * FROM runs WHERE current AND phase = 'Running' AND sandbox != ''", ()),
        ]
    )
    for row in jobs:
        job = JobRecord.from_row(row)
        holder = DeviceHolder(kind=job.kind, name=job.name, shared=job.job.share_accelerators, since=job.started_at or job.created_at)
        for uuid in job.devices:
            found[uuid] = (*found.get(uuid, ()), holder)
    for row in runs:
        run = RunRecord.from_row(row)
        if run.sandbox is not None and run.sandbox.running and run.sandbox.started_at is not None:
            for uuid in run.sandbox.devices:
                found[uuid] = (*found.get(uuid, ()), DeviceHolder(kind="AgentRun", name=run.name, since=run.sandbox.started_at))
    return found
