"""Which engine makes the sandboxes here: the user's choice, or the strongest that passes a probe run, Docker before bubblewrap."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from local_backend.sandboxes.bubblewrap.engine import connect_bubblewrap, look_at_bubblewrap
from local_backend.sandboxes.docker.endpoint import find_endpoint
from local_backend.sandboxes.interface import (
    EngineFacts,
    FoundSandbox,
    Progress,
    Sandbox,
    SandboxEngine,
    SandboxError,
    SandboxRequest,
)
from nodus_tui.contract.configuration import SandboxSettings
from nodus_tui.contract.sandboxes import SandboxEngineFact
from nodus_tui.values import replace

ENGINE_VARIABLE = "NODUS_SANDBOX_ENGINE"
"""Overrides the configuration's `sandboxes.engine`."""

LOOK_SECONDS = 10.0
"""An engine that is only asked what is left at it answers within this, in seconds, or is not asked."""

EngineName = Literal["docker", "bubblewrap"]
Connect = Callable[[Mapping[str, str]], Awaitable[SandboxEngine]]


async def _connect_docker(environ: Mapping[str, str]) -> SandboxEngine:
    find_endpoint(environ)
    # Its HTTP client costs a quarter of what a verb takes to start: only where there is somebody to speak to.
    from local_backend.sandboxes.docker.engine import connect_docker  # noqa: PLC0415

    return await connect_docker(environ)


_CONNECT: Mapping[EngineName, Connect] = {"docker": _connect_docker, "bubblewrap": connect_bubblewrap}
_NAMES: Mapping[EngineName, str] = {"docker": "Docker", "bubblewrap": "bubblewrap"}
_INSTALL = "Install Docker, or bubblewrap with uidmap (`apt install bubblewrap uidmap`), and look again with `nodus-tui doctor`."

_log = logging.getLogger(__name__)


async def choose_engine(
    settings: SandboxSettings, environ: Mapping[str, str], *, connect: Mapping[EngineName, Connect] = _CONNECT
) -> tuple[SandboxEngine | None, SandboxEngineFact]:
    """The engine and why it is this one; None with the reason when none can be had. Takes a second or two, more when an image is made."""
    asked, by = (environ[ENGINE_VARIABLE], ENGINE_VARIABLE) if environ.get(ENGINE_VARIABLE) else (settings.engine, "sandboxes.engine")
    order: tuple[EngineName, ...]
    match asked:
        case "docker" | "bubblewrap" as name:
            order = (name,)
        case "auto":
            order = ("docker", "bubblewrap")
        case _:
            return None, _none(f"{by} is {asked!r}: it may be auto, docker or bubblewrap.")
    notes: list[str] = []
    weaker: SandboxEngine | None = None
    for name in order:
        try:
            engine = await _probed(environ, connect[name])
        except SandboxError as error:
            notes.append(f"{_NAMES[name]}: {error}")
            continue
        except Exception as error:  # noqa: BLE001 - a fault in one engine must not keep the other from being tried
            _log.exception("%s cannot be used, by a fault of nodus-tui", _NAMES[name])
            notes.append(f"{_NAMES[name]} cannot be used, by a fault of nodus-tui ({type(error).__name__}): the log has the details")
            continue
        if engine.facts.isolation == "full":
            if weaker is not None:
                await weaker.aclose()
            return engine, _fact(engine.facts, _why(name, asked, by, notes))
        notes.append(f"{_NAMES[name]} passed the probe run, but is weaker: {engine.facts.weaknesses[0]}")
        if weaker is None:
            weaker = engine
        else:
            await engine.aclose()
    if weaker is not None:
        return weaker, _fact(weaker.facts, _joined(notes))
    return None, _none(_joined(notes if asked == "auto" else [f"{by} asks for {asked}", *notes]) + f" {_INSTALL}")


