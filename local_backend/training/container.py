"""One program of the harness in a container at the Docker engine: what the container sees, and its life.

Its life hangs on a connection of the process that started it (`inside/tied.py` holds the other end): where that process is killed, the
container ends at once, whether a scheduler lives or not, and the engine removes it.
"""

import asyncio
import contextlib
import math
import os
import secrets
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from local_backend.handed_over import handed, taken
from local_backend.jobs.image_fetching import unless_asked
from local_backend.sandboxes.docker.client import EngineClient, EngineError
from local_backend.sandboxes.docker.containers import ImageFacts, labels
from local_backend.sandboxes.docker.engine import DockerEngine, connect_docker
from local_backend.sandboxes.docker.gpus import explained
from local_backend.sandboxes.docker.hijack import BrokenStreamError, Hijacked
from local_backend.sandboxes.docker.lifetime import make_container, remove_container
from local_backend.sandboxes.interface import SandboxDevice, SandboxError
from local_backend.sandboxes.owner import this_process
from local_backend.training.inside import tied

INSIDE = Path(tied.__file__).parent
"""What of this program a container sees."""

_ENGINE_SECONDS = 30.0
_PIECE = 65_536
_MOST_PROCESSES = 32_768
_SHARED_MEMORY = 2
"""Processes of several devices exchange tensors in shared memory: half of the memory may be."""


class ContainerRequest(Struct, frozen=True):
    """What is run, and what it sees."""

    image: str
    name: str
    """The job's, for the container's labels."""
    workspace: str
    python: str
    """The image's own."""
    command: tuple[str, ...]
    folder: str
    """Where it starts."""
    exit_file: str
    """Among the mounts: where its exit status is written."""
    cpus: float
    memory_bytes: int
    network: bool
    """With it the container is on this machine's own network, where models are served on the loopback; without it there is none."""
    mounts: tuple[tuple[str, str, str], ...] = ()
    """Source on this machine, target, and `ro` or `rw`."""
    devices: tuple[tuple[str, str], ...] = field(default=())
    """Uuid and place of each accelerator that it sees."""

    def to_text(self) -> str:
        """As JSON."""
        return handed(self)

    @classmethod
    def from_text(cls, text: str) -> "ContainerRequest":
        """What `to_text` made. Raises OtherCodeError where that was other code's."""
        with taken(text) as values:
            values["command"] = tuple(values["command"])
            for name in ("mounts", "devices"):
                values[name] = tuple(tuple(each) for each in values.get(name, ()))
            return cls(**values)


class Container:
    """One container, from the image to its removal."""

    def __init__(self, request: ContainerRequest, environ: Mapping[str, str], take: Callable[[bytes], None]) -> None:
        self._request = request
        self._environ = environ
        """All of the environment in the container."""
        self._take = take
        """Is given its output and its errors."""
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Ask everything in it to end."""
        self._asked.set()

    async def run(self, engine_environ: Mapping[str, str]) -> int:
        """To its end; gives the exit code. `engine_environ` names the engine. Raises SandboxError."""
        engine = await connect_docker(engine_environ, deadline=_ENGINE_SECONDS)
        try:
            having = asyncio.ensure_future(engine.images.have(self._request.image, lambda words: self._take(f"{words}\n".encode())))
            if not await unless_asked(self._asked, having):
                return 128 + signal.SIGTERM
            return await self._run_in(engine, having.result())
        finally:
            await engine.aclose()

    async def _run_in(self, engine: DockerEngine, image: ImageFacts) -> int:
        Path(self._request.exit_file).unlink(missing_ok=True)  # noqa: ASYNC240 - once, and local
        client, name = engine.client, f"nodus-evaluate-{secrets.token_hex(8)}"
        gpus = engine.device_requests([SandboxDevice(uuid, place) for uuid, place in self._request.devices])
        try:
            await make_container(client, name, self._config(image, gpus, engine))
            stream = await client.hijack(f"/containers/{name}/attach?stream=1&stdin=1&stdout=1&stderr=1", {})
            try:
                return await self._to_its_end(client, name, stream)
            finally:
                stream.close()
        except EngineError as error:
            raise SandboxError(f"the Docker engine could not run {image.reference}: {explained(error.message)}") from error
        finally:
            await remove_container(client, name)

    async def _to_its_end(self, client: EngineClient, name: str, stream: Hijacked) -> int:
        asking = asyncio.ensure_future(self._pass_on(client, name))
        try:
            await client.ask("POST", f"/containers/{name}/start")
            while (piece := await client.watched(lambda: stream.read(_PIECE))) is not None:
                self._take(piece[1])
        except (OSError, BrokenStreamError) as error:
            raise client.unreachable(error) from error
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        code = _code_in(self._request.exit_file)
        if code is None:
            python, image = self._request.python, self._request.image
            raise SandboxError(f"{python} could not be started in the image {image}: evaluate.python names its Python")
        return code

    async def _pass_on(self, client: EngineClient, name: str) -> None:
        await self._asked.wait()
        with contextlib.suppress(SandboxError):  # It has just ended; or the engine is lost, and whoever waits for the end is told.
            await client.ask("POST", f"/containers/{name}/kill", params={"signal": "SIGTERM"})

    def _config(self, image: ImageFacts, gpus: list[dict[str, Any]], engine: DockerEngine) -> dict[str, Any]:
        request = self._request
        owner = this_process(request.workspace)
        return {
            "Image": image.id,
            "Entrypoint": [request.python, "-P", tied.__file__, request.exit_file, *request.command],
            "Cmd": [],
            "WorkingDir": request.folder,
            # What it writes is to be the user's. A rootless engine's root is that user.
            **({} if engine.rootless else {"User": f"{os.getuid()}:{os.getgid()}"}),
            "Env": [f"{name}={value}" for name, value in self._environ.items()],
            "OpenStdin": True,
            "StdinOnce": True,
            "AttachStdin": True,
            "AttachStdout": True,
            "AttachStderr": True,
            "Healthcheck": {"Test": ["NONE"]},
            "Labels": labels(request.name, "job", owner, image.reference, network=request.network),
            "HostConfig": {
                "Init": True,
                "AutoRemove": True,
                "NetworkMode": "host" if request.network else "none",
                "Mounts": [
                    {"Type": "bind", "Source": source, "Target": target, "ReadOnly": mode == "ro"}
                    for source, target, mode in request.mounts
                ],
                "Memory": request.memory_bytes,
                "MemorySwap": request.memory_bytes,
                "ShmSize": request.memory_bytes // _SHARED_MEMORY,
                "NanoCpus": math.ceil(request.cpus * 1e9),
                "PidsLimit": _MOST_PROCESSES,
                "SecurityOpt": ["no-new-privileges"],
                "DeviceRequests": gpus,
                "LogConfig": {"Type": "none", "Config": {}},
                "RestartPolicy": {"Name": "no"},
            },
        }


def _code_in(file: str) -> int | None:
    """The exit status that was written; None where nothing came so far as to open the file."""
    try:
        # Who was killed from outside, for want of memory say, could not write it.
        return int(Path(file).read_text(encoding="ascii") or 128 + signal.SIGKILL)
    except FileNotFoundError:
        return None
