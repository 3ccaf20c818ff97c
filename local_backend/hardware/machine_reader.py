"""CPU, memory, disk and network of this machine, through psutil. Runs in the probe's process only: a file system may hang."""

import os
import socket
import time
from collections.abc import Callable
from typing import Any

import psutil

from local_backend.hardware.rates import Rates


class MachineReader:
    """`folder` lies on the file system that is told of. `clock` is a steady one, in seconds."""

    def __init__(self, folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._rates = Rates()

    def read(self) -> dict[str, Any]:
        """Everything under the contract's names. What the system does not tell is None, with a note."""
        notes: list[str] = []
        counters = {**_cpu_seconds(), **self._traffic(notes)}
        rates = self._rates.take(counters, self._clock())
        busy, whole = rates.get("busy"), rates.get("whole")
        memory = psutil.virtual_memory()
        return {
            "host": socket.gethostname(),
            "cpus": os.cpu_count(),
            "cpu_percent": round(100 * busy / whole, 1) if busy is not None and whole else None,
            "load": round(os.getloadavg()[0], 2),
            # What programs hold: what can be had at once by dropping caches is not used.
            "memory_used_bytes": memory.total - memory.available,
            "memory_total_bytes": memory.total,
            **self._disk(notes),
            "disk_read_bytes_per_second": rates.get("read"),
            "disk_written_bytes_per_second": rates.get("written"),
            "network_received_bytes_per_second": rates.get("received"),
            "network_sent_bytes_per_second": rates.get("sent"),
            "notes": notes,
        }

    def _disk(self, notes: list[str]) -> dict[str, int | None]:
        try:
            disk = psutil.disk_usage(self._folder)
        except OSError as error:
            notes.append(f"the file system of {self._folder} cannot be looked at: {error.strerror or error}")
            return {"disk_used_bytes": None, "disk_total_bytes": None}
        return {"disk_used_bytes": disk.used, "disk_total_bytes": disk.total}

    def _traffic(self, notes: list[str]) -> dict[str, float]:
        counters: dict[str, float] = {}
        try:
            disks = psutil.disk_io_counters()
            interfaces = psutil.net_io_counters(pernic=True)
        except (OSError, ValueError, RuntimeError) as error:
            notes.append(f"the traffic of disks and network cannot be counted: {error}")
            return counters
        if disks is not None:
            counters |= {"read": disks.read_bytes, "written": disks.write_bytes}
        others = [traffic for name, traffic in interfaces.items() if name != "lo"]
        return counters | {
            "received": sum(each.bytes_recv for each in others),
            "sent": sum(each.bytes_sent for each in others),
        }


def _cpu_seconds() -> dict[str, float]:
    """Seconds of all processors since the start, and those in which they worked. Time of guests is in `user` already."""
    times = psutil.cpu_times()
    whole = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return {"whole": whole, "busy": whole - times.idle - getattr(times, "iowait", 0.0)}
