"""The devices of one run's sandbox, as its books have them and as people are told of its waiting."""

from datetime import datetime, timedelta

from local_backend.devices.allocation import Waits
from local_backend.devices.desk import DeviceDesk
from local_backend.devices.holding import Holding
from local_backend.devices.wanted import wanted_of
from local_backend.episodes.metering import GroupBooks
from local_backend.episodes.stop import StopSignal
from local_backend.sandboxes.interface import Sandbox, SandboxDevice
from local_backend.storage.records import RunRecord, SandboxUse
from nodus_tui.contract.phases import Reason


class RunDevices:
    """Those of one run."""

    def __init__(self, desk: DeviceDesk, books: GroupBooks, run: RunRecord, stop: StopSignal) -> None:
        self._books = books
        self._run = run
        self._stop = stop
        self._holding = Holding(desk, f"AgentRun/{run.name}", f"run {run.name}", wanted_of(books.agent.sandbox))

    async def take(self, use: SandboxUse) -> tuple[SandboxDevice, ...]:
        """Wait for what the agent's sandbox asks for, and enter it in its books. Raises StoppedError."""
        lease = await self._stop.wait_softly(self._holding.take(self._tell))
        if lease is not None:
            use.hardware, use.devices, use.rate = lease.hardware, list(lease.uuids), lease.tariff.rate
            use.device_names = list(lease.labels)
        return await self._holding.for_sandbox()

    async def _tell(self, waits: Waits) -> None:
        await self._books.waits(self._run, Reason.WAITING_FOR_DEVICE, waits.message, waits.until, waits.until_kind)

    def used_by(self, sandbox: Sandbox, started_at: datetime, lifetime_seconds: float) -> None:
        """The sandbox is up, and ends so long after its start at the latest, or with its group's time."""
        latest, deadline = started_at + timedelta(seconds=lifetime_seconds), self._books.group.deadline_at
        self._holding.used_by(sandbox, started_at, latest if deadline is None else min(latest, deadline))

    def settle(self, now: datetime) -> int | None:
        """What the devices' electricity cost, in nano-dollars; None where that is not measured. The sandbox has stopped."""
        used = self._holding.settle(now)
        return used.cost if used is not None else None

    def give_back(self) -> None:
        """Nothing of the run is on them any more."""
        self._holding.give_back()
