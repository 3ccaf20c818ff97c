"""Devices, requests and holders for tests, without any machine."""

from datetime import UTC, datetime, timedelta
from typing import Any

from local_backend.devices.allocation import Allocator, Claim, Offer, Request, Seen, Waits
from local_backend.devices.inventory import GIB, Device
from nodus_tui.statistics.hardware_names import means

NOW = datetime(2026, 3, 1, 14, tzinfo=UTC)
H100 = "NVIDIA H100 80GB HBM3"
L4 = "NVIDIA L4"


def device(number: int, name: str = H100, *, gib: int = 80, **more: Any) -> Device:
    return Device(uuid=f"GPU-{number}", place=str(number), name=name, memory_bytes=gib * GIB, **more)


def named(name: str, device: Device) -> bool:
    return means(name, device.name, device.memory_bytes)


def allocator(*seen: Device | Seen, most_sharers: int = 4) -> Allocator:
    made = Allocator(named, most_sharers)
    made.see(each if isinstance(each, Seen) else Seen(each) for each in seen)
    return made


def request(key: str, *names: str, count: int = 1, **more: Any) -> Request:
    return Request(key, f"job {key}", names or ("H100",), count, **more)


def gets(given: Allocator, wanted: Request, now: datetime = NOW) -> Claim:
    """It asks, is offered something, and takes it."""
    offer = given.ask(wanted)
    assert isinstance(offer, Offer), offer
    return given.take(wanted, offer, now)


def waits(given: Allocator, wanted: Request) -> Waits:
    found = given.ask(wanted)
    assert isinstance(found, Waits), found
    return found


def later(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)
