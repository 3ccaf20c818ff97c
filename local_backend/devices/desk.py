"""The one place where a workspace's devices are asked for: by jobs, by the sandboxes of runs, and by sandboxes on their own.

It looks at the machine while somebody waits, and while electricity is measured; otherwise it costs nothing. What it gives is a lease, which
is claimed before the whole machine as well, so that no other workspace or user gives the same device to somebody else.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from local_backend.devices import machine_claims
from local_backend.devices.allocation import Allocator, Claim, Elsewhere, Offer, Seen, Waits, refusal
from local_backend.devices.energy import Meter
from local_backend.devices.inventory import MIB, Belongings, Device, devices_of, strangers
from local_backend.devices.machine_claims import MachineClaim, TakenError
from local_backend.devices.pricing import Pricing, Tariff
from local_backend.devices.wanted import Wanted, named
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.money import usd_from_nano
from nodus_tui.contract.phases import UntilKind
from nodus_tui.statistics.hardware_rates import CPU

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from nodus_tui.contract.configuration import HardwareSettings
    from nodus_tui.contract.hardware_view import DeviceHolder, HardwareView

_log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often it looks at the machine while somebody waits. Nothing is given by a look that is older than two of these."""
_ASK_AGAIN_SECONDS = 10.0
"""Whoever waits asks again after so long also where nothing was heard."""
PREPARING = timedelta(seconds=5)
"""What is given for longer than this before it is used is not paid for from the beginning."""
SILENT = timedelta(seconds=5)
"""Figures that are older mean that the machine does not answer."""


