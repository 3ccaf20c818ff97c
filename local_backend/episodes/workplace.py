"""The sandbox of one run, over the run's whole life: started when it is first needed, stopped while idle, its files kept, its time booked.

The agent's files are kept as a tar whenever the sandbox stops, so that a run that waits, was stopped or is graded needs no sandbox, and a
new one goes on from them. Processes, shell variables and files outside the work folder go with the sandbox; the agent is told so.
"""

import asyncio
import base64
import errno
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from pydantic import JsonValue

from local_backend.budgets.keeper import LOOK_SECONDS
from local_backend.devices.desk import DeviceDesk
from local_backend.environments.interface import Workbench
from local_backend.episodes.metering import GroupBooks
from local_backend.episodes.run_devices import RunDevices
from local_backend.episodes.stop import StoppedError, StopSignal
from local_backend.models.wire import ToolCall
from local_backend.sandboxes.interface import Limits, Sandbox, SandboxError, SandboxRequest, User
from local_backend.sandboxes.pool import Place, SandboxPool
from local_backend.sandboxes.running import SandboxFileError, fetch_folder, put_archive, put_files
from local_backend.storage.artifacts import Artifacts
from local_backend.storage.records import RunRecord, SandboxUse
from local_backend.storage.space import SPACE_LOOK_SECONDS
from local_backend.tools.toolbox import Toolbox, ToolOutcome
from nodus_tui.contract.money import nano_from_usd
from nodus_tui.contract.phases import Reason
from nodus_tui.contract.resources.agent import AgentSpec
from nodus_tui.statistics.hardware_rates import CPU
from nodus_tui.values import replace

T = TypeVar("T")

_log = logging.getLogger(__name__)

KEEP_SECONDS = 30.0
"""Taking the agent's files out of a sandbox may take so long, in seconds; what hangs longer has failed."""

HURRY_SECONDS = 10.0
"""The same for a run that was told to stop at once."""

CLOSING_SECONDS = 5.0
"""Set aside before a sandbox's limit of time or money, so that its files are out before the limit."""

FILES_GONE = "the agent's files are gone from the workspace"

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})

_TELL_SECONDS = 1.0
"""While an image is fetched, its progress is told at most this often."""

_RESTARTED = (
    "[Your sandbox was restarted. The files in {workdir} are as you left them; processes, shell variables and files elsewhere are gone.]\n"
)

Rate = Callable[[str, float, float, int], int]
"""Nano-dollars an hour of some hardware with so many CPUs, GiB of memory and accelerators."""


class SpoiltError(Exception):
    """The agent left files that nobody can take out of its sandbox: its own doing, and the sandbox's failure in nothing."""


class BudgetError(Exception):
    """A budget does not pay for the sandbox; the text is a sentence."""


class SandboxLimitError(Exception):
    """The run's sandbox time or money is used up; the text is a sentence."""


class Workplaces(Struct, frozen=True):
    """What every run's workplace is made of."""

    pool: SandboxPool
    artifacts: Artifacts
    rate: Rate
    keep_bytes: int
    """The agent's files stay with an ended run up to this size."""
    devices: DeviceDesk
    """Where sandboxes get their accelerators."""
    room: Callable[[], int | None] = lambda: None
    """How many bytes of files may be written before the books have too little; None where nobody looks."""

    def of(self, books: GroupBooks, run: RunRecord, stop: StopSignal) -> "Workplace":
        """The workplace of a run whose agent has tools."""
        return Workplace(self, books, run, stop)

    def use_of(self, agent: AgentSpec) -> SandboxUse:
        """The books of a run's sandboxes before its first."""
        spec = agent.sandbox
        grading = self.rate(CPU, spec.cpus, spec.memory_gib, 0)
        # Of devices until they are given: then their own counts.
        own = self.rate(spec.hardware, spec.cpus, spec.memory_gib, spec.accelerators)
        return SandboxUse(hardware=spec.hardware, rate=own, grading_rate=grading)

    def prune(self, run: RunRecord) -> None:
        """Let go of an ended run's files where they are larger than what is kept."""
        if run.sandbox is not None and run.sandbox.kept and self.artifacts.prune(run.name, self.keep_bytes):
            run.sandbox.kept = False
            run.sandbox.not_kept = f"its files were larger than what is kept ({self.keep_bytes >> 20:,} MiB)"


