"""The devices of one sandbox: waited for before it is made, given back when it has stopped, also where it only rests."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from local_backend.devices.allocation import Waits
from local_backend.devices.desk import DeviceDesk, Lease, Used
from local_backend.devices.device_files import sandbox_devices
from local_backend.devices.wanted import Wanted
from local_backend.sandboxes.interface import Sandbox, SandboxDevice


class Holding:
    """Those of one holder; `wanted` is None for one that needs no device. `key` is kind and name, as in `Sandbox/scratch`."""

    def __init__(self, desk: DeviceDesk, key: str, who: str, wanted: Wanted | None) -> None:
        self._desk = desk
        self._key = key
        self._who = who
        self._wanted = wanted
        self.lease: Lease | None = None
        """What it has now."""

    async def take(self, waits: Callable[[Waits], Awaitable[None]]) -> Lease | None:
        """Wait for it in the queue, telling why; None where no device is needed. Cancelled, it waits no more."""
        if self._wanted is not None and self.lease is None:
            self.lease = await self._desk.lease(self._key, self._who, self._wanted, waits)
        return self.lease

    async def for_sandbox(self) -> tuple[SandboxDevice, ...]:
        """The same as a sandbox is given them."""
        return () if self.lease is None else await asyncio.to_thread(sandbox_devices, self.lease.devices)

    def used_by(self, sandbox: Sandbox, started_at: datetime, until: datetime) -> None:
        """The sandbox is up since then: what runs in it is the holder's, and it ends by `until` at the latest."""
        if self.lease is not None:
            self.lease.places.add(sandbox.id)
            self._desk.started(self._key, started_at)
            self._desk.expect(self._key, until)

    def settle(self, now: datetime) -> Used | None:
        """What its electricity was; None where that is not measured. The sandbox has stopped."""
        return self._desk.settle(self._key, now) if self.lease is not None else None

    def give_back(self) -> None:
        """Nothing of the holder is on them any more."""
        if self.lease is not None:
            self.lease = None
            self._desk.release(self._key)
