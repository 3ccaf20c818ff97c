"""The sockets: who may open the unix one, what becomes of a dead one, and which addresses and TLS files are accepted."""

import asyncio
import os
import shutil
import socket
import ssl
import stat
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx2
import pytest
import trustme
from api_place import ApiPlace, over_socket, over_tcp

from local_backend.daemon import connections
from local_backend.daemon.access import Role
from local_backend.daemon.server import Served, TcpListen, serving
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.errors import ErrorCode, NodusError


class _Nobody:
    """Answers `info` alone; stands for a backend only as far as that goes."""

    async def info(self, *, probe: bool = False) -> BackendInfo:
        """Nothing much."""
        return BackendInfo(name="none", version="0", workspace="", scheduling=False, scheduler_elsewhere=False)


BACKEND = cast("Backend", _Nobody())


@asynccontextmanager
async def _listening(place: ApiPlace, listen: TcpListen) -> AsyncIterator[Served]:
    async with serving(BACKEND, listen=listen, tokens=place.home / "tokens.json") as served:
        yield served


async def test_the_socket_is_its_owners_alone_and_goes_with_the_server(place: ApiPlace) -> None:
    path = place.home / "run" / "s"
    before = os.umask(0)
    try:
        async with serving(BACKEND, socket_path=path) as served, over_socket(served) as client:
            assert served.port is None
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            assert (await client.get("/v1/info")).json()["role"] == "operator"
    finally:
        os.umask(before)
    assert not path.exists()


async def test_a_dead_socket_is_replaced_and_a_living_one_is_not(place: ApiPlace) -> None:
    path = place.home / "s"
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    async with serving(BACKEND, socket_path=path) as served, over_socket(served) as client:
        with pytest.raises(NodusError, match="another server listens on") as refused:
            async with serving(BACKEND, socket_path=path):
                pytest.fail("two servers on one socket")
        assert refused.value.code is ErrorCode.CONFLICT
        assert (await client.get("/v1/info")).status_code == 200


@pytest.mark.parametrize("kind", ["file", "too long", "writable by others"])
async def test_a_path_that_is_no_place_for_a_socket_is_refused_with_a_sentence(place: ApiPlace, kind: str) -> None:
    path = place.home / "s"
    path.parent.mkdir()
    if kind == "file":
        path.write_text("precious")
    elif kind == "too long":
        path = place.home / ("s" * 120)
    else:
        path.parent.chmod(0o777)
    with pytest.raises(NodusError, match=r"is no socket|longer than 107 bytes|chmod 700") as refused:
        async with serving(BACKEND, socket_path=path):
            pytest.fail("served")
    assert refused.value.code is ErrorCode.CONFIGURATION
    assert kind != "file" or path.read_text() == "precious"