class Workplace:
    """One run's sandbox. All its methods are called by the run's own task, but for the timer that stops an idle one."""

    def __init__(self, surroundings: Workplaces, books: GroupBooks, run: RunRecord, stop: StopSignal) -> None:
        self._around = surroundings
        self._books = books
        self._run = run
        self._stop = stop
        self._spec = books.agent.sandbox
        self._bench = workbench_of(books.tasks[run.task_position].workbench)
        self._sandbox: Sandbox | None = None
        self._place: Place | None = None
        self._devices = RunDevices(surroundings.devices, books, run, stop)
        self._toolbox: Toolbox | None = None
        self.spoilt = ""
        """Why the agent's own files cannot be judged, as a sentence; empty while they can."""
        self._counts = False
        """Whether its time counts under the budgets at this moment."""
        self._calling: asyncio.Future[ToolOutcome] | None = None
        self._interrupted = asyncio.Event()
        self._opened = False
        self._restarted = False
        """Whether the agent is yet to be told that its sandbox is not the one that it left."""
        self._lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._resting: asyncio.Task[None] | None = None

    @property
    def _use(self) -> SandboxUse:
        if self._run.sandbox is None:
            self._run.sandbox = self._around.use_of(self._books.agent)
        return self._run.sandbox

    @property
    def idle_seconds(self) -> float:
        """After so long without a command the sandbox is stopped."""
        return self._spec.idle_timeout.total_seconds()

    @property
    def workdir(self) -> str:
        """The agent's folder."""
        return self._bench.workdir

    # What the episode asks.

    async def ready(self) -> None:
        """Have the sandbox up, the first time. Raises StoppedError, SandboxError, SandboxLimitError."""
        async with self._lock:
            if not self._opened:
                await self._start()

    async def call(self, call: ToolCall) -> ToolOutcome:
        """Do what a tool call asks. Raises StoppedError, SandboxError, SandboxLimitError.

        Where the sandbox was stopped meanwhile it is started again, and the result says so.
        """
        async with self._lock:
            self._stop_timer()
            if self._sandbox is None:
                await self._start()
            if self._interrupted.is_set():  # While it was being started, say.
                await self._rest_now()
                raise StoppedError
            toolbox = self._toolbox
            if toolbox is None:
                raise SandboxError("the sandbox has no tools")
            left = self._seconds_left()
            try:
                async with asyncio.timeout(max(0.0, left - CLOSING_SECONDS) if left is not None else None):
                    self._calling = asyncio.ensure_future(toolbox.call(call))
                    outcome = await self._stop.wait(_of(self._calling))
            except TimeoutError:
                await self._rest_now()
                raise self._limit_reached() from None
            except asyncio.CancelledError:
                if not self._interrupted.is_set():
                    raise
                await self._rest_now()
                raise StoppedError from None
            finally:
                self._calling = None
                self._start_timer()
            if self._restarted:
                self._restarted = False
                said = _RESTARTED.format(workdir=self.workdir) + outcome.result.text
                outcome = replace(outcome, result=replace(outcome.result, text=said))
            return outcome

    def interrupt(self) -> None:
        """Stop the sandbox now, in the midst of a command, too; its files are kept. No other starts."""
        self._interrupted.set()
        if self._calling is not None:
            self._calling.cancel()
        else:
            self._stop_timer()
            self._go_to_rest()

    async def leave(self) -> bool:
        """Stop the sandbox, its files kept first. Whether they are kept; where not, the run's record says why."""
        async with self._lock:
            self._stop_timer()
            if self._sandbox is not None:
                await self._rest_now()
            return self._run.sandbox is not None and self._run.sandbox.kept

    async def copy_out(self) -> Path | None:
        """A new archive of the agent's files as they are now, beside those kept; None while no sandbox runs, or where it fails at it."""
        sandbox = self._sandbox
        if sandbox is None:
            return None
        target = self._around.artifacts.path(f".{self._run.name}-{uuid.uuid4().hex}")
        try:
            async with asyncio.timeout(KEEP_SECONDS):
                await fetch_folder(sandbox, self.workdir, user=User.AGENT, target=target, limit_bytes=2 * self._limits().disk_bytes)
        except (SandboxError, OSError, TimeoutError) as error:
            _log.info("the files of %s could not be copied out: %s", self._run.name, _sentence(error))
            return None
        return target

    # Starting.

    async def _start(self) -> None:
        if self._interrupted.is_set():
            raise StoppedError
        if self.spoilt:
            raise SpoiltError(self.spoilt)
        use = self._use
        if self._run.turns > 0 and not use.kept:  # The conversation builds on work that is not there.
            raise SandboxError(use.not_kept or "the agent's files were not kept")
        if use.kept and not self._around.artifacts.has(self._run.name):
            use.kept, use.not_kept = False, FILES_GONE
            raise SandboxError(use.not_kept)
        self._checked_left()
        devices = await self._devices.take(use)
        try:
            # Again, at the price of the devices that it was given.
            left = self._checked_left()
            self._place = await self._wait_for_place()
            image = await self._image()
            request = SandboxRequest(
                run=self._run.name,
                purpose="episode",
                owner=self._around.pool.owner,
                lifetime_seconds=left if left is not None else self._spec.max_lifetime.total_seconds(),
                limits=self._limits(),
                network=self._spec.network,
                image=image,
                workdir=self.workdir,
                devices=devices,
            )
            self._prepare_folder()
            await self._ask_budgets(use.rate)
            sandbox = await self._stop.wait(self._around.pool.create(request))
            self._sandbox = sandbox
            use.weaker = (await self._around.pool.facts()).isolation != "full"
            # By the clock of the books, which nobody can set.
            use.engine, use.image, use.started_at, use.running = sandbox.engine, sandbox.image, self._books.clock(), True
            use.lifetime = request.lifetime_seconds
            self._devices.used_by(sandbox, use.started_at, use.lifetime)
            self._run.reason, self._run.message, self._run.until_at = None, "", None
            await self._books.changed(self._run)
            await self._stop.wait(self._fill(sandbox))
        except BaseException:
            await self._close()
            raise
        state = self._toolbox.state() if self._toolbox is not None else None
        self._opened = True
        self._toolbox = Toolbox(
            sandbox, self._books.agent.tools, command_seconds=self._spec.command_timeout.total_seconds(), workdir=self.workdir
        )
        if state is not None:
            self._toolbox.restore(state)
        self._start_timer()

    def _prepare_folder(self) -> None:
        try:
            self._around.artifacts.prepare()
        except OSError as error:
            raise SandboxError(f"there is no folder for the agent's files: {_sentence(error)}") from error

    async def _ask_budgets(self, rate: int) -> None:
        """From here on its time counts under the budgets. Raises BudgetError where they do not pay for it, StoppedError."""
        while (refusal := self._books.purse.refusal(0, rate=rate)) is not None:
            if not refusal.for_now:
                self._books.purse.refused(refusal)
                raise BudgetError(refusal.message)
            await self._stop.wait_softly(asyncio.sleep(LOOK_SECONDS))
        self._books.purse.begin(self._run.name, rate)
        self._counts = True

    async def _wait_for_place(self) -> Place:
        pool = self._around.pool
        if not pool.free():
            said = f"{pool.taken} of {pool.places} sandboxes of this machine are taken"
            await self._books.waits(self._run, Reason.WAITING_FOR_SANDBOX, said, None)
        return await self._stop.wait_softly(pool.place())

    async def _image(self) -> str | None:
        pool, bench = self._around.pool, self._bench
        if bench.build is not None and self._spec.image is None:
            folder, tag = bench.build, bench.image or ""
            return await self._told_progress(lambda tell: pool.build(folder, tag, tell))
        image = self._spec.image or bench.image
        await self._told_progress(lambda tell: pool.prepare(image, tell))
        return image

    async def _told_progress(self, make: Callable[[Callable[[str], None]], Awaitable[T]]) -> T:
        """Wait for an image and tell how far it is. Raises StoppedError, SandboxError."""
        lines: list[str] = []
        told = ""

        async def wait() -> T:
            nonlocal told
            work = asyncio.ensure_future(make(lines.append))
            try:
                while True:
                    done, _ = await asyncio.wait({work}, timeout=_TELL_SECONDS)
                    if done:
                        return work.result()
                    if lines and lines[-1] != told:
                        told = lines[-1]
                        await self._books.waits(self._run, Reason.WAITING_FOR_SANDBOX, told, None)
            finally:
                work.cancel()

        return await self._stop.wait_softly(wait())

    def _limits(self) -> Limits:
        spec = self._spec
        return Limits(
            cpus=spec.cpus,
            memory_bytes=round(spec.memory_gib * (1 << 30)),
            pids=spec.processes,
            disk_bytes=round(spec.disk_gib * (1 << 30)),
        )

    async def _fill(self, sandbox: Sandbox) -> None:
        """The files kept of this run, or, for a new one, what its task brings. Never a file that only has the run's name."""
        kept = self._around.artifacts.path(self._run.name)
        if self._use.kept:
            await put_archive(sandbox, kept, user=User.AGENT, folder=self.workdir, as_it_is=True)
            self._restarted = self._run.turns > 0
            return
        if self._bench.files:
            await put_files(sandbox, file_bytes(self._bench.files), user=User.AGENT, folder=self.workdir)

    # Limits.

    def _seconds_used(self) -> float:
        use = self._use
        running = (self._books.clock() - use.started_at).total_seconds() if use.running and use.started_at else 0.0
        return use.settled_seconds + max(0.0, running)

    def _seconds_left(self) -> float | None:
        """Until the sandbox's time or money is used up."""
        spec, use = self._spec, self._use
        longest = spec.max_lifetime.total_seconds()
        if spec.max_cost_usd is not None and use.rate > 0:
            money = max(0, nano_from_usd(spec.max_cost_usd) - use.cost)
            longest = min(longest, use.settled_seconds + money * 3600 / use.rate)
        if self._bench.agent_seconds is not None:
            longest = min(longest, self._bench.agent_seconds)
        return longest - self._seconds_used()

    def _checked_left(self) -> float | None:
        """The same where that is enough to begin with. Raises SandboxLimitError."""
        left = self._seconds_left()
        if left is not None and left <= CLOSING_SECONDS:
            raise self._limit_reached()
        return left

    def _limit_reached(self) -> SandboxLimitError:
        used = self._seconds_used()
        return SandboxLimitError(
            f"its sandbox ran for {used:,.0f} s, which is all that its limits allow (maxLifetime, maxCostUSD, the task's own time limit)"
        )

    # Stopping.

    def _start_timer(self) -> None:
        if self._sandbox is None:
            return
        self._stop_timer()
        wait = self.idle_seconds
        left = self._seconds_left()
        if left is not None:
            wait = min(wait, max(0.0, left - CLOSING_SECONDS))
        self._timer = asyncio.get_running_loop().call_later(wait, self._go_to_rest)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _go_to_rest(self) -> None:
        self._timer = None
        self._resting = asyncio.create_task(self._rest(), name=f"stop the idle sandbox of {self._run.name}")

    async def _rest(self) -> None:
        async with self._lock:
            if self._timer is None and self._sandbox is not None:
                await self._rest_now()

    async def _rest_now(self) -> None:
        """Keep the files and end the sandbox. Under the lock."""
        sandbox = self._sandbox
        if sandbox is not None:
            try:
                await self._keep_when_there_is_room(sandbox)
            except Exception as error:  # noqa: BLE001 - whatever it is, the sandbox is ended
                if not isinstance(error, SandboxError | OSError):
                    _log.exception("the files of %s could not be kept, by a fault of the scheduler", self._run.name)
                if isinstance(error, SandboxFileError):
                    self.spoilt = f"the files that the agent left cannot be taken out of its sandbox: {error}"
                self._use.kept = False
                self._use.not_kept = f"the agent's files could not be taken out of its sandbox: {_sentence(error)}"
                _log.warning("run %s: %s", self._run.name, self._use.not_kept)
        await self._close()

    async def _keep_when_there_is_room(self, sandbox: Sandbox) -> None:
        """Keep the files, and wait on a full disk as long as nobody and no limit presses: they were paid for."""
        while True:
            try:
                async with asyncio.timeout(HURRY_SECONDS if self._stop.now else KEEP_SECONDS):
                    return await self._keep(sandbox)
            except OSError as error:
                if error.errno not in _NO_ROOM or not self._may_wait():
                    raise
            said = "the disk is full: the agent's files wait in its sandbox until there is room, or a limit of the sandbox is reached"
            await self._books.waits(self._run, Reason.DISK_ALMOST_FULL, said, None)
            await asyncio.sleep(SPACE_LOOK_SECONDS)

    def _may_wait(self) -> bool:
        left = self._seconds_left()
        return not self._stop.now and not self._interrupted.is_set() and (left is None or left > CLOSING_SECONDS)

    async def _keep(self, sandbox: Sandbox) -> None:
        if self._toolbox is not None:
            await self._toolbox.aclose()  # First: an engine may hold a process's end back while its output waits to be read.
        await sandbox.kill_agent()
        target = self._around.artifacts.path(self._run.name)
        limit = 2 * self._limits().disk_bytes
        await fetch_folder(sandbox, self.workdir, user=User.AGENT, target=target, limit_bytes=limit, room=self._around.room)
        self._use.kept, self._use.not_kept = True, ""

    async def _close(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        # The last is done first.
        async with AsyncExitStack() as whatever_fails:
            whatever_fails.callback(self._devices.give_back)
            whatever_fails.push_async_callback(self._stop_counting)
            whatever_fails.callback(self._give_back_place)
            if sandbox is not None:
                whatever_fails.push_async_callback(self._around.pool.dispose, sandbox)
            if self._toolbox is not None:
                whatever_fails.push_async_callback(self._toolbox.aclose)

    def _give_back_place(self) -> None:
        if self._place is not None:
            self._place.release()
            self._place = None

    async def _stop_counting(self) -> None:
        """Its time is known: it is booked, and counts under the budgets no more."""
        if self._counts:
            self._counts = False
            before = self._use.cost
            if self._use.running:
                self._use.stopped(self._books.clock(), self._devices.settle(self._books.clock()))
            self._devices.give_back()
            await self._books.changed(self._run, self._books.purse.end(self._run.name, self._use.cost - before))


async def _of(work: Awaitable[T]) -> T:
    return await work


def _sentence(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error) or type(error).__name__


def workbench_of(stored: Mapping[str, object] | None) -> Workbench:
    """The workbench of a stored task; an empty one for a task that brings nothing."""
    return Workbench() if stored is None else Workbench(**stored)  # type: ignore[arg-type]  # stored by `stored_workbench`


def stored_workbench(bench: Workbench | None) -> dict[str, JsonValue] | None:
    """As the database keeps it."""
    if bench is None:
        return None
    return {
        "files": dict(bench.files),
        "image": bench.image,
        "build": bench.build,
        "workdir": bench.workdir,
        "agent_seconds": bench.agent_seconds,
    }


def file_bytes(files: Mapping[str, str]) -> dict[str, bytes]:
    """The bytes of a task's files."""
    return {
        path: base64.b64decode(text.removeprefix("base64:")) if text.startswith("base64:") else text.encode()
        for path, text in files.items()
    }
