"""The supervisor of a job that is an image: a container at the Docker engine, with the same log, deadlines and end as a command's.

The container has our labels, with this process as its owner: where this process is killed, the reaper of the next scheduler removes it.
Fetching the image costs nothing; the job's time runs from the container's start until it has ended.
"""

import asyncio
import contextlib
import math
import os
import posixpath
import secrets
import signal
import traceback
from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, NoReturn

from local_backend.jobs.child import NOT_STARTED
from local_backend.jobs.deadlines import SECOND_US, kill_us
from local_backend.jobs.image_fetching import unless_asked
from local_backend.jobs.journal import Journal
from local_backend.jobs.log_files import LogWriter
from local_backend.jobs.order import LOG_FOLDER, WORK_FOLDER, ImageOrder, Order
from local_backend.jobs.ports import LOOPBACK
from local_backend.sandboxes.archives import ArchiveError, entries, member
from local_backend.sandboxes.docker.client import EngineClient, EngineError
from local_backend.sandboxes.docker.containers import RUN_LABEL, ImageFacts
from local_backend.sandboxes.docker.engine import DockerEngine, connect_docker
from local_backend.sandboxes.docker.gpus import explained
from local_backend.sandboxes.docker.hijack import BrokenStreamError, Hijacked
from local_backend.sandboxes.docker.lifetime import make_container, remove_container
from local_backend.sandboxes.interface import SandboxDevice, SandboxError
from local_backend.sandboxes.owner import this_process

_BEAT_SECONDS = 5.0
_LOOK_SECONDS = 0.5
"""How often the engine is asked whether the container has ended, its output's end apart, which makes one ask at once."""
_ENGINE_SECONDS = 30.0
"""How long the engine has for one answer."""
_LOST_SECONDS = 60.0
"""An engine that has not answered for so long has lost the job."""
_OUTPUT_SECONDS = 5.0
_REMOVE_TRIES = 3
_MOST_PROCESSES = 32_768
_SIGNALS = {number.value + 128: number.name for number in signal.Signals}


def watch_over(order: Order, image: ImageOrder, told: int) -> NoReturn:
    """Watch over the job to its end. The process ends with it."""
    asyncio.run(_ImageJob(order, image).run(told))
    os._exit(0)


