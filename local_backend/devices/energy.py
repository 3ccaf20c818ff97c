"""How much electricity devices took while somebody held them: from the device's own counter, else from samples of its power. Pure.

Where neither is told, the power limit counts for that time, and the time is known.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from local_backend.devices.inventory import Device
from nodus_tui.values import fields_of

GAP_SECONDS = 10.0
"""Samples of power that are further apart say nothing about the time between them."""


class _Last(Struct):
    """The last that is known of one device."""

    at: str
    energy_j: float | None
    power_w: float | None
    limit_w: float


class Meter(Struct):
    """One holder's devices."""

    joules: float = 0.0
    assumed_seconds: float = 0.0
    """For which the limit counted, added up over the devices."""
    last: dict[str, _Last] = field(default_factory=dict)

    @classmethod
    def begin(cls, devices: Iterable[Device], at: datetime) -> "Meter":
        """They are held from now on; each tells its power limit."""
        return cls(last={each.uuid: _last(each, at, each.power_limit_w or 0.0) for each in devices})

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Meter":
        """What `to_document` made."""
        return cls(**{**document, "last": {uuid: _Last(**each) for uuid, each in document["last"].items()}})

    def to_document(self) -> dict[str, Any]:
        """As JSON types, to go on from later."""
        return fields_of(self)

    def take(self, devices: Iterable[Device], at: datetime, sharers: Mapping[str, int]) -> None:
        """A sample. Of a device that others share, an equal part counts."""
        for device in devices:
            before = self.last.get(device.uuid)
            if before is None or not device.responding:
                continue
            self._add(before, device.energy_j, device.power_w, at, sharers.get(device.uuid, 1))
            self.last[device.uuid] = _last(device, at, before.limit_w)

    def settle(self, at: datetime, devices: Iterable[Device] = (), sampled: datetime | None = None) -> None:
        """They are held no more since then. With a sample of a later time, no more than what was taken up to it counts."""
        now = {each.uuid: each for each in devices if each.responding}
        for uuid, before in self.last.items():
            seconds = max(0.0, (at - _time(before)).total_seconds())
            energy = now[uuid].energy_j if uuid in now else None
            if energy is not None and before.energy_j is not None and energy >= before.energy_j and sampled is not None and sampled >= at:
                self.joules += min(energy - before.energy_j, before.limit_w * seconds)
            else:
                self._add(before, None, before.power_w, at, 1)
            before.at = at.isoformat()

    def _add(self, before: _Last, energy: float | None, power: float | None, at: datetime, sharers: int) -> None:
        seconds = max(0.0, (at - _time(before)).total_seconds())
        if energy is not None and before.energy_j is not None and energy >= before.energy_j:
            self.joules += (energy - before.energy_j) / sharers
        elif power is not None and before.power_w is not None and seconds <= GAP_SECONDS:
            self.joules += (power + before.power_w) / 2 * seconds / sharers
        else:
            # Also where the counter began anew with its driver.
            self.joules += before.limit_w * seconds
            self.assumed_seconds += seconds


def _last(device: Device, at: datetime, limit: float) -> _Last:
    return _Last(at.isoformat(), device.energy_j, device.power_w, limit)


def _time(last: _Last) -> datetime:
    return datetime.fromisoformat(last.at)
