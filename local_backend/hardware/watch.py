"""HardwareWatch: this machine, sampled once a second while somebody looks.

Nobody looking costs nothing: no process, no history. Somebody who looks gets the last sample at once, and waits for the first one only,
which for amounts a second takes two looks; a sample that hangs makes the figures old, and they say so.
"""

import asyncio
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from local_backend.hardware.attribution import Attribution, Place
from local_backend.hardware.probe_client import ProbeKeeper, probe_environment
from local_backend.hardware.readings import Look
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.hardware_view import (
    HISTORY_SAMPLES,
    GpuDevice,
    GpuHistory,
    GpuProcess,
    HardwareView,
    MachineFact,
    MigDevice,
)

SAMPLE_SECONDS = 1.0
LINGER_SECONDS = 30.0
"""Sampling goes on for so long after the last look, so that a screen that comes back finds its history."""
STALE_SECONDS = 3.0
"""Figures that are older say so."""
_FIRST_RATES_SECONDS = 0.25
"""Between the first sample of a probe and the second, which is the first with amounts a second."""
_PLACES_SECONDS = 2.0
"""What the engines may take to tell their sandboxes before a sample goes without."""
_FOREIGN_SECONDS = 30.0
"""Processes in no sandbox are asked about again so often."""

FindPlaces = Callable[[], Awaitable[Sequence[Place]]]
"""Every sandbox of ours on this machine; may raise nothing."""


async def no_places() -> Sequence[Place]:
    """No sandboxes: for a watch without a workspace."""
    return ()