_ASK = """
import socket, sys, time
with socket.socket(socket.AF_UNIX) as client:
    client.connect(sys.argv[1])
    client.sendall(b"GET /v1/info HTTP/1.1\\r\\nHost: nodus\\r\\nConnection: close\\r\\n\\r\\n")
    answer = b""
    while part := client.recv(65536):
        answer += part
print(answer.decode())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_another_user_is_refused_even_where_the_file_modes_let_them_in() -> None:
    python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    if python is None:
        pytest.skip("no python3 of the system, which another user could run")
    folder = Path(tempfile.mkdtemp(prefix="nodus-"))
    await asyncio.to_thread(folder.chmod, 0o755)
    try:
        async with serving(BACKEND, socket_path=folder / "s") as served:
            assert served.socket_path is not None

            async def asked(uid: int) -> tuple[int, str]:
                child = await asyncio.to_thread(
                    subprocess.run,
                    [python, "-c", _ASK, str(served.socket_path)],
                    user=uid,
                    group=uid,
                    extra_groups=[],
                    cwd="/",
                    capture_output=True,
                    text=True,
                    check=False,
                )
                return child.returncode, child.stdout + child.stderr

            code, said = await asked(65534)
            assert code != 0
            assert "PermissionError" in said
            served.socket_path.chmod(0o666)
            code, said = await asked(65534)
            assert code == 0, said
            assert said.startswith("HTTP/1.1 403 ")
            assert "for the user who runs the scheduler" in said
            code, said = await asked(0)
            assert said.startswith("HTTP/1.1 200 ")
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
async def test_an_address_that_others_reach_needs_tls_or_a_word_that_something_else_speaks_it(place: ApiPlace, host: str) -> None:
    with pytest.raises(NodusError, match="give TLS files, or say --behind-proxy") as refused:
        async with _listening(place, TcpListen(host)):
            pytest.fail("served in the clear")
    assert refused.value.code is ErrorCode.CONFIGURATION


async def test_behind_a_proxy_the_tokens_and_the_hosts_still_count(place: ApiPlace) -> None:
    token = place.token("one", Role.VIEWER)
    async with _listening(place, TcpListen("0.0.0.0", behind_proxy=True, names=("nodus.example",))) as served:
        async with over_tcp(served, token) as client:
            assert (await client.get("/v1/info", headers={"Host": "nodus.example"})).status_code == 200
            assert (await client.get("/v1/info", headers={"Host": "other.example"})).status_code == 403
        async with over_tcp(served, None) as client:
            assert (await client.get("/v1/info", headers={"X-Forwarded-For": "127.0.0.1"})).status_code == 401


async def test_tls_of_at_least_1_2_on_any_address(place: ApiPlace) -> None:
    authority = trustme.CA()
    authority.issue_cert("nodus.example", "127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(place.folder / "both.pem"))
    both = place.folder / "both.pem"
    token = place.token("one", Role.VIEWER)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with _listening(place, TcpListen("0.0.0.0", certificate=both, key=both, names=("nodus.example",))) as served:
        url = f"https://127.0.0.1:{served.port}"
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(base_url=url, verify=trusting, headers=headers) as client:
            assert (await client.get("/v1/info")).json()["role"] == "viewer"
        old = ssl.create_default_context()
        authority.configure_trust(old)
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        old.set_ciphers("ALL:@SECLEVEL=0")
        async with httpx2.AsyncClient(base_url=url, verify=old, headers=headers) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.get("/v1/info")
        async with httpx2.AsyncClient(base_url=url.replace("https", "http"), headers=headers) as client:
            with pytest.raises(httpx2.TransportError):
                await client.get("/v1/info")


@pytest.mark.parametrize("missing", ["key", "certificate", "file", "encrypted"])
async def test_tls_files_that_cannot_be_used_are_refused_with_a_sentence(place: ApiPlace, missing: str) -> None:
    issued = trustme.CA().issue_cert("nodus.example")
    certificate, key = place.folder / "certificate.pem", place.folder / "key.pem"
    issued.cert_chain_pems[0].write_to_path(str(certificate))
    issued.private_key_pem.write_to_path(str(key))
    if missing == "file":
        key.unlink()
    if missing == "encrypted":
        key.write_bytes(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
    listen = TcpListen(certificate=None if missing == "certificate" else certificate, key=None if missing == "key" else key)
    with pytest.raises(NodusError, match=r"needs both files|cannot be used") as refused:
        async with _listening(place, listen):
            pytest.fail("served")
    assert refused.value.code is ErrorCode.CONFIGURATION


async def test_an_address_that_is_taken_or_none_is_refused_with_a_sentence(place: ApiPlace) -> None:
    async with _listening(place, TcpListen()) as served:
        assert served.port
        with pytest.raises(NodusError, match="another program listens there"):
            async with _listening(place, TcpListen(port=served.port)):
                pytest.fail("served")
    with pytest.raises(NodusError, match="is no address to listen on"):
        async with _listening(place, TcpListen("no such host.invalid")):
            pytest.fail("served")
    with pytest.raises(NodusError, match="needs a token file"):
        async with serving(BACKEND, listen=TcpListen()):
            pytest.fail("served")


async def test_small_packets_are_not_held_back_on_tcp(place: ApiPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[int] = []
    made = connections._Connection.connection_made

    def noting(self: connections._Connection, transport: asyncio.Transport) -> None:
        options.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(connections._Connection, "connection_made", noting)
    token = place.token("one", Role.VIEWER)
    async with _listening(place, TcpListen()) as served, over_tcp(served, token) as client:
        await client.get("/v1/info")
    assert options == [1]
