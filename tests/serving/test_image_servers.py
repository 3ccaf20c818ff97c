"""Model servers that are images, at real Docker engines: one with a bridge, through which a port is published, and one without."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from docker_engines import connected, need, own_engine, user_engine
from engine_place import at_rest, group, in_phase
from job_place import until, workspace
from serving_place import SERVER, agent, campaign, lines, server, specs, until_serving

pytestmark = pytest.mark.timeout(110)


@contextmanager
def _bridge() -> Iterator[str]:
    """A bridge of the test's own, away from any that the machine has."""
    need("" if os.geteuid() == 0 else "only root can make a network bridge")
    name, number = f"nodus{os.getpid() % 100_000}", os.getpid() % 200
    made = subprocess.run(["ip", "link", "add", name, "type", "bridge"], capture_output=True, text=True, check=False)
    need(f"no network bridge can be made: {made.stderr.strip()}" if made.returncode else "")
    try:
        subprocess.run(["ip", "addr", "add", f"172.31.{number}.1/24", "dev", name], check=True)
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
        yield name
    finally:
        subprocess.run(["ip", "link", "del", name], check=True)


@pytest.fixture
async def bridged(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """The base image at an engine with a bridge, which is DOCKER_HOST."""
    with _bridge() as bridge, own_engine([f"--bridge={bridge}"]) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.host)
        async with connected(engine.host, deadline=60) as found:
            yield f"nodus/base:{(await found.prepare(None)).partition('@sha256:')[2]}"


def _image(folder: Path, image: str) -> dict[str, object]:
    """The stand-in inside the base image; its folder and its program are mounted."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    mounts = [{"source": str(SERVER), "target": "/server.py"}, {"source": str(folder), "target": "/work", "readOnly": False}]
    return {"image": image, "command": ["python3", "/server.py", "/work", "0.0.0.0"], "mounts": mounts}


async def test_an_image_serves_at_a_port_that_the_engine_chose_and_is_started_again(tmp_path: Path, bridged: str) -> None:
    place = tmp_path / "server"
    image = _image(place, bridged)
    (place / "die").touch()
    async with workspace(tmp_path) as backend:
        documents = [server(place, port=8000, restarts=1, spec=image), agent(), group(tasks=2)]
        await backend.apply(specs(tmp_path, *documents))
        status = await until_serving(backend)
        assert status.serving is not None
        assert status.serving.address is not None
        assert status.serving.address.startswith("http://127.0.0.1:")
        assert status.serving.address != "http://127.0.0.1:8000/v1"
        assert (await at_rest(backend)).verdicts == {"Correct": 2}
        ended = await until(backend, name="server")
        assert (ended.phase, ended.reason, ended.attempt) == ("Succeeded", "NoLongerUsed", 2)
        assert len(lines(tmp_path, "starts")) == 2


async def test_an_engine_without_a_bridge_can_publish_no_port_and_that_is_told(tmp_path: Path) -> None:
    async with user_engine() as engine:
        info = await engine.client.ask("GET", "/networks")
        if any(each["Name"] == "bridge" and (each.get("IPAM") or {}).get("Config") for each in info):
            pytest.skip("this engine has a bridge")
        image = f"nodus/base:{(await engine.prepare(None)).partition('@sha256:')[2]}"
        async with workspace(tmp_path) as backend:
            await backend.apply(campaign(tmp_path, port=8000, spec=_image(tmp_path / "server", image)))
            status = await until(backend, name="server")
            assert (status.phase, status.reason) == ("Failed", "NotStarted")
            assert "does not publish port 8000 (it runs without a bridge): nobody could reach the server" in status.message
            assert (await in_phase(backend, "Stalled")).reason == "WaitingForModel"
