"""The devices of jobs: asked for while a job waits, held by its supervisor while it runs, given back when all of it has ended."""

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from local_backend.devices.allocation import Claim, Offer, Waits
from local_backend.devices.desk import DeviceDesk, Lease
from local_backend.devices.device_files import NoFileError, hidden_files
from local_backend.devices.wanted import Wanted, wanted_of
from local_backend.jobs.deadlines import SECOND_US, Deadlines
from local_backend.storage.job_records import JobRecord
from nodus_tui.contract.money import nano_ceiling
from nodus_tui.statistics.hardware_rates import CPU, slice_rate

DEV = Path("/dev")
_CAP_SYS_ADMIN = 21
_READINGS_EVERY = timedelta(seconds=30)


class Ready(Struct, frozen=True):
    """A job may start, as far as devices are concerned."""

    hardware: str
    """The name that it is given them under; `CPU` where it needs none."""
    rate: int
    """Nano-dollars an hour."""
    offer: Offer | None = None


class JobDevices:
    """Those of one engine."""

    def __init__(self, desk: DeviceDesk, rates: Mapping[str, Any]) -> None:
        self._desk = desk
        self._rates = rates
        self._leases: dict[str, Lease] = {}
        self._waiting: dict[str, str] = {}
        """Jobs with a place in the desk's queue, and their keys there."""
        self._answers: dict[str, tuple[int, Waits]] = {}
        """Why jobs wait, and as of when: many may wait, and they ask often."""
        self._read_at: dict[str, datetime] = {}
        self._forecasts: dict[str, tuple[float, datetime]] = {}
        """Progress that a job told, and the end that follows from it."""

    # Waiting.

    @property
    def somebody_waits(self) -> bool:
        """Whether anybody, job or not, waits for devices."""
        return self._desk.somebody_waits

    def ask(self, record: JobRecord) -> Ready | Waits | None:
        """Whether it may start now; None where the machine must be looked at first. Who waits has a place in the queue from then on."""
        wanted = self._wanted(record)
        if wanted is None:
            return self._without(record)
        answer = self._answers.get(record.name)
        if answer is not None and answer[0] == self._desk.version and record.name in self._waiting:
            return answer[1]
        self._waiting[record.name] = _key(record)
        found = self._desk.ask(_key(record), _who(record), wanted)
        if isinstance(found, Waits) and CPU not in record.choices:
            self._answers[record.name] = self._desk.version, found
        if isinstance(found, Offer):
            return Ready(found.hardware, self._desk.tariff(found).rate, found)
        if found is not None and CPU in record.choices:
            self.withdraw(record)
            return self._without(record)
        return found

    def _without(self, record: JobRecord) -> Ready:
        if CPU not in record.choices:
            return Ready(CPU, record.rate)
        spec = record.job
        rate = slice_rate(self._rates, CPU, spec.cpus, spec.memory_gib)
        return Ready(CPU, 0 if rate is None else nano_ceiling(rate))

    def _wanted(self, record: JobRecord) -> Wanted | None:
        before_cpu = record.choices[: record.choices.index(CPU)] if CPU in record.choices else record.choices
        return None if record.choices and not before_cpu else wanted_of(record.job, before_cpu)

    def take(self, record: JobRecord, ready: Ready) -> bool:
        """Take what it may have, and write down what and for how much; False where somebody else of this machine was quicker."""
        wanted = self._wanted(record)
        lease = None
        if ready.offer is not None and wanted is not None:
            lease = self._desk.take(_key(record), _who(record), wanted, ready.offer)
            if lease is None:
                return False
            self._waiting.pop(record.name, None)
            self._leases[record.name] = lease
        record.devices = list(lease.uuids) if lease is not None else []
        record.device_names = list(lease.labels) if lease is not None else []
        record.hardware = ready.hardware if lease is not None or CPU in record.choices else ""
        record.rate = lease.tariff.rate if lease is not None else ready.rate
        record.energy = {**record.energy, "meter": lease.readings} if lease is not None and lease.meter is not None else record.energy
        return True

    def withdraw(self, record: JobRecord) -> None:
        """It waits for something else, or no more."""
        if self._waiting.pop(record.name, None) is not None:
            self._desk.withdraw(_key(record))

    # Running.

    def adopt(self, record: JobRecord) -> None:
        """It was started by an earlier scheduler, and its supervisor holds what it was given."""
        if not record.devices:
            return
        since = record.started_at or record.created_at
        claim = Claim(_key(record), _who(record), record.hardware, tuple(record.devices), record.job.share_accelerators, since)
        self._leases[record.name] = self._desk.adopt(claim, record.rate, record.energy.get("meter") or {})

    def descriptors(self, record: JobRecord) -> tuple[int, ...]:
        """What its supervisor must inherit, so that nobody else of this machine takes its devices."""
        lease = self._leases.get(record.name)
        return lease.descriptors if lease is not None else ()

    def handed_over(self, record: JobRecord) -> None:
        """Its supervisor has them."""
        if record.name in self._leases:
            self._leases[record.name].hand_over()

    def places(self, record: JobRecord) -> list[tuple[str, str]]:
        """Uuid and place of each, as the driver counts."""
        lease = self._leases.get(record.name)
        return [(each.uuid, each.place) for each in lease.devices] if lease is not None else []

    def hidden(self, record: JobRecord) -> tuple[list[str], list[str]]:
        """The files of devices that its command must not open, and what is to be said where they cannot be hidden. Blocking."""
        lease = self._leases.get(record.name)
        try:
            files = list(hidden_files(lease.devices if lease is not None else (), DEV))
        except NoFileError as error:
            return [], [f"Other devices could not be hidden from it: {error}."]
        if not files or _may_mount():
            return files, []
        return [], [_OPEN] if lease is not None else []

    def started(self, record: JobRecord) -> None:
        """Its time begins."""
        lease = self._leases.get(record.name)
        if lease is not None and lease.meter is not None and record.started_at is not None:
            self._desk.started(_key(record), record.started_at)
            record.energy = {**record.energy, "meter": lease.readings}

    def expect(self, record: JobRecord, deadlines: Deadlines, now: datetime) -> None:
        """When it gives its devices back: by what it tells of its progress, and at its deadline at the latest."""
        if record.name not in self._leases or record.started_at is None:
            return
        latest = record.started_at + timedelta(seconds=(deadlines.last_us or deadlines.ask_us) / SECOND_US)
        if record.progress:
            if self._forecasts.get(record.name, (None, None))[0] != record.progress:
                # By what it had done when it told so: from then on the forecast stays, whatever the time.
                self._forecasts[record.name] = record.progress, record.started_at + (now - record.started_at) / record.progress
            forecast = self._forecasts[record.name][1]
            if forecast < latest:
                self._desk.expect(_key(record), forecast, "About")
                return
        self._desk.expect(_key(record), latest)

    def readings_due(self, record: JobRecord, now: datetime) -> bool:
        """Whether what was measured is to be written down again; then it stands in the record."""
        lease = self._leases.get(record.name)
        if lease is None or lease.meter is None or now - self._read_at.get(record.name, now - _READINGS_EVERY) < _READINGS_EVERY:
            return False
        self._read_at[record.name] = now
        record.energy = {**record.energy, "meter": lease.readings}
        return True

    # The end.

    def settle(self, record: JobRecord, ended_at: datetime) -> tuple[int | None, str]:
        """What its devices' electricity cost, None where that is not measured; and a sentence about it, where there is one."""
        used = self._desk.settle(_key(record), ended_at)
        if used is None:
            return None, ""
        record.energy = {"joules": record.energy.get("joules", 0.0) + used.joules}
        return used.cost, used.note

    def release(self, record: JobRecord) -> None:
        """All of it has ended, or it never began."""
        self.withdraw(record)
        self._read_at.pop(record.name, None)
        self._answers.pop(record.name, None)
        self._forecasts.pop(record.name, None)
        if self._leases.pop(record.name, None) is not None:
            self._desk.release(_key(record))

    def not_begun(self, record: JobRecord) -> None:
        """Its launch was given up before it began: it waits again."""
        self.release(record)
        record.devices, record.device_names, record.hardware = [], [], ""

    def aclose(self) -> None:
        """Let go: supervisors hold what their jobs have, and the next engine finds it by the records."""
        for key in self._waiting.values():
            self._desk.withdraw(key)
        for lease in self._leases.values():
            self._desk.release(lease.key)
        self._waiting.clear()
        self._leases.clear()


_OPEN = (
    "It could open the files of other devices: only root with CAP_SYS_ADMIN can hide them from a command. What goes by CUDA's variables "
    "sees its own alone."
)


_METERED = (
    "Its devices cost the electricity that they take. While it runs, its cost is told at their power limits; in the end what was measured "
    "counts."
)


def energy_notes(record: JobRecord) -> list[str]:
    """What is to be said of how its devices' electricity is counted."""
    found = record.energy.get("note")
    return [_METERED] if "meter" in record.energy else [str(found)] if found else []


def _key(record: JobRecord) -> str:
    return f"{record.kind}/{record.name}"


def _who(record: JobRecord) -> str:
    return f"job {record.name}"


def _may_mount() -> bool:
    fields = dict(line.partition(":")[::2] for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    return os.geteuid() == 0 and bool(int(fields["CapEff"], 16) >> _CAP_SYS_ADMIN & 1)
