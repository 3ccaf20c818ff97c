"""What a workspace makes its sandboxes with, and what it has kept of their files.

The scheduler's runs get their sandboxes through `workplaces`; whoever only looks uses the rest. No engine is touched before it is needed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from local_backend.applying.plan import BoxNeed, SandboxNeed
from local_backend.devices.desk import DeviceDesk
from local_backend.episodes.workplace import Workplaces
from local_backend.sandboxes.archives import ArchiveError, entries, member
from local_backend.sandboxes.choosing import choose_engine
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.pool import SandboxPool
from local_backend.storage.artifacts import Artifacts
from nodus_tui.contract.configuration import Configuration
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import nano_ceiling
from nodus_tui.contract.sandboxes import FileEntry, SandboxEngineFact
from nodus_tui.statistics.hardware_rates import rates_with, slice_rate

_log = logging.getLogger(__name__)


class SandboxDesk:
    """One a backend."""

    def __init__(
        self,
        home: Path,
        configuration: Configuration,
        environ: Mapping[str, str],
        clock: Callable[[], datetime],
        devices: DeviceDesk,
    ) -> None:
        self._home = home
        self._configuration = configuration
        self._environ = environ
        self._clock = clock
        self.artifacts = Artifacts(home)
        self.kept_boxes = Artifacts(home, "sandboxes")
        """Files of Sandboxes that have stopped."""
        settings = configuration.sandboxes
        owner = this_process(str(home))
        self.pool = SandboxPool(lambda: choose_engine(settings, environ), owner, settings.max_running)
        self.workplaces = Workplaces(self.pool, self.artifacts, self._rate, settings.keep_files_mib << 20, devices)

    def _rate(self, hardware: str, cpus: float, memory_gib: float, accelerators: int) -> int:
        rate = slice_rate(rates_with(self._configuration.rates), hardware, cpus, memory_gib, accelerators)
        return nano_ceiling(rate if rate is not None else Decimal(0))

    @property
    def used(self) -> bool:
        """Whether this workspace ever had a sandbox: without, no engine is asked for leftovers when a scheduler starts."""
        return self.artifacts.there or self.kept_boxes.there

    async def fact(self) -> SandboxEngineFact:
        """Which engine makes the sandboxes here, found out by probe runs."""
        return await self.pool.fact()

    @property
    def known_fact(self) -> SandboxEngineFact | None:
        """The same where it was found out already."""
        return self.pool.known_fact

    def kept(self, run: str, why: str) -> Path:
        """The archive of a run's files. Raises NodusError (NotFound) where none is kept, with the reason where `why` has one."""
        if not self.artifacts.has(run):
            because = why or "it has not begun, has no tools, or left too much"
            raise NodusError(ErrorCode.NOT_FOUND, f"no files of {run} are kept here: {because}")
        return self.artifacts.path(run)

    @property
    def running(self) -> int:
        """Sandboxes of this workspace's runs that run now."""
        return self.pool.taken

    async def refuse_what_cannot_be_had(self, needs: Sequence[SandboxNeed]) -> None:
        """Raise NodusError when launches need sandboxes that this machine cannot make; each reason is told."""
        needs = [need for need in needs if need.agent is not None or (need.environment is not None and need.environment.in_sandbox)]
        if not needs:
            return
        fact = await self.pool.fact()
        if fact.engine == "none":
            groups = ", ".join(need.group for need in needs)
            raise NodusError(ErrorCode.NOT_SUPPORTED, f"no sandbox can be made here, and {groups} needs some: {fact.reason}")
        facts = await self.pool.facts()
        reasons = []
        for need in needs:
            image = need.agent.sandbox.image if need.agent is not None else None
            if image is not None and not facts.images:
                reasons.append(f"{need.group}: the image {image} needs Docker, and the engine here is {facts.engine} ({fact.reason})")
            if need.environment is not None and need.environment.source == "folder" and not facts.images:
                reasons.append(
                    f"{need.group}: the task folders of {need.environment.name} bring images, which need Docker, and the engine here is "
                    f"{facts.engine} ({fact.reason})"
                )
            if need.environment is not None and need.environment.in_sandbox and facts.isolation != "full":
                weak = "; ".join(facts.weaknesses)
                reasons.append(
                    f"{need.group}: {need.environment.name} is graded by programs, which need full isolation; "
                    f"{facts.engine} gives less here: {weak}"
                )
        if reasons:
            raise NodusError(ErrorCode.NOT_SUPPORTED, "; ".join(reasons))

    async def refuse_boxes(self, needs: Sequence[BoxNeed]) -> None:
        """The same for Sandboxes."""
        if not needs:
            return
        names = ", ".join(need.name for need in needs)
        fact = await self.pool.fact()
        if fact.engine == "none":
            raise NodusError(ErrorCode.NOT_SUPPORTED, f"no sandbox can be made here, so not {names} either: {fact.reason}")
        images = (await self.pool.facts()).images
        refused = [f"{need.name} asks for the image {need.spec.image}" for need in needs if need.spec.image is not None]
        if refused and not images:
            why = f"images need Docker, and the engine here is {fact.engine} ({fact.reason})"
            raise NodusError(ErrorCode.NOT_SUPPORTED, f"{'; '.join(refused)}: {why}")

    def kept_of_box(self, name: str, why: str) -> Path:
        """The archive of a Sandbox's files. Raises NodusError (NotFound) where none is kept, with the reason."""
        if not self.kept_boxes.has(name):
            raise NodusError(ErrorCode.NOT_FOUND, f"no files of {name} are kept here: {why}")
        return self.kept_boxes.path(name)

    async def aclose(self) -> None:
        """Let go of the engine."""
        await self.pool.aclose()


async def files_in(archive: Path, run: str) -> tuple[FileEntry, ...]:
    """The files in an archive of a run's work folder. Raises NodusError."""
    try:
        found = await asyncio.to_thread(entries, archive)
    except ArchiveError as error:
        raise _unreadable(run, error) from error
    return tuple(FileEntry(path=each.path, kind=each.kind, size=each.size, executable=each.executable) for each in found)


async def file_in(archive: Path, run: str, path: str) -> AsyncIterator[bytes]:
    """The bytes of one file in it. Raises NodusError."""
    pieces = member(archive, path)
    while True:
        try:
            piece = await asyncio.to_thread(next, pieces, None)
        except KeyError:
            raise NodusError(ErrorCode.NOT_FOUND, f"{run} has no file of that path") from None
        except ArchiveError as error:
            raise _unreadable(run, error) from error
        if piece is None:
            return
        yield piece


def _unreadable(run: str, error: ArchiveError) -> NodusError:
    return NodusError(ErrorCode.UNAVAILABLE, f"the files of {run} cannot be read: {error}")
