"""What a scheduler and a job's supervisor say to each other: an order at the start, words into a pipe, and a report on the disk.

The order goes through the supervisor's standard input and is written nowhere: it holds the values of environment variables.
"""

import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct, convert, field

from local_backend.handed_over import handed, known, taken
from nodus_tui.contract.regular_files import read_regular
from nodus_tui.values import fields_of, replace

REPORT_FILE = "report.json"
NEW_REPORT_FILE = f"{REPORT_FILE}.new"
"""The next one while it is being written."""
LOCK_FILE = "lock"
"""Held by the supervisor for as long as it lives."""
TOKEN_FILE = "token"  # noqa: S105 - names a launch; no secret
CONTROL_FILE = "control"
"""The pipe through which it is told to stop."""
LOG_FOLDER = "log"
WORK_FOLDER = "work"
TEMPORARY_FOLDER = "tmp"
_MOST_BYTES = 1 << 20
"""Of a report; what is longer was written by somebody else."""

StopReason = Literal["Killed", "BudgetExceeded", "Interrupted", "NoLongerUsed", "StartTimeout", "NotAnswering"]
"""Why somebody stops a job from outside. The last three are of jobs that serve."""


def boot_id() -> str:
    """What tells this run of the machine from any other."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


class Order(Struct, frozen=True):
    """What a supervisor is to do."""

    folder: str
    """The job's own folder."""
    token: str
    """Of this launch; a supervisor that comes when the folder holds another one ends at once."""
    command: Sequence[str]
    working_dir: str
    environ: dict[str, str]
    """All of the command's environment."""
    network: bool
    cpus: float
    memory_bytes: int
    ask_us: int
    """When it is asked to end if it has not by then, in microseconds since its start."""
    ask_reason: str
    last_us: int | None
    """The last moment for a kill under its cap."""
    grace_us: int
    log_bytes: int
    """Of the log on the disk, at most."""
    min_free_bytes: int = 0
    """Logs, and outputs that are fetched from a container, are written while so much stays free on the disk."""
    attempt: int = 1
    """The log goes on over all attempts, and each after the first begins with a line that tells so."""
    hidden: Sequence[str] = field(default_factory=list)
    """Device files that a command must not open."""
    claims: Sequence[int] = field(default_factory=list)
    """Open files with which the job's devices are claimed before the machine, inherited by number; closed when it has ended."""
    remarks: Sequence[str] = field(default_factory=list)
    """Sentences that the report begins with."""
    image: "ImageOrder | None" = None
    """What more there is to a job in a container."""
    needs: "NeededImage | None" = None
    """An image that a command uses by itself: it is fetched before the job's time begins."""

    def with_deadlines(self, words: str) -> "Order":
        """The same with other deadlines: when to ask, why, and the last moment for a kill (`-` where time costs nothing).

        The command can write there, too: words that say nothing of the kind change nothing.
        """
        try:
            ask, reason, last = words.split(" ")
            return replace(self, ask_us=int(ask), ask_reason=reason, last_us=None if last == "-" else int(last))
        except ValueError:
            return self

    def to_text(self) -> str:
        """As JSON."""
        return handed(self)

    @classmethod
    def from_text(cls, text: str) -> "Order":
        """What `to_text` made. Raises OtherCodeError where that was other code's."""
        with taken(text) as values:
            image, needs = values.pop("image", None), values.pop("needs", None)
            return cls(
                **values,
                image=ImageOrder(**image) if image is not None else None,
                needs=NeededImage(**needs) if needs is not None else None,
            )


class NeededImage(Struct, frozen=True):
    """An image that must be at the engine."""

    image: str
    engine_environ: dict[str, str]
    """What names the engine, and where registries' credentials are."""


class ImageOrder(Struct, frozen=True):
    """How its container is made."""

    image: str
    name: str
    """The job's."""
    workspace: str
    mounts: Sequence[Sequence[str]]
    """Source on the engine's machine, target, and `ro` or `rw`."""
    outputs: Sequence[str]
    """Fetched out of the container when it has ended, into the job's work folder."""
    engine_environ: dict[str, str]
    """What names the engine, and where registries' credentials are."""
    devices: Sequence[Sequence[str]] = field(default_factory=list)
    """Uuid and place of each accelerator that it sees."""
    port: int | None = None
    """Where it serves inside the container: published on this machine's loopback, at a port that the engine chooses."""


class Report(Struct):
    """What a supervisor knows of its job. Written when it starts, every few seconds, and when everything of the job has ended."""

    token: str
    state: Literal["Preparing", "Running", "Ended"]
    """`Preparing`: its image is being fetched, and costs nothing yet."""
    started_at: str
    """RFC 3339; empty before."""
    used_us: int = 0
    """Time since the start, on a clock that nobody sets."""
    exit_code: int | None = None
    """Of the command; 128 and the signal's number where a signal ended it."""
    signal: str = ""
    reason: str = ""
    """Why it was stopped; empty where it ended by itself."""
    problem: str = ""
    """A sentence where it could not be started."""
    remarks: list[str] = field(default_factory=list)
    """Sentences about what is weaker than asked for, and what is not in the log."""

    boot: str = ""
    """Of the machine: the same until it is started again."""
    address: str = ""
    """Host and port at which the published port of a container is reached."""
    pid: int = 0
    """The supervisor's own."""

    @property
    def started(self) -> datetime:
        """When the command was started."""
        return datetime.fromisoformat(self.started_at)

    def write(self, folder: Path, *, durable: bool) -> None:
        """Replace the file, whole or not at all. Raises OSError."""
        new = folder / NEW_REPORT_FILE
        # The command can write there: what it put in the way, a pipe say, must not hold up who ends it in time.
        new.unlink(missing_ok=True)
        with new.open("x", encoding="utf-8") as file:
            json.dump(fields_of(self), file)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        new.replace(folder / REPORT_FILE)


def read_report(folder: Path, token: str) -> Report | None:
    """The report of a launch; None while there is none."""
    report = last_report(folder)
    return report if report is not None and report.token == token else None


def last_report(folder: Path) -> Report | None:
    """The report that is there, of whichever launch. The command can write there: what no supervisor would write is none."""
    try:
        report = convert(known(Report, json.loads(read_regular(folder / REPORT_FILE, _MOST_BYTES))), Report)
        told = not report.started_at or report.started.tzinfo is not None
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    # To a negative number a signal would go to a whole group of processes, or to all there are.
    return report if told and report.pid >= 0 and report.used_us >= 0 else None