async def engines_here(environ: Mapping[str, str]) -> tuple[SandboxEngine, ...]:
    """Every engine at which sandboxes of ours may be left, to list and remove them; the caller closes them.

    One that is there and does not answer is among them, and fails at whatever it is asked: what runs at it is not nothing.
    """
    engines: list[SandboxEngine] = [look_at_bubblewrap(environ)]
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            engines.append(await _connect_docker(environ))
    except SandboxError as error:
        _log.info("Docker is not asked for sandboxes: %s", error)
    except TimeoutError:
        engines.append(_Silent("docker", f"the Docker engine did not answer within {LOOK_SECONDS:.0f} s"))
    return tuple(engines)


async def _probed(environ: Mapping[str, str], connect: Connect) -> SandboxEngine:
    engine = await connect(environ)
    try:
        facts = engine.facts
        from local_backend.sandboxes.probing import probe  # noqa: PLC0415 - whoever only looks makes no probe run

        found = await probe(engine)
    except BaseException:
        with contextlib.suppress(SandboxError):
            await engine.aclose()
        raise
    new = tuple(each for each in found if each not in facts.weaknesses)
    return _Corrected(engine, replace(facts, isolation="weaker", weaknesses=(*facts.weaknesses, *new))) if found else engine


def _why(name: EngineName, asked: str, by: str, notes: list[str]) -> str:
    passed = f"{_NAMES[name]} passed the probe run"
    return f"{by} asks for {asked}; {passed}." if asked != "auto" else _joined([*notes, passed])


def _joined(notes: list[str]) -> str:
    return "; ".join(note.rstrip(".") for note in notes) + "."


def _fact(facts: EngineFacts, reason: str) -> SandboxEngineFact:
    engine: EngineName = "docker" if facts.engine == "docker" else "bubblewrap"
    return SandboxEngineFact(engine=engine, version=facts.version, isolation=facts.isolation, reason=reason, weaknesses=facts.weaknesses)


def _none(reason: str) -> SandboxEngineFact:
    return SandboxEngineFact(engine="none", isolation="none", reason=reason)


class _Corrected:
    """An engine that keeps less than it says: everything is its own but the facts."""

    def __init__(self, engine: SandboxEngine, facts: EngineFacts) -> None:
        self._engine = engine
        self._facts = facts

    @property
    def facts(self) -> EngineFacts:
        """What the probe run showed."""
        return self._facts

    async def prepare(self, image: str | None, progress: Progress | None = None) -> str:
        """The engine's."""
        return await self._engine.prepare(image, progress)

    async def build(self, folder: str, dockerfile: str, tag: str, progress: Progress | None = None) -> str:
        """The engine's."""
        return await self._engine.build(folder, dockerfile, tag, progress)

    async def create(self, request: SandboxRequest) -> Sandbox:
        """The engine's."""
        return await self._engine.create(request)

    async def list(self) -> list[FoundSandbox]:
        """The engine's."""
        return await self._engine.list()

    async def remove(self, found: FoundSandbox) -> None:
        """The engine's."""
        await self._engine.remove(found)

    async def aclose(self) -> None:
        """The engine's."""
        await self._engine.aclose()


class _Silent:
    """An engine that is there and does not answer: it fails at everything, with the reason."""

    def __init__(self, name: EngineName, why: str) -> None:
        self._why = why
        self.facts = EngineFacts(name, "", "weaker", (why,))

    async def prepare(self, *_: object, **__: object) -> str:
        """Fails."""
        raise SandboxError(self._why)

    async def build(self, *_: object, **__: object) -> str:
        """Fails."""
        raise SandboxError(self._why)

    async def create(self, *_: object, **__: object) -> Sandbox:
        """Fails."""
        raise SandboxError(self._why)

    async def list(self) -> list[FoundSandbox]:
        """Fails."""
        raise SandboxError(self._why)

    async def remove(self, *_: object, **__: object) -> None:
        """Fails."""
        raise SandboxError(self._why)

    async def aclose(self) -> None:
        """Nothing is held."""