class Lease(Struct, eq=False):
    """Devices that somebody has. Given back by `release`, once it does nothing on them any more."""

    key: str
    hardware: str
    """The name that they were given under."""
    devices: tuple[Device, ...]
    tariff: Tariff
    """What they cost together."""
    places: set[str] = field(default_factory=set)
    """Sandboxes of its holder, by their names at the engine: what runs in them is the holder's."""
    claim: MachineClaim | None = None
    """Before the machine, as long as this process holds it there."""
    meter: Meter | None = None
    """Where electricity is what they cost."""

    @property
    def uuids(self) -> tuple[str, ...]:
        """The devices, by what stays theirs."""
        return tuple(each.uuid for each in self.devices)

    @property
    def labels(self) -> tuple[str, ...]:
        """The same for people, as they are numbered now."""
        return tuple(each.label for each in self.devices)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What a process must inherit to hold the devices before the machine after this one has ended."""
        return self.claim.descriptors if self.claim is not None else ()

    def hand_over(self) -> None:
        """Another process has inherited them, and holds them from here on."""
        if self.claim is not None:
            self.claim.close()
            self.claim = None

    @property
    def readings(self) -> dict[str, Any]:
        """What is measured, to be kept; empty where nothing is."""
        return self.meter.to_document() if self.meter is not None else {}


class Used(Struct, frozen=True):
    """The electricity that devices took."""

    cost: int
    """Nano-dollars."""
    joules: float
    assumed_seconds: float
    """Device time for which their power limits counted, because nothing else was told."""

    @property
    def note(self) -> str:
        """What is to be said of it; empty where all of it was measured."""
        if self.assumed_seconds < 1:
            return ""
        return f"The power of its devices was not told for {self.assumed_seconds:.0f} s: their power limits count there."


class DeviceDesk:
    """One a backend; used on one event loop. `look` gives this machine as it is now."""

    def __init__(
        self,
        look: Callable[[], Awaitable[HardwareView]],
        settings: HardwareSettings,
        pricing: Pricing,
        clock: Callable[[], datetime],
    ) -> None:
        self._look = look
        self._clock = clock
        self._settings = settings
        self.pricing = pricing
        self._allocator = Allocator(self._gives, settings.shared_holders)
        self._leases: dict[str, Lease] = {}
        self._view: HardwareView | None = None
        self._looked_at: datetime | None = None
        self._looking: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._closed = False
        self.version = 0
        """Grows whenever somebody who waits may be told something else."""

    def means(self, name: str, device: Device) -> bool:
        """Whether a name of hardware means a device here."""
        return named(self._settings.devices, name, device)

    def _gives(self, name: str, device: Device) -> bool:
        return self.means(name, device) and self.pricing.of(name, (device,)) is not None

    # What is here.

    async def assess(self, wanted: Wanted) -> tuple[str, int | None]:
        """Why this machine can never give it, as a sentence without a subject (empty where it can); and what an hour of it costs at most.

        The second is None where nothing is known of its price, of which the first says so.
        """
        try:
            view = await self._look()
        except NodusError as error:
            return f"this machine's devices cannot be looked at: {error.detail}", None
        devices = devices_of(view)
        request = wanted.request("", "")
        price = self.pricing.dearest(wanted.names, wanted.count, devices, self.means)
        reason = refusal(request, devices, self.means, view.notes)
        return reason or (refusal(request, devices, self._gives) and _unpriced(wanted)), price

    async def electric_rates(self, names: Iterable[str]) -> dict[str, Decimal]:
        """US dollars an hour at most of one device under each of these names, where electricity is what it costs here."""
        wanted = [name for name in names if name != CPU]
        if self.pricing.usd_per_kwh is None or not wanted:
            return {}
        try:
            devices = devices_of(await self._look())
        except NodusError:
            return {}  # An estimate goes by the price list then.
        found = {
            name: [tariff for each in devices if self.means(name, each) and (tariff := self.pricing.of(name, (each,)))] for name in wanted
        }
        return {
            name: usd_from_nano(max(tariff.rate for tariff in tariffs))
            for name, tariffs in found.items()
            if any(tariff.metered for tariff in tariffs)
        }

    def holders(self) -> Mapping[str, tuple[DeviceHolder, ...]]:
        """Who has been given each device, by uuid."""
        from nodus_tui.contract.hardware_view import DeviceHolder  # noqa: PLC0415 - for who looks at devices

        found: dict[str, tuple[DeviceHolder, ...]] = {}
        for claim in self._allocator.claims.values():
            kind, _, name = claim.key.partition("/")
            holder = DeviceHolder(
                kind=kind, name=name, shared=claim.shared, since=claim.since, until=claim.until, until_kind=claim.until_kind
            )
            for uuid in claim.uuids:
                found[uuid] = (*found.get(uuid, ()), holder)
        return found

    # Asking.

    @property
    def somebody_waits(self) -> bool:
        """Whether anybody has a place in the queue."""
        return bool(self._allocator.waiting)

    def ask(self, key: str, who: str, wanted: Wanted) -> Offer | Waits | None:
        """What may be taken now, or why nothing may; None where the machine is looked at first: `change` tells when it was.

        Whoever asks has a place in the queue from the first time on, until it takes something or withdraws.
        """
        request = wanted.request(key, who)
        found = self._allocator.ask(request)
        fresh = self._is_fresh()
        self._go_on_looking()
        if not fresh:
            return None
        devices = self._allocator.devices()
        if isinstance(found, Waits) and refusal(request, devices, self._gives) and not refusal(request, devices, self.means):
            return Waits(_unpriced(wanted))
        return found

    def tariff(self, offer: Offer) -> Tariff:
        """What it would cost."""
        tariff = self.pricing.of(offer.hardware, [each for each in self._allocator.devices() if each.uuid in offer.uuids])
        if tariff is None:
            raise ValueError(f"{offer.hardware} was offered, and has no price")
        return tariff

    def take(self, key: str, who: str, wanted: Wanted, offer: Offer) -> Lease | None:
        """Take what was offered in this same step; None where another workspace of this machine has just taken it, and it waits on."""
        request = wanted.request(key, who)
        try:
            claim = machine_claims.claim(offer.uuids, shared=wanted.shared, places=self._settings.shared_holders)
        except TakenError:
            self._see()
            return None
        now = self._clock()
        self._allocator.take(request, offer, now)
        by_uuid = {each.uuid: each for each in self._allocator.devices()}
        devices = tuple(by_uuid[uuid] for uuid in offer.uuids)
        tariff = self.tariff(offer)
        lease = Lease(key, offer.hardware, devices, tariff, claim=claim)
        if tariff.metered:
            lease.meter = Meter.begin(devices, now)
        self._leases[key] = lease
        self._tell()
        return lease

    def adopt(self, claim: Claim, rate: int, meter: Mapping[str, Any]) -> Lease:
        """What somebody was given by an earlier scheduler and has still: its own process holds it before the machine."""
        self._allocator.adopt(claim)
        devices = tuple(Device(uuid, "", claim.hardware) for uuid in claim.uuids)
        lease = Lease(claim.key, claim.hardware, devices, Tariff(rate, metered=bool(meter)))
        if meter:
            lease.meter = Meter.of(meter)
        self._leases[claim.key] = lease
        self._go_on_looking()
        return lease

    async def lease(self, key: str, who: str, wanted: Wanted, waits: Callable[[Waits], Awaitable[None]]) -> Lease:
        """Wait for it in the queue, telling why. Cancelled, it waits no more."""
        try:
            while True:
                changed = self._changed
                found = self.ask(key, who, wanted)
                if isinstance(found, Offer) and (lease := self.take(key, who, wanted, found)) is not None:
                    return lease
                if isinstance(found, Waits):
                    await waits(found)
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), _ASK_AGAIN_SECONDS)
        except BaseException:
            self.withdraw(key)
            raise

    def withdraw(self, key: str) -> None:
        """Somebody waits no more."""
        if self._allocator.withdraw(key):
            self._tell()

    def started(self, key: str, at: datetime) -> None:
        """Somebody's time begins: what its devices took before, while an image was fetched for it, say, is not its to pay.

        A start that follows at once, or is heard of late only, leaves the count as it is: no sample lies nearer to it.
        """
        lease = self._leases.get(key)
        if lease is None or lease.meter is None:
            return
        if at - self._allocator.claims[key].since > PREPARING and self._clock() - at <= PREPARING:
            now = {each.uuid: each for each in self._allocator.devices()}
            lease.meter = Meter.begin((now.get(each.uuid, each) for each in lease.devices), at)

    def expect(self, key: str, until: datetime | None, kind: UntilKind = "AtLatest") -> None:
        """When somebody gives back what it has, as far as that is known now."""
        self._allocator.expect(key, until, kind)

    def release(self, key: str) -> None:
        """Somebody has given back what it had; nothing of it is on the devices any more. Does nothing where it has nothing."""
        lease = self._leases.pop(key, None)
        if lease is not None:
            lease.hand_over()
        self._allocator.release(key)
        # Its processes are still in the last look.
        self._see()
        self._tell()

    def settle(self, key: str, until: datetime) -> Used | None:
        """What somebody's devices took until then, after which it does nothing on them any more; None where that is not measured."""
        lease = self._leases.get(key)
        if lease is None or lease.meter is None:
            return None
        lease.meter.settle(until, self._allocator.devices(), self._view.at if self._view is not None else None)
        return Used(self.pricing.energy_nano(lease.meter.joules), lease.meter.joules, lease.meter.assumed_seconds)

    # Looking.

    def _is_fresh(self) -> bool:
        return self._looked_at is not None and self._clock() - self._looked_at <= timedelta(seconds=2 * LOOK_SECONDS)

    @property
    def change(self) -> asyncio.Event:
        """Set when something may have come free; a new one each time."""
        return self._changed

    def _tell(self) -> None:
        self.version += 1
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _go_on_looking(self) -> None:
        wanted = bool(self._allocator.waiting) or any(each.meter is not None for each in self._leases.values())
        if wanted and not self._closed and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_on(), name="devices for those who wait")

    async def _look_on(self) -> None:
        try:
            while self._allocator.waiting or any(each.meter is not None for each in self._leases.values()):
                self._view = await self._look()
                self._looked_at = self._clock()
                self._see()
                self._measure()
                self._tell()
                await asyncio.sleep(LOOK_SECONDS)
        except NodusError as error:
            _log.warning("this machine's devices cannot be looked at: %s", error.detail)

    def _see(self) -> None:
        if self._view is None:
            return
        held = machine_claims.held()
        silent = self._clock() - self._view.at > SILENT
        self._allocator.see(self._seen(each, held, silent=silent) for each in devices_of(self._view))

    def _seen(self, device: Device, held: Mapping[str, Elsewhere], *, silent: bool) -> Seen:
        if silent and device.responding:
            device = Device(device.uuid, device.place, device.name, device.memory_bytes, responding=False)
        claims = self._allocator.holders(device.uuid)
        elsewhere = _without(held.get(machine_claims.plain(device.uuid), Elsewhere()), claims)
        if elsewhere.alone or elsewhere.shares:
            # Who is on it besides our own is taken for them: which process is whose cannot be told.
            return Seen(device, (), elsewhere)
        idle = self._settings.idle_memory_mib * MIB
        return Seen(device, strangers(device, self._belongings(claims), held=bool(claims), idle_memory_bytes=idle))

    def _belongings(self, claims: Iterable[Claim]) -> Belongings:
        keys = [each.key.partition("/") for each in claims]
        return Belongings(
            runs={name for kind, _, name in keys if kind == "AgentRun"},
            jobs={name for kind, _, name in keys if kind in {"Job", "TrainingJob"}},
            sandboxes={place for claim in claims if claim.key in self._leases for place in self._leases[claim.key].places},
        )

    def _measure(self) -> None:
        if self._view is None:
            return
        devices = self._allocator.devices()
        for lease in self._leases.values():
            if lease.meter is not None:
                sharers = {uuid: max(1, self._allocator.sharers(uuid)) for uuid in lease.uuids}
                lease.meter.take(devices, self._view.at, sharers)

    async def aclose(self) -> None:
        """Stop looking; what this process claimed before the machine is free with it."""
        self._closed = True
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
        for lease in self._leases.values():
            lease.hand_over()


def _unpriced(wanted: Wanted) -> str:
    names = " or ".join(wanted.names)
    return f"nothing is known of what {names} costs: set an hourly rate under `rates` in the configuration, 0 where it costs nothing"


def _without(found: Elsewhere, ours: Sequence[Claim]) -> Elsewhere:
    """What is claimed of a device, without what this workspace claimed itself."""
    alone = any(not each.shared for each in ours)
    shares = sum(each.shared for each in ours)
    return Elsewhere("" if alone else found.alone, max(0, found.shares - shares))