class HardwareWatch:
    """One a backend. `clock` gives times that are shown, `steady` seconds that only grow."""

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        clock: Callable[[], datetime],
        *,
        find_places: FindPlaces = no_places,
        period: float = SAMPLE_SECONDS,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._steady = steady
        self._period = period
        self._find_places = find_places
        self._keeper = ProbeKeeper(folder, probe_environment(environ), clock=steady)
        self._attribution = Attribution()
        self._finding: asyncio.Task[None] | None = None
        self._sampling: asyncio.Task[None] | None = None
        self._sampled = asyncio.Event()
        self._seen = asyncio.Event()
        self._looked_at = float("-inf")
        self._view: HardwareView | None = None
        self._without_rates: HardwareView | None = None
        """The very first look, until it is a sample with the second one."""
        self._view_at = 0.0
        self._known: dict[str, tuple[GpuDevice, datetime]] = {}
        """Devices by uuid, and when they were last seen."""
        self._history: dict[str, deque[tuple[int | None, int | None]]] = {}
        self.samples = 0
        """Samples that were taken: what tests and benchmarks count."""

    async def view(self, *, history: bool = False, rates: bool = True) -> HardwareView:
        """The last sample; the first one is waited for, or without `rates` its first look."""
        self._looked_at = self._steady()
        if self._sampling is None or self._sampling.done():
            self._sampling = asyncio.create_task(self._sample_on(), name="hardware samples")
        view = self._told(rates=rates) or await self._first(self._sampling, rates=rates)
        age = self._steady() - self._view_at
        if age > max(STALE_SECONDS, 3 * self._period):
            view = view.model_copy(update={"notes": (*view.notes, f"these figures are {age:.0f} s old: the next sample has not come yet")})
        if not history:
            return view
        return view.model_copy(update={"devices": tuple(self._with_history(each) for each in view.devices)})

    def _told(self, *, rates: bool) -> HardwareView | None:
        return self._view or (None if rates else self._without_rates)

    async def _first(self, sampling: asyncio.Task[None], *, rates: bool) -> HardwareView:
        arrived = asyncio.create_task((self._sampled if rates else self._seen).wait())
        try:
            await asyncio.wait({arrived, sampling}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            arrived.cancel()
        view = self._told(rates=rates)
        if view is None:
            raise NodusError(ErrorCode.UNAVAILABLE, "this machine is not looked at any more: its backend is being closed")
        return view

    async def aclose(self) -> None:
        """Stop at once."""
        for task in (self._sampling, self._finding):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        self._sampling = self._finding = None
        await self._keeper.aclose()

    # Sampling

    async def _sample_on(self) -> None:
        try:
            while self._steady() - self._looked_at < LINGER_SECONDS:
                began = self._steady()
                await self._sample()
                await asyncio.sleep(max(0.0, self._period - (self._steady() - began)))
        finally:
            self._view = self._without_rates = None
            self._sampled.clear()
            self._seen.clear()
            self._history.clear()
            self._keeper.let_go()

    async def _sample(self) -> None:
        look, passed_by = await self._keeper.look()
        if self._keeper.fresh and look.machine is not None:
            if self._view is None:
                self._without_rates = await self._view_of(look, passed_by)
                self._seen.set()
            await asyncio.sleep(_FIRST_RATES_SECONDS)
            look, passed_by = await self._keeper.look()
        self._view = await self._view_of(look, passed_by)
        self._remember(self._view.devices)
        self.samples += 1
        self._seen.set()
        self._sampled.set()

    async def _view_of(self, look: Look, passed_by: Mapping[int, str]) -> HardwareView:
        await self._attribute(look)
        now = self._clock()
        known = {device.index: device for device, _ in self._known.values()}
        found = (*look.devices, *_silent(look, passed_by))
        devices = tuple(sorted((_named(each, known.get(each.index)) for each in found), key=lambda device: device.index))
        shown = tuple(self._attributed(device, look) for device in devices)
        for device in devices:
            if device.responding and device.uuid is not None:
                self._known[device.uuid] = (device, now)
        self._view_at = self._steady()
        return HardwareView(
            at=now,
            driver=look.driver,
            cuda=look.cuda,
            devices=shown,
            machine=look.machine or MachineFact(host=socket.gethostname(), notes=("it does not answer",)),
            notes=(*look.notes, *self._missing(look, shown)),
        )

    def _missing(self, look: Look, shown: Sequence[GpuDevice]) -> list[str]:
        """Devices that the driver listed before and does not any more."""
        here = {device.uuid for device in shown}
        return [
            f"{device.name or 'a device'} ({uuid}) was here until {seen:%H:%M:%S} UTC, and the driver does not list it any more"
            for uuid, (device, seen) in self._known.items()
            if uuid not in here and not look.gpu_trouble
        ]

    # Runs

    async def _attribute(self, look: Look) -> None:
        """Learn of sandboxes that are new. Engines that are slow are waited for beside the samples."""
        if self._finding is not None and not self._finding.done():
            return
        if not self._attribution.unknown(look.whereabouts, self._steady(), again_seconds=_FOREIGN_SECONDS):
            return
        self._finding = asyncio.create_task(self._find(look), name="whose processes these are")
        await asyncio.wait({self._finding}, timeout=_PLACES_SECONDS)

    async def _find(self, look: Look) -> None:
        self._attribution.take(await self._find_places(), look.whereabouts, self._steady())

    def _attributed(self, device: GpuDevice, look: Look) -> GpuDevice:
        leaves = tuple(self._attributed_leaf(leaf, look) for leaf in device.mig_devices)
        return device.model_copy(update={"processes": self._owned(device.processes, look), "mig_devices": leaves})

    def _attributed_leaf(self, leaf: MigDevice, look: Look) -> MigDevice:
        return leaf.model_copy(update={"processes": self._owned(leaf.processes, look)})

    def _owned(self, processes: Iterable[GpuProcess] | None, look: Look) -> tuple[GpuProcess, ...] | None:
        if processes is None:
            return None
        owned = []
        for process in processes:
            place = self._attribution.place_of(look.whereabouts[process.pid])
            owned.append(process if place is None else process.model_copy(update=_owner_fields(place)))
        return tuple(owned)

    # History

    def _remember(self, shown: Sequence[GpuDevice]) -> None:
        for device in shown:
            kept = self._history.setdefault(_history_key(device), deque(maxlen=HISTORY_SAMPLES))
            kept.append((device.utilization_percent, memory_percent(device)))

    def _with_history(self, device: GpuDevice) -> GpuDevice:
        kept = self._history.get(_history_key(device), ())
        history = GpuHistory(
            interval_seconds=self._period,
            utilization_percent=tuple(use for use, _ in kept),
            memory_percent=tuple(memory for _, memory in kept),
        )
        return device.model_copy(update={"history": history})


def _owner_fields(place: Place) -> dict[str, str | None]:
    of_job = place.job is not None
    return {"run": place.run, "job": place.job, "sandbox": None if of_job else place.id}


def _history_key(device: GpuDevice) -> str:
    return device.uuid or str(device.index)


def memory_percent(device: GpuDevice) -> int | None:
    """How much of its memory is allocated."""
    used, total = device.memory_used_bytes, device.memory_total_bytes
    return None if used is None or not total else round(100 * used / total)


def _silent(look: Look, passed_by: Mapping[int, str]) -> list[GpuDevice]:
    """Devices that were not asked because they hang; where NVML itself does not answer it has been told already."""
    if look.gpu_trouble:
        return []
    return [GpuDevice(index=index, uuid=None, name=None, responding=False, notes=(why,)) for index, why in passed_by.items()]


def _named(device: GpuDevice, known: GpuDevice | None) -> GpuDevice:
    """A device that does not say who it is is the one that had its index before."""
    if device.responding or device.uuid is not None or known is None:
        return device
    return device.model_copy(update={"uuid": known.uuid, "name": known.name})
