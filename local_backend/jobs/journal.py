"""What a supervisor writes down of its job, and its clock: the same for commands on this machine and for images."""

import contextlib
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from local_backend.jobs.order import CONTROL_FILE, Order, Report, boot_id


class Journal(Struct):
    """One job's."""

    order: Order
    reason: str = ""
    """Why it was stopped; empty where it ended by itself."""
    exit_code: int | None = None
    signal: str = ""
    problem: str = ""
    remarks: list[str] = field(default_factory=list)
    address: str = ""
    """Host and port of a container's published port."""
    _started: datetime | None = None
    _zero: int = 0

    def __post_init__(self) -> None:
        self.remarks += self.order.remarks

    @property
    def folder(self) -> Path:
        """The job's."""
        return Path(self.order.folder)

    def start(self) -> None:
        """The job's time begins."""
        self._started, self._zero = datetime.now(UTC), time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    @property
    def running(self) -> bool:
        """Whether its time has begun."""
        return self._started is not None

    def now_us(self) -> int:
        """Time since the start, 0 before; sleep of the machine counts, and nobody can set it."""
        return (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - self._zero) // 1000 if self.running else 0

    def open_control(self) -> int:
        """The pipe through which a scheduler speaks; its descriptor."""
        path = self.folder / CONTROL_FILE
        path.unlink(missing_ok=True)
        os.mkfifo(path, 0o600)
        # Open for writing too: else the pipe would be at its end whenever nobody else has it open.
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def write(self, state: Literal["Preparing", "Running", "Ended"], *, durable: bool = False, used_us: int | None = None) -> bool:
        """Write the report; whether the disk has it. An end is tried again until it has: the job is over, and costs nothing any more."""
        if state == "Ended":
            # Nobody is to find its devices taken who has heard that it is over.
            for claim in self.order.claims:
                with contextlib.suppress(OSError):
                    os.close(claim)
        report = Report(
            token=self.order.token,
            state=state,
            started_at=self._started.isoformat(timespec="microseconds") if self._started is not None else "",
            used_us=self.now_us() if used_us is None else used_us,
            exit_code=self.exit_code,
            signal=self.signal,
            reason=self.reason,
            problem=self.problem,
            remarks=self.remarks,
            boot=boot_id(),
            address=self.address,
            pid=os.getpid(),
        )
        while True:
            try:
                report.write(self.folder, durable=durable)
            except OSError:
                if state != "Ended" or not self.folder.is_dir():
                    return False  # The next one is tried; without the folder nobody would read it.
                time.sleep(1)
            else:
                break
        if state == "Ended":
            with contextlib.suppress(OSError):
                (self.folder / CONTROL_FILE).unlink(missing_ok=True)
        return True
