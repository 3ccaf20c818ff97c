"""Every sandbox of ours on this machine, whichever workspace made it: found, told of, and removed when its owner is dead."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from local_backend.sandboxes.choosing import engines_here
from local_backend.sandboxes.interface import FoundSandbox, Owner, SandboxEngine, SandboxError
from local_backend.sandboxes.owner import owner_alive
from local_backend.sandboxes.reaper import reap
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandboxes import ReapOutcome, SandboxFact

_log = logging.getLogger(__name__)


class MachineSandboxes:
    """As a workspace in this folder looks at them."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self._home = home
        self._environ = environ

    async def list(self) -> tuple[SandboxFact, ...]:
        """Every one of them. Raises NodusError."""
        return tuple(self._fact_of(each) for each in await self.found())

    async def found(self) -> Sequence[FoundSandbox]:
        """The same, as the engines know them. Raises NodusError."""
        async with _Engines(self._environ) as engines:
            return [each for engine in engines for each in await _asked(engine)]

    async def reap(self) -> ReapOutcome:
        """Remove the sandboxes whose owner is dead."""
        async with _Engines(self._environ) as engines:
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

    async def leave_nothing(self, owner: Owner) -> None:
        """At a scheduler's end: remove what it made and could not end before, and what dead owners left. What fails is in the log."""
        await self.reap_quietly()
        async with _Engines(self._environ) as engines:
            for engine in engines:
                try:
                    ours = [each for each in await engine.list() if each.owner == owner]
                except SandboxError as error:
                    _log.warning("sandboxes may be left at %s: %s", engine.facts.engine, error)
                    continue
                for each in ours:
                    try:
                        await engine.remove(each)
                    except SandboxError as error:
                        _log.warning("the sandbox %s of %s may be left at %s: %s", each.id, each.run, engine.facts.engine, error)

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


class _Engines:
    """Every engine that answers here, for as long as it is looked at: a sandbox may be left by one that is not chosen any more."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Sequence[SandboxEngine]:
        engines = await engines_here(self._environ)
        for engine in engines:
            self._closing.push_async_callback(engine.aclose)
        return engines

    async def __aexit__(self, *exc: object) -> None:
        await self._closing.aclose()


async def _asked(engine: SandboxEngine) -> list[FoundSandbox]:
    try:
        return await engine.list()
    except SandboxError as error:
        raise NodusError(ErrorCode.UNAVAILABLE, f"the sandboxes of {engine.facts.engine} cannot be listed: {error}") from error