class _ImageJob:
    def __init__(self, order: Order, image: ImageOrder) -> None:
        self._order = order
        self._image = image
        self._journal = Journal(order)
        self._log = LogWriter(Path(order.folder) / LOG_FOLDER, order.log_bytes, min_free_bytes=order.min_free_bytes)
        self._log.begin_attempt(order.attempt, datetime.now(UTC))
        self._asked = asyncio.Event()
        """Set when somebody wants it to end."""
        self._reason = ""

    async def run(self, told: int) -> None:
        loop = asyncio.get_running_loop()
        control = self._journal.open_control()
        loop.add_reader(control, self._obey, control)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._ask, "Interrupted")
        self._journal.write("Preparing", durable=True)
        with contextlib.suppress(OSError):
            os.write(told, b"1")
        os.close(told)
        used: int | None = 0
        try:
            used = await self._work()
        except SandboxError as error:
            self._journal.problem = str(error)
            used = self._journal.now_us()
        except Exception as error:  # noqa: BLE001 - its end is told whatever came up; its container was removed on the way here
            traceback.print_exc()
            self._journal.problem = f"a fault of nodus-tui ended it ({type(error).__name__}); supervisor.log in its folder has the details"
            used = self._journal.now_us()
        self._log.close()
        if self._log.lost:
            self._journal.remarks.append(f"{self._log.lost:,} bytes of its output could not be written to the disk.")
        self._journal.write("Ended", durable=True, used_us=used)

    def _obey(self, control: int) -> None:
        try:
            words = os.read(control, 4096).decode(errors="replace")
        except BlockingIOError:
            return  # Somebody else has read it.
        for line in words.splitlines():
            verb, _, reason = line.partition(" ")
            if verb == "stop":
                self._ask(reason)
            elif verb == "deadlines":
                self._order = self._order.with_deadlines(reason)

    def _ask(self, reason: str) -> None:
        if not self._asked.is_set():
            self._reason = reason
            self._asked.set()

    async def _work(self) -> int:
        """From image to end; gives the time that the job took. Raises SandboxError."""
        engine = await connect_docker(self._image.engine_environ, deadline=_ENGINE_SECONDS)
        try:
            have = asyncio.ensure_future(engine.images.have(self._image.image, self._progress))
            if not await unless_asked(self._asked, have):
                self._journal.reason = self._reason
                return 0
            return await self._in_container(engine, have.result())
        finally:
            await engine.aclose()

    def _progress(self, words: str) -> None:
        self._log.write(f"{words}\n".encode())

    async def _in_container(self, engine: DockerEngine, image: ImageFacts) -> int:
        client = engine.client
        name = f"nodus-job-{secrets.token_hex(8)}"
        gpus = engine.device_requests([SandboxDevice(uuid, place) for uuid, place in self._image.devices])
        try:
            stream = await self._started(client, name, image, gpus)
            try:
                if self._image.port is not None:
                    self._journal.address = await self._published(client, name, self._image.port)
                self._journal.write("Running", durable=True)
                copying = asyncio.ensure_future(self._copy(stream))
                used = await self._until_ended(client, name, copying)
                await asyncio.wait({copying}, timeout=_OUTPUT_SECONDS)
                copying.cancel()
                await asyncio.gather(copying, return_exceptions=True)
            finally:
                stream.close()
            await self._fetch_outputs(client, name)
        finally:
            await self._remove(client, name)
        return used

    async def _started(self, client: EngineClient, name: str, image: ImageFacts, gpus: list[dict[str, Any]]) -> Hijacked:
        """Start the container; gives its output. Raises SandboxError."""
        try:
            await make_container(client, name, self._config(image, gpus))
            stream = await client.hijack(f"/containers/{name}/attach?stream=1&stdout=1&stderr=1", {})
            try:
                self._journal.start()
                await client.ask("POST", f"/containers/{name}/start")
            except BaseException:
                stream.close()
                raise
        except EngineError as error:
            self._journal.exit_code = NOT_STARTED
            raise SandboxError(f"the Docker engine could not run {image.reference}: {explained(error.message)}") from error
        return stream

    async def _published(self, client: EngineClient, name: str, port: int) -> str:
        """Host and port at which the container's port is reached. Raises SandboxError where it is reached nowhere."""
        state = await client.ask("GET", f"/containers/{name}/json")
        ports = (state.get("NetworkSettings") or {}).get("Ports") or {}
        for place in ports.get(f"{port}/tcp") or ():
            return f"{place['HostIp']}:{place['HostPort']}"
        if not state["State"]["Running"]:
            return ""  # It has ended already; its exit code says more.
        self._journal.exit_code = NOT_STARTED
        raise SandboxError(f"the Docker engine does not publish port {port} (it runs without a bridge): nobody could reach the server")

    async def _remove(self, client: EngineClient, name: str) -> None:
        for _ in range(_REMOVE_TRIES):
            try:
                await remove_container(client, name)
            except SandboxError as error:
                problem = str(error)
                await asyncio.sleep(_LOOK_SECONDS)
            else:
                return
        self._journal.remarks.append(f"Its container {name} may be left at the engine: {problem}.")

    async def _copy(self, stream: Hijacked) -> None:
        try:
            while (piece := await stream.read(65_536)) is not None:
                self._log.write(piece[1])
        except (OSError, BrokenStreamError) as error:
            self._journal.remarks.append(f"Its output broke off: {error}.")

    async def _until_ended(self, client: EngineClient, name: str, copying: "asyncio.Future[None]") -> int:
        """Wait for its end, or bring it about; gives the time that it took. Raises SandboxError where the engine is lost."""
        journal = self._journal
        kill_at: int | None = None
        beat = heard = asyncio.get_running_loop().time()
        killed = False
        while True:
            now, order = journal.now_us(), self._order
            if kill_at is None and (self._asked.is_set() or now >= order.ask_us):
                journal.reason = self._reason or order.ask_reason
                kill_at = kill_us(now, order.grace_us, order.last_us)
                await self._signal(client, name, "SIGTERM")
            if kill_at is not None and now >= kill_at and not killed:
                killed = await self._signal(client, name, "SIGKILL")
            clock = asyncio.get_running_loop().time()
            if clock >= beat + _BEAT_SECONDS:
                journal.write("Running")
                beat = clock
            try:
                state = (await client.ask("GET", f"/containers/{name}/json"))["State"]
                heard = clock
            except SandboxError as error:
                if isinstance(error, EngineError) and error.status == HTTPStatus.NOT_FOUND:
                    raise SandboxError("its container was removed from outside while it ran") from error
                if clock - heard > _LOST_SECONDS:
                    raise
                state = {"Running": True}
            if not state["Running"]:
                self._note_end(state)
                return journal.now_us()
            due = order.ask_us if kill_at is None else kill_at
            pause = min(_LOOK_SECONDS, max(0.02, (due - journal.now_us()) / SECOND_US))
            waits: set[asyncio.Future[Any]] = {asyncio.ensure_future(asyncio.sleep(pause))}
            waits |= {copying} if not copying.done() else set()
            waits |= {asyncio.ensure_future(self._asked.wait())} if kill_at is None else set()
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in waits - {copying}:
                each.cancel()

    async def _signal(self, client: EngineClient, name: str, number: str) -> bool:
        try:
            await client.ask("POST", f"/containers/{name}/kill", params={"signal": number})
        except EngineError as error:
            return error.status in {404, 409}  # It has just ended.
        except SandboxError:
            return False  # Tried again with the next look.
        return True

    def _note_end(self, state: Mapping[str, Any]) -> None:
        code = int(state.get("ExitCode", 0))
        self._journal.exit_code = code
        self._journal.signal = _SIGNALS.get(code, "")
        if state.get("OOMKilled"):
            self._journal.remarks.append(
                f"It ran into its memory limit of {self._order.memory_bytes / (1 << 30):g} GiB; memoryGiB raises it."
            )
        if state.get("Error") and not self._journal.reason:
            self._journal.problem = f"the container could not be started: {state['Error']}"

    def _config(self, image: ImageFacts, gpus: list[dict[str, Any]]) -> dict[str, Any]:
        order, owner, port = self._order, this_process(self._image.workspace), self._image.port
        command = {"Entrypoint": list(order.command), "Cmd": []} if order.command else {}
        return {
            "Image": image.id,
            **command,
            **({"WorkingDir": order.working_dir} if order.working_dir else {}),
            "Env": [f"{name}={value}" for name, value in order.environ.items()],
            **({"ExposedPorts": {f"{port}/tcp": {}}} if port is not None else {}),
            "AttachStdout": True,
            "AttachStderr": True,
            "Labels": {
                RUN_LABEL: self._image.name,
                "nodus.purpose": "job",
                "nodus.host": owner.host,
                "nodus.pid": str(owner.pid),
                "nodus.started": owner.started,
                "nodus.workspace": owner.workspace,
                "nodus.image": image.reference,
                "nodus.network": "yes" if order.network else "no",
            },
            "HostConfig": {
                "Init": True,
                "NetworkMode": "default" if order.network else "none",
                **({"PortBindings": {f"{port}/tcp": [{"HostIp": LOOPBACK, "HostPort": ""}]}} if port is not None else {}),
                "Mounts": [
                    {"Type": "bind", "Source": source, "Target": target, "ReadOnly": mode == "ro"}
                    for source, target, mode in self._image.mounts
                ],
                "Memory": order.memory_bytes,
                "MemorySwap": order.memory_bytes,
                "NanoCpus": math.ceil(order.cpus * 1e9),
                "PidsLimit": _MOST_PROCESSES,
                "DeviceRequests": gpus,
                "LogConfig": {"Type": "none", "Config": {}},
                "RestartPolicy": {"Name": "no"},
            },
        }

    async def _fetch_outputs(self, client: EngineClient, name: str) -> None:
        """Regular files only come out, into the job's work folder, from where they are kept."""
        if not self._image.outputs:
            return
        try:
            config = (await client.ask("GET", f"/containers/{name}/json"))["Config"]
        except SandboxError as error:  # How it ended is known.
            self._journal.remarks.append(f"Its outputs could not be fetched: {error}.")
            return
        base = str(config.get("WorkingDir") or "/")
        for place, output in enumerate(self._image.outputs):
            archive = self._journal.folder / f"output-{place}.tar"
            try:
                if await self._download(client, name, posixpath.join(base, output), archive):
                    await asyncio.to_thread(
                        _unpack, archive, self._journal.folder / WORK_FOLDER, posixpath.dirname(posixpath.normpath(output))
                    )
            except EngineError as error:
                if error.status != 404:  # What is not there is told when outputs are kept.
                    self._journal.remarks.append(f"The output {output} could not be fetched: {error.message}.")
            except (SandboxError, OSError) as error:
                self._journal.remarks.append(f"The output {output} could not be fetched: {error}.")
            finally:
                with contextlib.suppress(OSError):
                    archive.unlink(missing_ok=True)

    async def _download(self, client: EngineClient, name: str, path: str, archive: Path) -> bool:
        with await asyncio.to_thread(archive.open, "wb") as file:
            async with aclosing(client.download(f"/containers/{name}/archive", params={"path": path})) as pieces:
                async for piece in pieces:
                    found = os.statvfs(self._journal.folder)
                    if found.f_bavail * found.f_frsize < self._order.min_free_bytes + len(piece):
                        self._journal.remarks.append(f"The output {path} was not fetched: the disk has too little room.")
                        return False
                    await asyncio.to_thread(file.write, piece)
        return True


def _unpack(archive: Path, work: Path, parent: str) -> None:
    """Write the regular files of an untrusted archive below a folder of ours. Raises ArchiveError, OSError. Blocks.

    The reader lets through no path that leads out, and nothing here is a link: the folder is this job's, and only this writes in it.
    """
    root = work / parent
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    for entry in entries(archive):
        target = root / entry.path
        if entry.kind == "folder":
            target.mkdir(parents=True, exist_ok=True, mode=0o700)
        elif entry.kind == "file":
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with target.open("wb") as file:
                    for piece in member(archive, entry.path):
                        file.write(piece)
            except KeyError as error:
                raise ArchiveError(f"{entry.path!r} is not in the archive any more") from error
            if entry.executable:
                target.chmod(0o700)
