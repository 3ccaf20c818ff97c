"""Real Docker engines and a real registry for the tests, and a line to an engine that can be held up or cut.

A machine without an engine skips the tests by name; where the variable CI is set they fail instead.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psutil
import pytest
from free_ports import free_port
from msgspec import Struct

from local_backend.sandboxes.docker.engine import DockerEngine, connect_docker
from local_backend.sandboxes.interface import Limits, Process, Sandbox, SandboxError, SandboxRequest, User
from local_backend.sandboxes.owner import this_process

SMALL = Limits(cpus=1, memory_bytes=256 << 20, pids=64, disk_bytes=64 << 20)
PASSWORD = "correct horse"
_HTPASSWD = "tester:$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"
_SECONDS = 60


def need(problem: str) -> None:
    """Skip, or fail in CI, when there is a problem."""
    if problem and os.environ.get("CI"):
        pytest.fail(f"CI must have every engine that the tests need: {problem}")
    if problem:
        pytest.skip(problem)


@asynccontextmanager
async def user_engine() -> AsyncIterator[DockerEngine]:
    """The engine that DOCKER_HOST names, or the machine's own."""
    try:
        engine = await connect_docker(os.environ)
    except SandboxError as error:
        need(f"{error}. scripts/sandbox_engines runs a command with an engine")
        raise
    try:
        yield engine
    finally:
        await engine.aclose()


@asynccontextmanager
async def connected(host: str, *, deadline: float = 20) -> AsyncIterator[DockerEngine]:
    """A connection to an engine by its address."""
    engine = await connect_docker({"DOCKER_HOST": host, "HOME": "/nonexistent"}, deadline=deadline)
    try:
        yield engine
    finally:
        await engine.aclose()


@asynccontextmanager
async def connected_with(environ: Mapping[str, str]) -> AsyncIterator[DockerEngine]:
    """A connection for somebody with these variables."""
    engine = await connect_docker(environ)
    try:
        yield engine
    finally:
        await engine.aclose()


def request(run: str, **options: object) -> SandboxRequest:
    """A small sandbox of this process."""
    known: dict[str, object] = {"purpose": "episode", "lifetime_seconds": 120, "limits": SMALL, **options}
    return SandboxRequest(run=run, owner=this_process(), **known)  # type: ignore[arg-type]


@asynccontextmanager
async def sandbox_of(engine: DockerEngine, run: str, **options: object) -> AsyncIterator[Sandbox]:
    """A sandbox for the time of a block."""
    sandbox = await engine.create(request(run, **options))
    try:
        yield sandbox
    finally:
        await sandbox.aclose()


async def output(process: Process) -> tuple[bytes, bytes, int]:
    """Everything that a program says, and its exit code."""
    said = {"stdout": bytearray(), "stderr": bytearray()}
    try:
        while (piece := await process.read()) is not None:
            said[piece[0]] += piece[1]
        code = await process.wait()
    finally:
        await process.aclose()
    return bytes(said["stdout"]), bytes(said["stderr"]), code


async def shell(sandbox: Sandbox, script: str, user: User = User.AGENT) -> tuple[bytes, bytes, int]:
    """Run a script in a sandbox."""
    return await output(await sandbox.spawn(["sh", "-c", script], user=user))


async def runs_at(engine: DockerEngine, run: str) -> list[str]:
    """The ids of the sandboxes of one run."""
    return [found.id for found in await engine.list() if found.run == run]


async def until(holds: Callable[[], object]) -> None:
    """Wait for something that must come."""
    async with asyncio.timeout(_SECONDS):
        while True:
            result = holds()
            if asyncio.iscoroutine(result):
                result = await result
            if result:
                return
            await asyncio.sleep(0.05)


