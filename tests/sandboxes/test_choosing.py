"""Which engine is chosen: by a real probe run, or because somebody says so."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from local_backend.machine_sandboxes import MachineSandboxes
from local_backend.sandboxes import choosing
from local_backend.sandboxes.bubblewrap.engine import BubblewrapEngine, connect_bubblewrap
from local_backend.sandboxes.choosing import choose_engine, engines_here
from local_backend.sandboxes.interface import EngineFacts, Limits, Sandbox, SandboxEngine, SandboxError, SandboxRequest
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.probing import probe
from nodus_tui.contract.configuration import SandboxSettings
from nodus_tui.contract.errors import NodusError

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "DOCKER_HOST": "unix:///nonexistent/docker.sock"}


async def _absent(_: Mapping[str, str]) -> SandboxEngine:
    raise SandboxError("no engine answers at unix:///nonexistent/docker.sock")


async def test_bubblewrap_where_no_docker_answers() -> None:
    engine, fact = await choose_engine(SandboxSettings(), ENVIRON)
    assert engine is not None
    assert (fact.engine, fact.isolation) == ("bubblewrap", engine.facts.isolation)
    assert fact.version == engine.facts.version
    assert fact.reason.startswith("Docker: ")
    assert "bubblewrap passed the probe run" in fact.reason
    await engine.aclose()


async def test_a_fault_of_ours_in_one_engine_keeps_nobody_from_the_other() -> None:
    async def broken(_: Mapping[str, str]) -> SandboxEngine:
        raise OSError(24, "Too many open files")

    engine, fact = await choose_engine(SandboxSettings(), ENVIRON, connect={"docker": broken, "bubblewrap": connect_bubblewrap})
    assert engine is not None
    assert fact.engine == "bubblewrap"
    assert fact.reason.startswith("Docker cannot be used, by a fault of nodus-tui (OSError)")
    await engine.aclose()


async def test_an_engine_that_is_asked_for_is_tried_alone() -> None:
    for settings, environ, by in (
        (SandboxSettings(engine="bubblewrap"), ENVIRON, "sandboxes.engine asks for bubblewrap"),
        (SandboxSettings(engine="docker"), {**ENVIRON, "NODUS_SANDBOX_ENGINE": "bubblewrap"}, "NODUS_SANDBOX_ENGINE asks for bubblewrap"),
    ):
        engine, fact = await choose_engine(settings, environ)
        assert engine is not None
        assert fact.reason.startswith(by) or engine.facts.isolation == "weaker"
        assert "Docker" not in fact.reason or engine.facts.isolation == "weaker"
        await engine.aclose()


async def test_no_engine_is_said_with_every_reason_and_what_to_do(tmp_path: Path) -> None:
    engine, fact = await choose_engine(SandboxSettings(), {**ENVIRON, "PATH": str(tmp_path)})
    assert engine is None
    assert (fact.engine, fact.isolation) == ("none", "none")
    assert "Docker: " in fact.reason
    assert "bubblewrap is not installed" in fact.reason
    assert "nodus-tui doctor" in fact.reason
    engine, fact = await choose_engine(SandboxSettings(engine="docker"), ENVIRON)
    assert engine is None
    assert fact.reason.startswith("sandboxes.engine asks for docker; Docker: ")


async def test_an_engine_that_nobody_has_is_refused() -> None:
    engine, fact = await choose_engine(SandboxSettings(), {**ENVIRON, "NODUS_SANDBOX_ENGINE": "podman"})
    assert engine is None
    assert fact.reason == "NODUS_SANDBOX_ENGINE is 'podman': it may be auto, docker or bubblewrap."


class _Careless:
    """bubblewrap, but it forgets the limits that it was asked for and says that it is strong: what some engines do."""

    def __init__(self, engine: BubblewrapEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    @property
    def facts(self) -> EngineFacts:
        return EngineFacts("docker", "1.0", "full", (), two_users=self._engine.facts.two_users)

    async def create(self, request: SandboxRequest) -> Sandbox:
        large = Limits(cpus=8, memory_bytes=2 << 30, pids=500, disk_bytes=1 << 30)
        return await self._engine.create(
            SandboxRequest(run=request.run, purpose=request.purpose, owner=request.owner, lifetime_seconds=60, limits=large)
        )


async def _careless(_: Mapping[str, str]) -> SandboxEngine:
    return _Careless(await connect_bubblewrap(os.environ))  # type: ignore[return-value]  # By `__getattr__`.


async def test_limits_that_are_ignored_make_an_engine_weaker_whatever_it_says() -> None:
    engine, fact = await choose_engine(SandboxSettings(engine="docker"), ENVIRON, connect={"docker": _careless, "bubblewrap": _absent})
    assert engine is not None
    assert fact.isolation == engine.facts.isolation == "weaker"
    # On a loaded machine nobody can tell whether the processor was limited or only busy.
    assert set(fact.weaknesses) - {"The CPU of a sandbox is not limited."} == {
        "The disk of a sandbox is not limited.",
        "The number of processes of a sandbox is not limited.",
        "The memory of a sandbox is not limited.",
    }
    assert "is weaker" in fact.reason
    await engine.aclose()


async def test_a_strong_engine_is_taken_before_a_weaker_one() -> None:
    strong = await connect_bubblewrap(os.environ)
    is_strong = strong.facts.isolation == "full"
    await strong.aclose()
    if not is_strong:
        pytest.skip("bubblewrap is weaker here, so that there is no stronger one")
    engine, fact = await choose_engine(SandboxSettings(), ENVIRON, connect={"docker": _careless, "bubblewrap": connect_bubblewrap})
    assert engine is not None
    assert (fact.engine, fact.isolation) == ("bubblewrap", "full")
    assert "Docker passed the probe run, but is weaker" in fact.reason
    await engine.aclose()


async def test_a_probe_leaves_nothing() -> None:
    engine = await connect_bubblewrap(os.environ)
    await probe(engine)
    assert [each for each in await engine.list() if each.run == "probe" and each.owner == this_process()] == []
    await engine.aclose()


async def test_looking_needs_nothing_installed(tmp_path: Path) -> None:
    engines = await engines_here({**ENVIRON, "PATH": str(tmp_path)})
    assert [each.facts.engine for each in engines] == ["bubblewrap"]
    assert isinstance(await engines[0].list(), list)
    for engine in engines:
        await engine.aclose()


async def test_sandboxes_at_an_engine_that_hangs_are_unknown_and_not_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "LOOK_SECONDS", 1.0)
    with socket.socket(socket.AF_UNIX) as hung:
        hung.bind(str(tmp_path / "docker.sock"))
        hung.listen()
        here = MachineSandboxes(tmp_path, {**ENVIRON, "DOCKER_HOST": f"unix://{tmp_path}/docker.sock"})
        with pytest.raises(NodusError, match="the sandboxes of docker cannot be listed: the Docker engine did not answer"):
            await here.list()
        assert ["the Docker engine did not answer" in failure for failure in (await here.reap()).failures] == [True]
