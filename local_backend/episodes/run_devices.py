"""The devices of one run's sandbox: waited for before the sandbox is made, given back when it has stopped, also where it only rests."""

import asyncio
from datetime import datetime, timedelta

from local_backend.devices.allocation import Waits
from local_backend.devices.desk import DeviceDesk, Lease
from local_backend.devices.device_files import sandbox_devices
from local_backend.devices.wanted import wanted_of
from local_backend.episodes.metering import GroupBooks
from local_backend.episodes.stop import StopSignal
from local_backend.sandboxes.interface import Sandbox, SandboxDevice
from local_backend.storage.records import RunRecord, SandboxUse
from nodus_tui.contract.phases import Reason


class RunDevices:
    """Those of one run."""

    def __init__(self, desk: DeviceDesk, books: GroupBooks, run: RunRecord, stop: StopSignal) -> None:
        self._desk = desk
        self._books = books
        self._run = run
        self._stop = stop
        self._wanted = wanted_of(books.agent.sandbox)
        self._lease: Lease | None = None

    @property
    def _key(self) -> str:
        return f"AgentRun/{self._run.name}"

    async def take(self, use: SandboxUse) -> tuple[SandboxDevice, ...]:
        """Wait for what the agent's sandbox asks for, and enter it in its books. Raises StoppedError."""
        if self._wanted is None:
            return ()
        lease = await self._stop.wait_softly(self._desk.lease(self._key, f"run {self._run.name}", self._wanted, self._tell))
        self._lease = lease
        use.hardware, use.devices, use.rate = lease.hardware, list(lease.uuids), lease.tariff.rate
        use.device_names = list(lease.labels)
        return await asyncio.to_thread(sandbox_devices, lease.devices)

    async def _tell(self, waits: Waits) -> None:
        await self._books.waits(self._run, Reason.WAITING_FOR_DEVICE, waits.message, waits.until, waits.until_kind)

    def used_by(self, sandbox: Sandbox, started_at: datetime, lifetime_seconds: float) -> None:
        """The sandbox is up: what runs in it is the run's, and it ends so long after its start at the latest."""
        if self._lease is None:
            return
        self._lease.places.add(sandbox.id)
        latest, deadline = started_at + timedelta(seconds=lifetime_seconds), self._books.group.deadline_at
        self._desk.expect(self._key, latest if deadline is None else min(latest, deadline))

    def settle(self, now: datetime) -> int | None:
        """What the devices' electricity cost, in nano-dollars; None where that is not measured. The sandbox has stopped."""
        used = self._desk.settle(self._key, now) if self._lease is not None else None
        return used.cost if used is not None else None

    def give_back(self) -> None:
        """Nothing of the run is on them any more."""
        if self._lease is not None:
            self._lease = None
            self._desk.release(self._key)