class OwnEngine:
    """A dockerd of the test's own, to be stopped, killed and started again."""

    def __init__(self, folder: Path, arguments: Sequence[str] = ()) -> None:
        self._folder = folder
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        """As in DOCKER_HOST."""
        return f"unix://{self._folder}/docker.sock"

    def start(self) -> None:
        """Start it and wait until it answers."""
        # A killed one's pidfiles would keep it from starting: on a machine whose init reaps nothing, the pids stay for ever.
        for name in ("docker.pid", "exec/containerd/containerd.pid"):
            (self._folder / name).unlink(missing_ok=True)
        command = ["dockerd", "--host", self.host, "--data-root", f"{self._folder}/data", "--exec-root", f"{self._folder}/exec"]
        command += ["--pidfile", f"{self._folder}/docker.pid", "--bridge=none", "--iptables=false", "--ip6tables=false"]
        command += ["--ip-forward=false", "--ip-masq=false", "--shutdown-timeout=2", *self._arguments]
        log = self._folder / "dockerd.log"
        with log.open("wb") as file:
            environ = {"PATH": os.environ["PATH"], "HOME": str(self._folder)}
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environ)
        for _ in range(600):
            if b"API listen on" in log.read_bytes():
                return
            if self._process.poll() is not None:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.1)
        need(f"dockerd does not start: {log.read_text(errors='replace')[-500:]}")

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)
        if number is signal.SIGKILL:
            self._process.wait()

    def remains(self) -> list[psutil.Process]:
        """Processes that belong to it: containerd and its shims."""
        return [each for each in psutil.process_iter(["cmdline"]) if any(str(self._folder) in word for word in each.info["cmdline"] or ())]

    def stop(self) -> None:
        """End it, what it started, and its mounts."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(30)
            self._process.kill()
            self._process.wait()
        _, left = psutil.wait_procs(self.remains(), timeout=3)
        for each in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(left, timeout=10)
        below = [
            line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines() if line.split()[1].startswith(f"{self._folder}/")
        ]
        for mount in sorted(below, reverse=True):
            subprocess.run(["umount", "-l", mount], check=False, capture_output=True)


@contextmanager
def own_engine(arguments: Sequence[str] = ()) -> Iterator[OwnEngine]:
    """A second engine, which root can start where dockerd is installed."""
    need(
        ""
        if os.geteuid() == 0 and shutil.which("dockerd")
        else "only root can start an engine of the test's own, and dockerd must be installed"
    )
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="nodus-test-docker.", dir=place))
    engine = OwnEngine(folder, arguments)
    try:
        engine.start()
        yield engine
    finally:
        engine.stop()
        shutil.rmtree(folder, ignore_errors=True)  # What was just killed may take away some of it meanwhile,
        if folder.exists():  # or leave some of it.
            shutil.rmtree(folder)


class Line:
    """A unix socket in front of an engine's. Held up, it passes nothing on, as an engine that hangs; cut, it closes everything."""

    def __init__(self, path: Path, target: str) -> None:
        self.host = f"unix://{path}"
        self._path = path
        self._target = target
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    def hold_up(self) -> None:
        self._open.clear()

    def let_go(self) -> None:
        self._open.set()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self._path)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self._open.set()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(self._target)
        self._writers |= {writer, far_writer}
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.create_task(self._pass_on(source, sink))
            self._tasks.add(task)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                await self._open.wait()
                sink.write(data)
                await sink.drain()
            await self._open.wait()
            if sink.can_write_eof():
                sink.write_eof()


@asynccontextmanager
async def line_to_user_engine(folder: Path) -> AsyncIterator[Line]:
    """A line to the engine of `user_engine`."""
    async with user_engine() as engine:
        target = engine.client.endpoint.unix
    if target is None:
        pytest.skip("the line stands before a unix socket, and this engine has none")
    line = Line(folder / "line.sock", target)
    await line.start()
    try:
        yield line
    finally:
        await line.stop()


class Registry(Struct, frozen=True):
    """A registry that knows one user, `tester`."""

    address: str


@contextmanager
def private_registry(folder: Path) -> Iterator[Registry]:
    """Docker's own registry on loopback, which every engine takes for trusted without TLS."""
    need("" if shutil.which("docker-registry") else "the registry is not installed: apt-get install docker-registry")
    port = free_port()
    (folder / "htpasswd").write_text(_HTPASSWD + "\n")
    config = {
        "version": 0.1,
        "log": {"accesslog": {"disabled": True}, "level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "registry")}},
        "http": {"addr": f"127.0.0.1:{port}"},
        "auth": {"htpasswd": {"realm": "test", "path": str(folder / "htpasswd")}},
    }
    (folder / "registry.yml").write_text(json.dumps(config))
    with subprocess.Popen(
        ["docker-registry", "serve", str(folder / "registry.yml")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/", process)
            yield Registry(f"127.0.0.1:{port}")
        finally:
            process.kill()


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            if process.poll() is not None:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
    pytest.fail("the registry does not answer")


def credential_helper(folder: Path, name: str, address: str) -> None:
    """A program as `docker login` uses them, which knows one registry."""
    path = folder / f"docker-credential-{name}"
    answer = json.dumps({"ServerURL": address, "Username": "tester", "Secret": PASSWORD})
    path.write_text(
        f"#!{sys.executable}\nimport sys\nassert sys.argv[1] == 'get'\n"
        f"print({answer!r}) if sys.stdin.read().strip() == {address!r} else sys.exit('credentials not found in native keychain')\n"
    )
    path.chmod(0o755)
