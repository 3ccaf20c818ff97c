"""Figures of machines and their devices in words, for the console and the command line alike. Pure."""

from collections.abc import Sequence

from nodus_tui.contract.hardware_view import GpuDevice, MachineFact

_GIB = 1 << 30
_LEVELS = "▁▂▃▄▅▆▇█"
UNKNOWN = "–"
"""A figure that is not told."""


def sparkline(percents: Sequence[int | None], width: int) -> str:
    """The last samples, one cell each, the newest at the right; a blank where there was no figure."""
    shown = percents[-width:] if width > 0 else ()
    cells = (" " if each is None else _LEVELS[min(7, max(0, each) * 8 // 101)] for each in shown)
    return "".join(cells).rjust(width)


def percent(value: float | None) -> str:
    """`43%`."""
    return UNKNOWN if value is None else f"{value:.0f}%"


def gib_of(used: int | None, total: int | None) -> str:
    """`1.5/80.0 GiB`, `1.8/3.5 TiB`."""
    largest = max(used or 0, total or 0)
    if used is None and total is None:
        return UNKNOWN
    unit, name = (_GIB, "GiB") if largest < 1000 * _GIB else (_GIB << 10, "TiB")
    return "/".join(UNKNOWN if each is None else f"{each / unit:.1f}" for each in (used, total)) + f" {name}"


def size_text(value: int | None) -> str:
    """`812 MiB`, `1.5 GiB`."""
    if value is None:
        return UNKNOWN
    return f"{value / _GIB:.1f} GiB" if value >= _GIB else f"{value / (1 << 20):.0f} MiB"


def watts_of(power: float | None, limit: float | None) -> str:
    """`302/700 W`."""
    if power is None and limit is None:
        return UNKNOWN
    return "/".join(UNKNOWN if each is None else f"{each:.0f}" for each in (power, limit)) + " W"


def degrees(value: int | None) -> str:
    """`43°C`."""
    return UNKNOWN if value is None else f"{value}°C"


def rate_text(rate: float | None) -> str:
    """Bytes a second: `0 B/s`, `1.2 KiB/s`, `34 GiB/s`."""
    if rate is None:
        return UNKNOWN
    units = ("B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s")
    place = 0
    while rate >= 999.5 and place < len(units) - 1:
        rate, place = rate / 1024, place + 1
    return f"{rate:.0f} {units[place]}" if place == 0 or rate >= 9.95 else f"{rate:.1f} {units[place]}"


def machine_words(machine: MachineFact) -> tuple[str, ...]:
    """CPU, memory, disk and network, a part each."""
    cpus = f" of {machine.cpus} CPUs" if machine.cpus is not None else " CPU"
    load = f", load {machine.load:.1f}" if machine.load is not None else ""
    return (
        f"{percent(machine.cpu_percent)}{cpus}{load}",
        f"memory {gib_of(machine.memory_used_bytes, machine.memory_total_bytes)}",
        f"disk {gib_of(machine.disk_used_bytes, machine.disk_total_bytes)}",
        f"read {rate_text(machine.disk_read_bytes_per_second)}, write {rate_text(machine.disk_written_bytes_per_second)}",
        f"net in {rate_text(machine.network_received_bytes_per_second)}, out {rate_text(machine.network_sent_bytes_per_second)}",
    )


def device_words(device: GpuDevice) -> tuple[str, ...]:
    """What a device tells beside the figures of its row, a part each; what it does not tell is left out."""
    parts: list[str] = []
    if (clocks := device.clocks) is not None and clocks.sm_mhz is not None:
        at_most = f" of {clocks.sm_max_mhz}" if clocks.sm_max_mhz else ""
        memory = f", memory {clocks.memory_mhz}" if clocks.memory_mhz is not None else ""
        parts.append(f"clock {clocks.sm_mhz}{at_most} MHz{memory}")
    if device.fan_percent is not None:
        parts.append(f"fan {device.fan_percent}%")
    if (pcie := device.pcie) is not None:
        link = f"PCIe {pcie.generation or UNKNOWN}×{pcie.width or UNKNOWN}"
        narrow = (pcie.width or 0) < (pcie.max_width or 0)
        could = f" (could {pcie.max_generation or UNKNOWN}×{pcie.max_width})" if narrow else ""
        parts.append(f"{link}{could}{_both_ways(pcie.received_bytes_per_second, pcie.sent_bytes_per_second)}")
    if (nvlink := device.nvlink) is not None:
        ways = _both_ways(nvlink.received_bytes_per_second, nvlink.sent_bytes_per_second)
        parts.append(f"NVLink {nvlink.active_links} of {nvlink.links} links{ways}")
    if (ecc := device.ecc) is not None:
        parts.append(_ecc_words(device) if ecc.enabled else "ECC off")
    return tuple(parts)


def _both_ways(received: float | None, sent: float | None) -> str:
    return "" if received is None and sent is None else f" in {rate_text(received)}, out {rate_text(sent)}"


def _ecc_words(device: GpuDevice) -> str:
    ecc = device.ecc
    if ecc is None:
        return ""
    uncorrected = ecc.uncorrected if ecc.uncorrected is not None else ecc.uncorrected_in_all
    if uncorrected is None and ecc.corrected is None:
        return "ECC on"
    return f"ECC errors {ecc.corrected or 0} corrected, {uncorrected or 0} not"


def warnings_of(device: GpuDevice) -> tuple[str, ...]:
    """What a person should look into: it is slowed down, its memory fails, or it does not answer."""
    found: list[str] = []
    if device.throttle_reasons:
        found.append(f"slowed down: {', '.join(device.throttle_reasons)}")
    if (ecc := device.ecc) is not None:
        if ecc.uncorrected:
            found.append(f"{ecc.uncorrected} uncorrected memory error{'s' if ecc.uncorrected != 1 else ''} since the driver was loaded")
        if ecc.remapping_pending:
            found.append("memory rows wait to be replaced: reset the device")
        if ecc.remapping_failed:
            found.append("memory rows could not be replaced: the device needs service")
    return tuple(found)
