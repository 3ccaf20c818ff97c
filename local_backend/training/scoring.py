"""One run of the harness, without a network where it needs none. Its output goes on into the job's log; its bars are read on the way."""

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from local_backend.training.bars import Bars
from local_backend.training.offline import NoNetworkToTakeError, start
from local_backend.training.sieve import Sieve

_PIPE_BYTES = 65_536
_IDLE_SECONDS = 0.5
_TAIL_BYTES = 16_384
_SENTENCE = 500
_KILLED = frozenset({-9, 128 + 9})
"""By the kernel or a person: of a container's program its end says so as a shell's does."""


class HarnessError(Exception):
    """The harness could not be started, or failed; the text is a sentence."""


class Run(Struct):
    """What came of it."""

    offline: str
    """How it was kept from the network: `network namespace`, `container without a network`, `environment variables`, or nothing where
    it needs one."""
    seconds: float = 0.0
    """From the first request to the model to the last answer."""
    tail: bytes = b""
    started: float | None = None


def run(
    command: Sequence[str],
    environ: Mapping[str, str],
    folder: Path,
    bars: Bars,
    moved: Callable[[], None],
    *,
    network: bool,
    contained: bool = False,
    tables: bool = True,
) -> Run:
    """Run it to its end. Raises HarnessError.

    `contained`: the command holds a container, which has the network taken. `tables`: the harness's tables of scores go into the log.
    """
    process, offline = _started(command, environ, folder, network=network or contained)
    offline = "container without a network" if contained else offline
    found = Run("" if network else offline)
    try:
        _follow(process, found, bars, moved, Sieve(tables=tables))
    finally:
        # Whatever interrupts this ends the harness too; that it is gone is the supervisor's to see to.
        if process.poll() is None:
            process.terminate()
    code = process.wait()
    if code != 0:
        raise HarnessError(_failure(code, found.tail))
    return found


def _started(command: Sequence[str], environ: Mapping[str, str], folder: Path, *, network: bool) -> tuple["subprocess.Popen[bytes]", str]:
    try:
        try:
            return start(command, environ, folder, network=network), "network namespace"
        except NoNetworkToTakeError:
            return start(command, environ, folder, network=True), "environment variables"
    except OSError as error:
        raise HarnessError(f"{command[0]} cannot be started: {error.strerror or error}") from error


def _follow(process: "subprocess.Popen[bytes]", found: Run, bars: Bars, moved: Callable[[], None], sieve: Sieve) -> None:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    output = process.stdout.fileno()
    while True:
        if not select.select([output], [], [], _IDLE_SECONDS)[0]:
            moved()  # What was too new to be told when it came is told while nothing else does.
            continue
        data = os.read(output, _PIPE_BYTES)
        kept = sieve.passed(data) if data else sieve.rest()
        sys.stdout.buffer.write(kept)
        sys.stdout.buffer.flush()
        found.tail = (found.tail + kept)[-_TAIL_BYTES:]
        if not data:
            return
        before = bars.progress
        bars.feed(data)
        if bars.working and found.started is None:
            found.started = time.monotonic()
        if found.started is not None and bars.progress > before:
            found.seconds = time.monotonic() - found.started
            moved()


def _failure(code: int, tail: bytes) -> str:
    if code in _KILLED:
        return "the harness was ended by signal 9; it may have run out of memory (resources.memoryGiB)"
    how = f"the harness ended with {code}" if code >= 0 else f"the harness was ended by signal {-code}"
    said = last_words(tail)
    return f"{how}: {said}" if said else how


def last_words(tail: bytes) -> str:
    """The last line that says what went wrong: an exception's, where there is one, else whatever was written last."""
    lines = [line.strip() for line in re.split(r"[\r\n]", tail.decode(errors="replace")) if line.strip()]
    raised = [line for line in lines if re.match(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\b", line)]
    return (raised or lines or [""])[-1][:_SENTENCE]
