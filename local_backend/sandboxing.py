"""What a workspace's backend knows and does about sandboxes beside its runs: the engine, what runs on this machine, reaping, kept files.

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
from local_backend.sandboxes.choosing import choose_engine, engines_here
from local_backend.sandboxes.interface import FoundSandbox, SandboxEngine, SandboxError
from local_backend.sandboxes.owner import owner_alive, this_process
from local_backend.sandboxes.pool import SandboxPool
from local_backend.sandboxes.reaper import reap
from local_backend.storage.artifacts import Artifacts
from nodus_tui.contract.configuration import Configuration
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import nano_ceiling
from nodus_tui.contract.sandboxes import FileEntry, ReapOutcome, SandboxEngineFact, SandboxFact
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

    async def list(self) -> tuple[SandboxFact, ...]:
        """Every sandbox of ours on this machine. Raises NodusError."""
        return tuple(self._fact_of(each) for each in await self.found())

    async def found(self) -> Sequence[FoundSandbox]:
        """The same, as the engines know them. Raises NodusError."""
        async with _Engines(self._configuration, self._environ) as engines:
            return [each for engine in engines for each in await _asked(engine)]

    async def reap(self) -> ReapOutcome:
        """Remove the sandboxes whose owner is dead."""
        async with _Engines(self._configuration, self._environ) as engines:
            removed, kept, failures = await reap(engines)
        return ReapOutcome(removed=tuple(self._fact_of(each) for each in removed), kept=kept, failures=tuple(failures))

    async def reap_quietly(self) -> None:
        """The same for a scheduler's start and end: what was removed and what failed is in the log."""
        try:
            outcome = await self.reap()
        except (NodusError, SandboxError) as error:
            _log.warning("leftover sandboxes could not be looked for: %s", error)
            return
        for each in outcome.removed:
            _log.warning("removed the sandbox %s of %s, whose scheduler is gone", each.id, each.run)
        for failure in outcome.failures:
            _log.warning("%s", failure)

    async def leave_nothing(self) -> None:
        """At a scheduler's end: remove what it made and could not end before, and what dead owners left. What fails is in the log."""
        if not self.used:
            return
        await self.reap_quietly()
        async with _Engines(self._configuration, self._environ) as engines:
            for engine in engines:
                try:
                    for found in await engine.list():
                        if found.owner == self.pool.owner:
                            await engine.remove(found)
                except SandboxError as error:
                    _log.warning("sandboxes may be left at %s: %s", engine.facts.engine, error)

    def _fact_of(self, found: FoundSandbox) -> SandboxFact:
        return SandboxFact(
            id=found.id,
            engine=found.engine,
            run=found.run,
            purpose=found.purpose,
            image=found.image,
            network=found.network,
            created_at=found.created_at,
            owner_host=found.owner.host,
            owner_pid=found.owner.pid,
            owner_alive=owner_alive(found.owner),
            workspace=found.owner.workspace,
            mine=found.owner.workspace == str(self._home),
        )

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


class _Engines:
    """Every engine that answers here, for as long as it is looked at: a sandbox may be left by one that is not chosen any more."""

    def __init__(self, configuration: Configuration, environ: Mapping[str, str]) -> None:
        self._settings = configuration.sandboxes
        self._environ = environ
        self._engines: Sequence[SandboxEngine] = ()

    async def __aenter__(self) -> Sequence[SandboxEngine]:
        self._engines = await engines_here(self._environ)
        return self._engines

    async def __aexit__(self, *exc: object) -> None:
        for engine in self._engines:
            await engine.aclose()


async def _asked(engine: SandboxEngine) -> list[FoundSandbox]:
    try:
        return await engine.list()
    except SandboxError as error:
        raise NodusError(ErrorCode.UNAVAILABLE, f"the sandboxes of {engine.facts.engine} cannot be listed: {error}") from error


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
