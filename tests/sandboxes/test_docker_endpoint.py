"""Which Docker engine the user means: variables, contexts, certificates; and a real engine behind TLS."""

import asyncio
import contextlib
import hashlib
import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from docker_engines import OwnEngine, connected_with, output, own_engine, sandbox_of
from free_ports import free_port

from local_backend.sandboxes.docker.endpoint import find_endpoint
from local_backend.sandboxes.docker.engine import connect_docker
from local_backend.sandboxes.interface import SandboxError


def _context(folder: Path, name: str, host: str, *, skip: bool = False) -> Path:
    """A context as `docker context create` writes it; gives the folder of its certificates."""
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts" / "meta" / key
    meta.mkdir(parents=True)
    (meta / "meta.json").write_text(
        json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": skip}}})
    )
    return folder / "contexts" / "tls" / key / "docker"


def _choose(folder: Path, name: str) -> None:
    (folder / "config.json").write_text(json.dumps({"currentContext": name}))


def test_docker_host_comes_before_contexts_and_a_named_context_before_the_current(tmp_path: Path) -> None:
    for name in ("current", "named"):
        _context(tmp_path, name, f"unix:///run/{name}.sock")
    _choose(tmp_path, "current")
    environ = {"DOCKER_CONFIG": str(tmp_path)}
    assert find_endpoint(environ).unix == "/run/current.sock"
    environ["DOCKER_CONTEXT"] = "named"
    assert find_endpoint(environ).unix == "/run/named.sock"
    environ["DOCKER_HOST"] = "unix:///run/host.sock"
    assert find_endpoint(environ).unix == "/run/host.sock"


def test_what_cannot_be_looked_at_is_no_engine_and_says_so() -> None:
    long = "/x" * 3000  # No path may be so long: the system refuses to look.
    for environ in ({"XDG_RUNTIME_DIR": long}, {"DOCKER_HOST": "tcp://[::1"}, {"DOCKER_CONFIG": long, "DOCKER_CONTEXT": "mine"}):
        with contextlib.suppress(SandboxError):
            assert find_endpoint({"HOME": "/nonexistent", **environ}).unix == "/var/run/docker.sock"


async def test_what_is_no_engine_is_told_as_that(tmp_path: Path) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    path = str(tmp_path / "other.sock")
    async with await asyncio.start_unix_server(answer, path):
        with pytest.raises(SandboxError, match=f"{path}.* is no Docker engine"):
            await connect_docker({"DOCKER_HOST": f"unix://{path}"})


def test_the_configuration_is_found_below_home(tmp_path: Path) -> None:
    (tmp_path / ".docker").mkdir()
    _context(tmp_path / ".docker", "mine", "tcp://engine.test:4000")
    _choose(tmp_path / ".docker", "mine")
    endpoint = find_endpoint({"HOME": str(tmp_path)})
    assert (endpoint.host, endpoint.port, endpoint.tls, endpoint.base_url) == ("engine.test", 4000, None, "http://engine.test:4000")
    assert "Docker context 'mine'" in endpoint.name


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("tcp://engine.test", "http://engine.test:2375"),
        ("tcp://[::1]:99", "http://[::1]:99"),
        ("https://engine.test", "https://engine.test:2376"),
    ],
)
def test_addresses(host: str, expected: str) -> None:
    assert find_endpoint({"DOCKER_HOST": host}).base_url == expected


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("ssh://me@engine.test", r"ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock me@engine.test"),
        ("npipe:////./pipe/docker_engine", "begins with unix:// or tcp://"),
        ("tcp://:99", "names no host"),
        ("tcp://engine.test:port", "Port could not be cast"),
    ],
)
def test_addresses_that_cannot_be_used(host: str, reason: str) -> None:
    with pytest.raises(SandboxError, match=reason):
        find_endpoint({"DOCKER_HOST": host})


def test_a_chosen_context_that_is_not_there_or_damaged_is_an_error_and_no_other_engine(tmp_path: Path) -> None:
    environ = {"DOCKER_CONFIG": str(tmp_path)}
    _choose(tmp_path, "gone")
    with pytest.raises(SandboxError, match=r"context 'gone' is chosen, but .* does not exist"):
        find_endpoint(environ)
    _context(tmp_path, "gone", "unix:///x")
    meta = next(tmp_path.glob("contexts/meta/*/meta.json"))
    meta.write_text("{}")
    with pytest.raises(SandboxError, match="names no engine"):
        find_endpoint(environ)
    meta.write_text("{")
    with pytest.raises(SandboxError, match=r"meta.json cannot be read"):
        find_endpoint(environ)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(SandboxError, match=r"config.json is not an object"):
        find_endpoint(environ)


