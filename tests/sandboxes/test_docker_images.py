"""Images for Docker sandboxes: built, pulled from a real registry with and without credentials, and what they have in folders."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from docker_engines import PASSWORD, SMALL, Registry, credential_helper, private_registry, request, runs_at, sandbox_of, shell, user_engine

from local_backend.sandboxes.docker.credentials import encoded
from local_backend.sandboxes.docker.engine import DockerEngine, connect_docker
from local_backend.sandboxes.interface import SandboxError, SandboxRefusedError, User
from nodus_tui.values import replace


@asynccontextmanager
async def built(engine: DockerEngine, folder: Path, lines: str, tag: str) -> AsyncIterator[str]:
    """An image on top of the base image, for the time of a block."""
    base = (await engine.prepare(None)).replace("@sha256:", ":")
    (folder / "Dockerfile").write_text(lines.replace("BASE", base))
    image = await engine.build(str(folder), "Dockerfile", tag)
    try:
        yield image
    finally:
        await engine.client.ask("DELETE", f"/images/{tag}", params={"force": "1"})


async def test_what_an_image_has_at_the_work_folder_is_found_there_as_the_agents(tmp_path: Path) -> None:
    (tmp_path / "files" / "inner").mkdir(parents=True)
    (tmp_path / "files" / "secret").write_text("content")
    (tmp_path / "files" / "secret").chmod(0o600)
    (tmp_path / "files" / "inner" / "run").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "files" / "inner" / "run").chmod(0o755)
    (tmp_path / "files" / "link").symlink_to("secret")
    lines = "FROM BASE\nCOPY files /app\nENV OF_IMAGE=yes\nWORKDIR /elsewhere\nHEALTHCHECK CMD false\n"
    async with user_engine() as engine, built(engine, tmp_path, lines, "nodus-test/workdir:1") as image:
        for _ in range(2):  # The second gets what was kept of the first.
            async with sandbox_of(engine, "workdir", image=image, workdir="/app", environ={"OF_REQUEST": "too"}) as sandbox:
                script = "pwd; cat link; ./inner/run; echo changed >secret; stat -c '%u %a %n' * inner/run; echo $OF_IMAGE $OF_REQUEST"
                stdout, stderr, _ = await shell(sandbox, script)
                assert stdout.decode().split("\n")[:2] == ["/app", "contentran"]
                assert stdout.decode().split("\n")[2:-1] == [
                    "1000 755 inner",
                    "1000 777 link",
                    "1000 600 secret",
                    "1000 755 inner/run",
                    "yes too",
                ]
                assert stderr == b""
                assert sandbox.image == image


async def test_an_images_volumes_are_limited_and_the_agents(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("given")
    lines = "FROM BASE\nCOPY data /store/data\nVOLUME /store\n"
    async with user_engine() as engine, built(engine, tmp_path, lines, "nodus-test/volume:1") as image:
        before = await engine.client.ask("GET", "/volumes")
        async with sandbox_of(engine, "volume", image=image) as sandbox:
            stdout, stderr, code = await shell(sandbox, "cat /store/data; stat -c ' %u' /store; head -c 50000000 /dev/zero >/store/bomb")
            assert stdout == b"given 1000\n"
            assert b"No space left" in stderr
            assert code != 0
        assert (await engine.client.ask("GET", "/volumes"))["Volumes"] == before["Volumes"]


async def test_an_image_whose_folder_does_not_fit_is_refused(tmp_path: Path) -> None:
    lines = "FROM BASE\nRUN mkdir /app && head -c 9000000 /dev/zero >/app/large\n"
    small = replace(SMALL, disk_bytes=8 << 20)
    async with user_engine() as engine, built(engine, tmp_path, lines, "nodus-test/large:1") as image:
        with pytest.raises(SandboxRefusedError, match="does not fit into the sandbox's disk"):
            await engine.create(request("large", image=image, workdir="/app", limits=small))
        # Nearly fits: the copying itself finds out.
        with pytest.raises(SandboxRefusedError, match="could not be copied into the sandbox, whose disk may be too small: tar"):
            await engine.create(request("large", image=image, workdir="/app", limits=replace(SMALL, disk_bytes=12 << 20)))
        assert await runs_at(engine, "large") == []


@pytest.mark.parametrize(
    ("lines", "reason"), [("FROM BASE\nRUN rm /usr/bin/tar\n", "has no 'tar'"), ("FROM scratch\nCOPY Dockerfile /\n", "needs 'sleep'")]
)
async def test_an_image_that_no_sandbox_can_be_made_of_is_refused(tmp_path: Path, lines: str, reason: str) -> None:
    async with user_engine() as engine, built(engine, tmp_path, lines, "nodus-test/poor:1") as image:
        with pytest.raises(SandboxRefusedError, match=reason):
            await engine.create(request("poor", image=image))
        assert await runs_at(engine, "poor") == []


async def test_a_build_tells_how_it_goes_and_leaves_out_what_dockerignore_says(tmp_path: Path) -> None:
    async with user_engine() as engine:
        base = (await engine.prepare(None)).replace("@sha256:", ":")
        (tmp_path / "image").mkdir()
        (tmp_path / "image" / "Dockerfile.task").write_text(f"FROM {base}\nCOPY . /files\nRUN ls /files && echo built-here\n")
        (tmp_path / ".dockerignore").write_text("# a comment\n*.log\n!kept.log\n")
        for name in ("some.log", "kept.log", "other.txt"):
            (tmp_path / name).touch()
        said: list[str] = []
        image = await engine.build(str(tmp_path), "image/Dockerfile.task", "nodus-test/built:1", said.append)
        try:
            assert any(line.startswith("Step 2/3") for line in said)
            assert "built-here" in said
            assert "some.log" not in said
            async with sandbox_of(engine, "built", image=image) as sandbox:
                stdout, _, _ = await shell(sandbox, "ls /files")
                assert stdout.split() == [b"image", b"kept.log", b"other.txt"]
            assert await engine.prepare("nodus-test/built:1") == image
            said.clear()
            assert await engine.build(str(tmp_path), "image/Dockerfile.task", "nodus-test/built:1", said.append) == image
            assert said == []
        finally:
            await engine.client.ask("DELETE", f"/images/{image}", params={"force": "1"})


async def test_a_build_that_fails_says_where_and_what_was_said(tmp_path: Path) -> None:
    async with user_engine() as engine:
        base = (await engine.prepare(None)).replace("@sha256:", ":")
        (tmp_path / "Dockerfile").write_text(f"FROM {base}\nRUN echo what is missing; false\n")
        with pytest.raises(SandboxError, match=r"Dockerfile could not be built.*returned a non-zero code.*what is missing") as caught:
            await engine.build(str(tmp_path), "Dockerfile", "nodus-test/failing:1")
        assert not isinstance(caught.value, SandboxRefusedError)
        with pytest.raises(SandboxRefusedError, match="Other does not exist"):
            await engine.build(str(tmp_path), "Other", "nodus-test/failing:1")


# A registry.


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with private_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@asynccontextmanager
async def pushed(registry: Registry, folder: Path, name: str) -> AsyncIterator[str]:
    """An image that only the registry has; gives its digest."""
    reference = f"{registry.address}/{name}"
    async with user_engine() as engine:
        (folder / "payload").write_bytes(b"p" * 3_000_000)
        (folder / "payload").chmod(0o644)
        async with built(engine, folder, "FROM BASE\nCOPY payload /payload\n", f"{reference}:1"):
            headers = {"X-Registry-Auth": encoded({"username": "tester", "password": PASSWORD, "serveraddress": registry.address})}
            lines = engine.client.lines(f"/images/{reference}/push", params={"tag": "1"}, headers=headers, quiet_seconds=60)
            async with aclosing(lines):
                digests = [event["aux"]["Digest"] async for event in lines if "aux" in event]
        yield digests[-1]
        if await engine.client.ask("GET", "/images/json", params={"filters": json.dumps({"reference": [f"{reference}:1"]})}):
            await engine.client.ask("DELETE", f"/images/{reference}:1", params={"force": "1"})


@asynccontextmanager
async def engine_with(configuration: Path, document: dict[str, object], host: dict[str, str]) -> AsyncIterator[DockerEngine]:
    """The engine, for somebody with this Docker configuration."""
    _configure(configuration, document)
    engine = await connect_docker({**host, "DOCKER_CONFIG": str(configuration)})
    try:
        yield engine
    finally:
        await engine.aclose()


def _configure(folder: Path, document: dict[str, object]) -> None:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(document))


@pytest.fixture
async def host() -> dict[str, str]:
    """Where the engine is, whatever the Docker configuration of a test says."""
    async with user_engine() as engine:
        endpoint = engine.client.endpoint
        if endpoint.unix is None:
            pytest.skip("the registry listens on this machine's loopback, and the engine may be on another")
        return {"DOCKER_HOST": f"unix://{endpoint.unix}"}


async def test_a_private_image_is_pulled_with_dockers_credentials(registry: Registry, host: dict[str, str], tmp_path: Path) -> None:
    async with pushed(registry, tmp_path, "private/one") as digest:
        reference = f"{registry.address}/private/one"
        configuration = {"auths": {registry.address: {"auth": _basic("tester", PASSWORD)}}}
        async with engine_with(tmp_path / "config", configuration, host) as engine:
            said: list[str] = []
            names = await asyncio.gather(*[engine.prepare(f"{reference}:1", said.append) for _ in range(3)])
            assert names == [f"{reference}@{digest}"] * 3
            assert said[0] == f"pulling {reference}:1"
            assert said.count(f"pulled {reference}:1") == 1  # Three asked, one pulled.
            assert any("2 of 2 layers" in line for line in said)
            assert await engine.prepare(f"{reference}@{digest}") == f"{reference}@{digest}"
            async with sandbox_of(engine, "pulled", image=f"{reference}@{digest}") as sandbox:
                assert sandbox.image == f"{reference}@{digest}"
                assert await shell(sandbox, "wc -c </payload", User.ROOT) == (b"3000000\n", b"", 0)
            with pytest.raises(SandboxRefusedError, match=f"the image {reference}:2 does not exist at {registry.address}"):
                await engine.prepare(f"{reference}:2")


async def test_a_credential_helper_is_asked(
    registry: Registry, host: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credential_helper(tmp_path, "nodus-test", registry.address)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    async with pushed(registry, tmp_path, "private/two") as digest:
        reference = f"{registry.address}/private/two"
        async with engine_with(tmp_path / "config", {"credHelpers": {registry.address: "nodus-test"}}, host) as engine:
            assert await engine.prepare(f"{reference}:1") == f"{reference}@{digest}"


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        ({}, "gives the image .* to nobody unknown.*docker login"),
        ({"auths": {"ADDRESS": {"auth": "dGVzdGVyOndyb25n"}}}, "refused the image .* to the credentials in Docker's configuration"),
        ({"credHelpers": {"ADDRESS": "nodus-missing"}}, "cannot be taken from .*not installed or not available in PATH"),
    ],
)
@pytest.mark.filterwarnings("ignore:docker-credential-nodus-missing not installed")
async def test_what_a_registry_refuses_is_a_sentence(
    registry: Registry, host: dict[str, str], tmp_path: Path, configuration: dict[str, object], reason: str
) -> None:
    document = json.loads(json.dumps(configuration).replace("ADDRESS", registry.address))
    async with engine_with(tmp_path / "config", document, host) as engine:
        with pytest.raises(SandboxError, match=reason) as caught:
            await engine.prepare(f"{registry.address}/private/three:1")
        assert "wrong" not in str(caught.value)


def _basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()
