"""The driver's device files: which ones a program needs for its devices, and which ones it must not open."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from local_backend.devices.inventory import Device
from local_backend.sandboxes.interface import SandboxDevice

_FILE = re.compile(r"nvidia\d+")
_CAPABILITY = re.compile(r"^DeviceFileMinor:\s*(\d+)", re.MULTILINE)
_COMMON = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
_CAPABILITIES = "nvidia-caps"


class NoFileError(Exception):
    """The driver does not tell a device's file; the text is a sentence."""


def sandbox_devices(devices: Iterable[Device], dev: Path = Path("/dev"), proc: Path = Path("/proc")) -> tuple[SandboxDevice, ...]:
    """The same devices for a sandbox, with their files; without any where the driver does not tell them. Blocking."""
    return tuple(SandboxDevice(each.uuid, each.place, _pairs(each, dev, proc)) for each in devices)


def hidden_files(devices: Iterable[Device], dev: Path = Path("/dev"), proc: Path = Path("/proc")) -> tuple[str, ...]:
    """The files of all devices but these, which a program with these must not open. Blocking. Raises NoFileError."""
    kept = {path for each in devices for path in _files(each, dev, proc)}
    found = [path for path in _there(dev) if _FILE.fullmatch(path.name)]
    found += _there(dev / _CAPABILITIES)
    return tuple(sorted(str(path) for path in found if path not in kept))


def _files(device: Device, dev: Path, proc: Path) -> Iterator[Path]:
    if device.minor is None:
        raise NoFileError(f"the driver does not tell which file in {dev} is that of device {device.place}")
    yield dev / f"nvidia{device.minor}"
    if device.gpu_instance is None:
        return
    # A slice is opened by the right to its part of the device, and to the computing instance in it.
    part = proc / "driver/nvidia/capabilities" / f"gpu{device.minor}" / "mig" / f"gi{device.gpu_instance}"
    for right in (part / "access", part / f"ci{device.compute_instance or 0}" / "access"):
        try:
            number = _CAPABILITY.search(right.read_text(encoding="ascii"))
        except OSError as error:
            raise NoFileError(f"the right to slice {device.place} cannot be found: {error.strerror} ({right})") from error
        if number is None:
            raise NoFileError(f"the right to slice {device.place} cannot be found in {right}")
        yield dev / _CAPABILITIES / f"nvidia-cap{number[1]}"


def _pairs(device: Device, dev: Path, proc: Path) -> tuple[tuple[str, str], ...]:
    """Where each is, and where programs look for it, which have the folder of devices at its usual place."""
    try:
        paths = [*_files(device, dev, proc), *_common(dev)]
    except NoFileError:
        return ()
    return tuple((str(path), str("/dev" / path.relative_to(dev))) for path in paths)


def _common(dev: Path) -> list[Path]:
    """What programs open beside the devices; not every driver makes each."""
    return [path for name in _COMMON if (path := dev / name).exists()]


def _there(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
