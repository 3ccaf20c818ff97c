"""BubblewrapEngine: sandboxes by bubblewrap, from the base image, without a daemon.

Whatever happens to a scheduler, its sandboxes end with it (see `init.py`); what may stay are a record and empty control groups, and
`list` and `remove` find and remove those.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from local_backend.sandboxes.base_image import BaseImage, cache_folder
from local_backend.sandboxes.bubblewrap import cgroups
from local_backend.sandboxes.bubblewrap.control import Control
from local_backend.sandboxes.bubblewrap.driver import driver_files
from local_backend.sandboxes.bubblewrap.driver import variables as driver_variables
from local_backend.sandboxes.bubblewrap.launch import (
    PATH,
    START_SECONDS,
    THREADS,
    Launcher,
    Started,
    check_request,
    end,
    init_config,
    open_mounts,
    readable,
    stderr_of,
)
from local_backend.sandboxes.bubblewrap.records import Record, Records, created_at, records_folder, started_ticks
from local_backend.sandboxes.bubblewrap.sandbox import BubblewrapSandbox
from local_backend.sandboxes.bubblewrap.users import Users, find_users, weakness
from local_backend.sandboxes.failures import told_as_sandbox_error
from local_backend.sandboxes.interface import (
    ENGINE_SECONDS,
    EngineFacts,
    FoundSandbox,
    Progress,
    SandboxError,
    SandboxGoneError,
    SandboxRefusedError,
    SandboxRequest,
    device_variables,
)
from nodus_tui.values import replace

T = TypeVar("T")

_log = logging.getLogger(__name__)

STARTS_AT_ONCE = 8
"""More at a time make each slower, and none of them faster."""


async def connect_bubblewrap(environ: Mapping[str, str]) -> "BubblewrapEngine":
    """The engine of this machine, its base image made. Raises SandboxError with what is missing and what to install."""
    bwrap = shutil.which("bwrap", path=environ.get("PATH"))
    if bwrap is None:
        raise SandboxError("bubblewrap is not installed (no `bwrap` on the PATH): `apt install bubblewrap uidmap`, or your system's like.")
    return await _in_thread(lambda: _connect(bwrap, environ))


def look_at_bubblewrap(environ: Mapping[str, str]) -> "BubblewrapEngine":
    """An engine that finds and removes what is left here, and starts nothing; it needs nothing installed."""
    return BubblewrapEngine(None, None, Users("single"), None, Records(records_folder(environ)), EngineFacts("bubblewrap", "", "weaker"))


def _connect(bwrap: str, environ: Mapping[str, str]) -> "BubblewrapEngine":
    try:
        told = subprocess.run(  # noqa: S603 - the program that was found.
            [bwrap, "--version"], capture_output=True, text=True, timeout=10, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"{bwrap} does not run: {error}.") from error
    base = BaseImage.ensure(cache_folder(environ))
    with told_as_sandbox_error("This machine cannot be made ready for bubblewrap"):
        users = find_users(environ)
        hierarchies = cgroups.find_hierarchies() if users.kind == "root" else None
        mounts = open_mounts(base) if users.kind == "root" else None
        launcher = Launcher(bwrap, base, users, mounts)
        facts = _facts(told.stdout.strip().rpartition(" ")[2], users, hierarchies, launcher)
    return BubblewrapEngine(launcher, base, users, hierarchies, Records(records_folder(environ)), facts)


def _facts(version: str, users: Users, hierarchies: cgroups.Hierarchies | None, launcher: Launcher) -> EngineFacts:
    weaknesses = [sentence] if (sentence := weakness(users)) else []
    if hierarchies is None:
        how = "run the scheduler as root" if users.kind != "root" else "this machine's control groups cannot be used from here"
        weaknesses.append(
            "There are no control groups: memory is limited for each process alone, processes by the user's limit, CPU not at all "
            f"({how}, or install Docker)."
        )
    if hierarchies is not None and not _may_spare():
        weaknesses.append(
            "This process lacks CAP_SYS_RESOURCE, so an agent that fills the memory on purpose may take the sandbox with it, which "
            "is an infrastructure failure: run the scheduler as a root that has it."
        )
    if not launcher.filters_calls:
        weaknesses.append("System calls are not filtered on this architecture.")
    full = users.two and hierarchies is not None
    return EngineFacts("bubblewrap", version, "full" if full else "weaker", tuple(weaknesses), two_users=users.two)


class BubblewrapEngine:
    """See `interface.SandboxEngine`."""

    def __init__(
        self,
        launcher: Launcher | None,
        base: BaseImage | None,
        users: Users,
        hierarchies: cgroups.Hierarchies | None,
        records: Records,
        facts: EngineFacts,
    ) -> None:
        self._launcher = launcher
        self._base = base
        self._users = users
        self._hierarchies = hierarchies
        self._records = records
        self._facts = facts
        self._spares = users.kind == "root" and _may_spare()
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)

    @property
    def facts(self) -> EngineFacts:
        """See `interface.SandboxEngine`."""
        return self._facts

    async def prepare(self, image: str | None, progress: Progress | None = None) -> str:  # noqa: ARG002 - there is nothing to pull.
        """See `interface.SandboxEngine`."""
        if image is not None:
            raise SandboxRefusedError(f"bubblewrap runs the base image only, not {image}: install Docker, or leave the image out.")
        return self._working[1].reference

    @property
    def _working(self) -> tuple[Launcher, BaseImage]:
        if self._launcher is None or self._base is None:
            raise SandboxError("This bubblewrap engine was opened to look at what is left, not to start sandboxes.")
        return self._launcher, self._base

    async def build(self, folder: str, dockerfile: str, tag: str, progress: Progress | None = None) -> str:  # noqa: ARG002
        """See `interface.SandboxEngine`."""
        raise SandboxRefusedError(f"bubblewrap builds no images, and {folder} brings a {dockerfile}: install Docker.")

    async def create(self, request: SandboxRequest) -> BubblewrapSandbox:
        """See `interface.SandboxEngine`."""
        check_request(request, self._users)
        task = asyncio.create_task(self._create(request), name=f"start a sandbox for {request.run}")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # It is let finish, so that what it made can be taken down: it has its own deadlines.
            with contextlib.suppress(SandboxError):
                sandbox = await task
                await sandbox.aclose()
            raise

    async def _create(self, request: SandboxRequest) -> BubblewrapSandbox:
        launcher, base = self._working
        driver = await _in_thread(driver_files) if request.devices else {}
        if request.devices:
            seen = {**device_variables([each.uuid for each in request.devices]), **driver_variables(driver, PATH)}
            request = replace(request, environ={**request.environ, **seen})
        async with self._starts:
            name = f"nodus-{secrets.token_hex(6)}"
            groups = () if self._hierarchies is None else cgroups.group_paths(self._hierarchies, name)
            now = datetime.now(UTC)
            record = Record(
                name,
                request.run,
                request.purpose,
                request.owner,
                base.reference,
                now.isoformat(),
                request.network,
                tuple(map(str, groups)),
            )
            record = await _in_thread(lambda: self._records.take(record))
            try:
                started, control = await self._start(launcher, request, record, driver)
            except BaseException:
                with _heard(f"the record {record.id} of a start that failed"):
                    await _in_thread(lambda: self._forget(record))
                raise
            return BubblewrapSandbox(
                name,
                base.reference,
                request,
                started,
                control,
                datetime.now(UTC),
                two_users=self._users.two,
                forget=lambda: _in_thread(lambda: self._forget(record)),
            )

    async def _start(
        self, launcher: Launcher, request: SandboxRequest, record: Record, driver: Mapping[str, str]
    ) -> tuple[Started, Control]:
        hierarchies = self._hierarchies
        if hierarchies is not None:
            await _in_thread(lambda: cgroups.make(hierarchies, record.id, request.limits))
        started = await _in_thread(lambda: launcher.start(request, record.slot, driver))
        control: Control | None = None
        try:
            control = Control(started.control)
            init = await launcher.settle(started, record.slot)
            launcher.release(started)
            # Joining groups takes the kernel milliseconds; init comes up meanwhile, and starts nothing before it has its configuration.
            await _in_thread(lambda: self._settled(record, init))
            config = init_config(request, self._users, groups=hierarchies is not None)
            async with asyncio.timeout(START_SECONDS):
                await control.ask(b"C", config)
        except BaseException as error:
            (control or started.control).close()
            said = stderr_of(started)
            with _heard(f"the processes of {record.id}, whose start failed"):
                await end(started)
            if isinstance(error, SandboxGoneError):
                raise SandboxError(f"bubblewrap could not start a sandbox: {said or str(error).rstrip('.')}.") from error
            if isinstance(error, TimeoutError):
                raise SandboxError(f"The sandbox's init did not answer within {START_SECONDS:.0f} s.") from error
            if isinstance(error, OSError):
                raise SandboxError(f"bubblewrap could not start a sandbox: {error.strerror or error}.") from error
            raise
        return started, control

    def _settled(self, record: Record, init: int) -> None:
        """Before any program runs inside: who init is is on disk, and it is in its groups."""
        try:
            self._records.update(replace(record, init=init, init_started=started_ticks(init)))
            cgroups.join(map(Path, record.groups), init)
            if self._spares:
                _spare(init)
        except (ProcessLookupError, FileNotFoundError) as error:
            raise SandboxGoneError("it was ended or removed while it started") from error
        except OSError as error:
            raise SandboxError(f"The sandbox could not be put under its limits: {error.strerror or error} ({error.filename}).") from error

    def _forget(self, record: Record) -> None:
        cgroups.remove(map(Path, record.groups))
        self._records.remove(record)

    async def list(self) -> list[FoundSandbox]:
        """See `interface.SandboxEngine`."""
        return [
            FoundSandbox(
                each.id,
                "bubblewrap",
                each.run,
                each.purpose,
                each.owner,
                each.image,
                created_at(each),
                each.network,
                each.init,
                each.init_started,
            )
            for each in await _in_thread(self._records.all)
        ]

    async def remove(self, found: FoundSandbox) -> None:
        """See `interface.SandboxEngine`."""
        for record in await _in_thread(self._records.all):
            if record.id == found.id:
                await _kill_recorded(record)
                await _in_thread(lambda record=record: self._forget(record))  # type: ignore[misc]  # the default binds it now.
                return

    async def aclose(self) -> None:
        """See `interface.SandboxEngine`."""
        if self._launcher is not None:
            self._launcher.close()


@contextlib.contextmanager
def _heard(what: str) -> Iterator[None]:
    """Of a failure while another one is on its way out, which is the one to tell, only the log hears."""
    try:
        yield
    except SandboxError as error:
        _log.warning("%s could not be removed: %s", what, error)


async def _kill_recorded(record: Record) -> None:
    """End process 1 of a sandbox that somebody else made, if it still is the one that was recorded. Raises SandboxError."""
    if record.init is None:
        return
    failed = f"The sandbox {record.id} could not be ended (process {record.init})"
    with told_as_sandbox_error(failed):
        try:
            fd = os.pidfd_open(record.init)
        except ProcessLookupError:
            return
    try:
        with told_as_sandbox_error(failed):
            if started_ticks(record.init) != record.init_started:
                return
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        await _gone(fd, record)
    finally:
        os.close(fd)


async def _gone(fd: int, record: Record) -> None:
    try:
        async with asyncio.timeout(ENGINE_SECONDS):
            await readable(fd)
    except TimeoutError:
        raise SandboxError(f"The sandbox {record.id} does not end (process {record.init}).") from None


def _may_spare() -> bool:
    cap_sys_resource = 24
    fields = dict(line.partition(":")[::2] for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    return bool(int(fields["CapEff"], 16) >> cap_sys_resource & 1)


def _spare(init: int) -> None:
    """Let the kernel, when the sandbox is out of memory, take the agent's programs and never init or the grader.

    The agent's are set to 1000 when they start. The floor below which nobody inside may go is set to 1000 here first, and only then is the
    value itself lowered, through the old file that leaves the floor alone: so no program of the agent's can make itself spared.
    """
    Path(f"/proc/{init}/oom_score_adj").write_text("1000", encoding="ascii")
    with contextlib.suppress(FileNotFoundError):
        Path(f"/proc/{init}/oom_adj").write_text("-15", encoding="ascii")


async def _in_thread(work: Callable[[], T]) -> T:
    """Do it in a thread of ours. Cancelled, it is still waited for: what it made must not be lost."""
    future = asyncio.get_running_loop().run_in_executor(THREADS, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait({future})
        raise
