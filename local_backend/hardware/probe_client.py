"""The probe's process as the scheduler's side holds it: one question at a time, a deadline for each step, given up when it hangs.

A call into a driver can hang in the kernel, where nothing ends it. Then the process is killed, left to itself, and another one started
that does not ask the device at which the first one hung. So neither the event loop nor the next sample ever waits for it.
"""

import asyncio
import contextlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from local_backend.hardware.readings import Look

_log = logging.getLogger(__name__)

STEP_SECONDS = 5.0
"""What one device, or the machine, may take to answer."""
OPEN_SECONDS = 20.0
"""What the start of NVML may take: without a process that keeps the driver awake it wakes up every device first."""
AGAIN_SECONDS = 60.0
"""What hung is asked again so long after."""
_LINE_LIMIT = 4 << 20
_TRIES = 4
"""Probes that one look may use up; when more hangs at once, the next look goes on from there."""
_EVERYTHING = "this machine"
_INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "VIRTUAL_ENV", "LD_LIBRARY_PATH")

_given_up: list["subprocess.Popen[bytes]"] = []
"""Killed, but not gone yet: a call into the kernel may outlast its process's end. They are asked for again at each new start."""


def probe_environment(ours: Mapping[str, str]) -> dict[str, str]:
    """What the probe needs to run, and no key of ours."""
    root = Path(__file__).resolve().parents[2]
    ours_first = [] if root.name in {"site-packages", "dist-packages"} else [str(root)]
    paths = [*ours_first, *(path for path in ours.get("PYTHONPATH", "").split(os.pathsep) if path)]
    kept = {name: ours[name] for name in _INHERITED if name in ours}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1", "PYTHONNOUSERSITE": "1"}


NVML = "NVML"
"""What the probe asks before any device, by its name for it."""


class _EndedError(Exception):
    """The process ended, or said something strange; the text says how. `where` is what it asked."""

    def __init__(self, how: str, where: int | str) -> None:
        super().__init__(how)
        self.where = where