def test_the_usual_sockets_are_looked_for_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run"), "DOCKER_CONTEXT": "default"}
    (tmp_path / "run").mkdir()
    real = Path.is_socket
    monkeypatch.setattr(Path, "is_socket", lambda self: self != Path("/var/run/docker.sock") and real(self))
    with pytest.raises(SandboxError, match="no Docker engine was found"):
        find_endpoint(environ)
    monkeypatch.chdir(tmp_path / "run")  # A socket's address has about a hundred bytes.
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("docker.sock")
        assert find_endpoint(environ).unix == str(tmp_path / "run" / "docker.sock")


def test_certificates_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    environ = {"DOCKER_HOST": "tcp://engine.test", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(tmp_path)}
    with pytest.raises(SandboxError, match=r"certificates of DOCKER_CERT_PATH in .* cannot be used"):
        find_endpoint(environ)
    context = find_endpoint({"DOCKER_HOST": "tcp://engine.test", "DOCKER_TLS": "1", "DOCKER_CERT_PATH": str(tmp_path / "none")}).tls
    assert context is not None
    assert context.verify_mode is ssl.CERT_NONE


# A real engine behind TLS, which asks its clients for certificates.


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OwnEngine, str, trustme.CA]]:
    authority = trustme.CA()
    folder = tmp_path_factory.mktemp("server")
    _write_certificates(folder, authority, "127.0.0.1")
    address = f"tcp://127.0.0.1:{free_port()}"
    files = [f"--tlscacert={folder}/ca.pem", f"--tlscert={folder}/cert.pem", f"--tlskey={folder}/key.pem"]
    with own_engine(["--host", address, "--tlsverify", *files]) as engine:
        yield engine, address, authority


def _write_certificates(folder: Path, authority: trustme.CA, identity: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    issued = authority.issue_cert(identity)
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    issued.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    issued.private_key_pem.write_to_path(str(folder / "key.pem"))


async def test_a_context_with_tls_drives_an_engine(secured: tuple[OwnEngine, str, trustme.CA], tmp_path: Path) -> None:
    _, address, authority = secured
    certificates = _context(tmp_path, "secured", address)
    _write_certificates(certificates, authority, "client@example.org")
    _choose(tmp_path, "secured")
    async with connected_with({"DOCKER_CONFIG": str(tmp_path)}) as engine, sandbox_of(engine, "tls") as sandbox:
        process = await sandbox.spawn(["sh", "-c", "wc -c; cat /etc/hostname; head -c 3000000 /dev/zero"])
        sending = asyncio.create_task(_send(process))
        stdout, stderr, code = await output(process)
        await sending
        assert stdout == b"4000000\nsandbox\n" + bytes(3_000_000)
        assert (stderr, code) == (b"", 0)
        await sandbox.kill_agent()


async def _send(process: object) -> None:
    for _ in range(40):
        await process.write(b"y" * 100_000)  # type: ignore[attr-defined]
    await process.close_stdin()  # type: ignore[attr-defined]


async def test_variables_for_tls_drive_it_too_and_a_stranger_is_refused(secured: tuple[OwnEngine, str, trustme.CA], tmp_path: Path) -> None:
    _, address, authority = secured
    _write_certificates(tmp_path / "known", authority, "client@example.org")
    environ = {"DOCKER_HOST": address, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(tmp_path / "known")}
    async with connected_with(environ) as engine:
        assert engine.facts.images
    stranger = trustme.CA()
    _write_certificates(tmp_path / "stranger", stranger, "client@example.org")
    with pytest.raises(SandboxError, match="certificate verify failed"):
        async with connected_with({**environ, "DOCKER_CERT_PATH": str(tmp_path / "stranger")}):
            pass
    with pytest.raises(SandboxError, match=r"cannot be reached|refused"):
        async with connected_with({"DOCKER_HOST": address}):
            pass