class _HungError(Exception):
    """A step took too long; `where` is the device's index, or a name."""

    def __init__(self, where: int | str, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s")
        self.where = where


class Probe:
    """One process."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = environ
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: asyncio.StreamReader | None = None
        self._transport: asyncio.ReadTransport | None = None
        self._at: int | str = "the probe's start"

    @property
    def running(self) -> bool:
        """Whether there is one."""
        return self._process is not None

    async def start(self) -> None:
        """Start it. Raises OSError."""
        _forget_ended()
        self._at = "the probe's start"
        process = _started(self._folder, self._environ)
        self._process = process
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_LINE_LIMIT)
        self._reader = reader
        self._transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)

    async def look(self, without: Iterable[int | str], into: Look) -> None:
        """Take one sample into `into`. Raises _HungError and _EndedError; what came before is in it then."""
        process = self._process
        if process is None or process.stdin is None:
            raise self._ended("it does not run")
        question = json.dumps({"nvml": NVML not in without, "without": [where for where in without if isinstance(where, int)]})
        try:
            # A line of a few bytes into a pipe that is empty: this never waits.
            process.stdin.write(question.encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise self._ended(self._how()) from error
        while True:
            line = await self._line()
            if "at" in line:
                self._at = line["at"]
            elif "end" in line:
                return
            else:
                try:
                    into.take(line)
                except ValueError as error:
                    raise self._ended(str(error)) from error

    async def _line(self) -> dict[str, Any]:
        if self._reader is None:
            raise self._ended("it does not run")
        seconds = STEP_SECONDS if isinstance(self._at, int) or self._at == "the machine" else OPEN_SECONDS
        try:
            async with asyncio.timeout(seconds):
                text = await self._reader.readline()
        except TimeoutError:
            raise _HungError(self._at, seconds) from None
        except ValueError as error:
            raise self._ended("it told more than a line holds") from error
        if not text.endswith(b"\n"):
            raise self._ended(self._how())
        try:
            line: dict[str, Any] = json.loads(text)
        except ValueError as error:
            raise self._ended("it told something that is no JSON") from error
        return line

    def _ended(self, how: str) -> _EndedError:
        return _EndedError(how, self._at)

    def _how(self) -> str:
        """How it ended, where that is known already."""
        code = self._process.poll() if self._process is not None else None
        return f"signal {-code} ended it" if code is not None and code < 0 else "it ended"

    def give_up(self) -> None:
        """End it, without waiting."""
        process, self._process, self._reader = self._process, None, None
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        if process is None:
            return
        process.kill()
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # It tries once more to write what an ended process did not take.
                process.stdin.close()
        _given_up.append(process)

    async def aclose(self) -> None:
        """End it, and wait a moment for its end and that of all that were given up."""
        self.give_up()
        for _ in range(100):
            _forget_ended()
            if not _given_up:
                break
            await asyncio.sleep(0.01)


def _forget_ended() -> None:
    _given_up[:] = [each for each in _given_up if each.poll() is None]


def _started(folder: Path, environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Not asyncio's own: that waits for a process's end, and this one may never come to its."""
    return subprocess.Popen(  # noqa: S603 - this interpreter, with a module of ours
        [sys.executable, "-P", "-W", "ignore", "-m", "local_backend.hardware.probe", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environ),
        cwd="/",
        start_new_session=True,
    )


class ProbeKeeper:
    """Always a probe that answers: starts one when one is wanted, and passes by what hangs. `clock` is a steady one, in seconds."""

    def __init__(self, folder: Path, environ: Mapping[str, str], *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._probe = Probe(folder, environ)
        self._without: dict[int | str, tuple[float, str]] = {}
        """What hangs (a device, NVML, or all): until when it is not asked, and a sentence."""
        self._renew_at = float("inf")
        self.fresh = False
        """Whether the last look was a probe's first: without a sample before it has no rates yet."""
        self.started = 0
        """Probes that were started: what tests count."""

    async def look(self) -> tuple[Look, dict[int, str]]:
        """One sample, and the devices that were not asked with the reason. Always answers, within the deadlines of a few steps."""
        for _ in range(_TRIES):
            look, without = Look(), self._passed_by()
            if _EVERYTHING in without:
                break
            try:
                await self._ready()
                await self._probe.look(without, look)
            except _HungError as error:
                self._probe.give_up()
                self._pass_by(error.where, f"it hangs: {error}")
            except _EndedError as error:
                self._probe.give_up()
                self._pass_by(error.where, f"the process that asked it did not survive that: {error}")
            except OSError as error:
                self._probe.give_up()
                self._pass_by(_EVERYTHING, f"no process that asks could be started: {error.strerror or error}")
            else:
                if NVML in without:
                    look.trouble(f"NVML is not asked: {without[NVML]}")
                self._renew(look)
                return look, {where: why for where, why in without.items() if isinstance(where, int)}
        look, without = Look(), self._passed_by()
        look.trouble(f"this machine is not looked at: {without.get(_EVERYTHING, 'one thing after the other hangs')}")
        return look, {}

    async def _ready(self) -> None:
        if self._clock() >= self._renew_at:
            await self._probe.aclose()
        self.fresh = not self._probe.running
        if self.fresh:
            self._renew_at = float("inf")
            self.started += 1
            await self._probe.start()

    def _renew(self, look: Look) -> None:
        """A driver that was not there may come; its library is loaded anew by a new process only."""
        if look.gpu_trouble:
            self._renew_at = min(self._renew_at, self._clock() + AGAIN_SECONDS / 2)
        else:
            self._renew_at = float("inf")

    def _passed_by(self) -> dict[int | str, str]:
        now = self._clock()
        self._without = {where: kept for where, kept in self._without.items() if now < kept[0]}
        return {where: sentence for where, (_, sentence) in self._without.items()}

    def _pass_by(self, where: int | str, what: str) -> None:
        if not isinstance(where, int) and where != NVML:
            where = _EVERYTHING
        _log.warning("%s: %s", f"device {where}" if isinstance(where, int) else where, what)
        self._without[where] = (self._clock() + AGAIN_SECONDS, f"{what}; it is asked again every {AGAIN_SECONDS:g} s")

    def let_go(self) -> None:
        """End the probe; the next look starts one."""
        self._probe.give_up()

    async def aclose(self) -> None:
        """End the probe, and wait a moment for its end."""
        await self._probe.aclose()
