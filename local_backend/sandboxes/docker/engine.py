"""The Docker engine as the sandbox contract sees it. It knows containers and images, not runs and graders.

A sandbox is a container whose root file system is read-only, whose folders for writing lie in memory with a size each, and whose first
program is an init that ends after the sandbox's lifetime. Files go in and out as archives over a program's streams, never through the
engine's copying, which cannot see such folders and would follow what the agent put there.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from local_backend.sandboxes.base_image import BaseImage
from local_backend.sandboxes.docker.building import build_image
from local_backend.sandboxes.docker.client import EngineClient, EngineError, SilentError
from local_backend.sandboxes.docker.containers import (
    ImageFacts,
    check_request,
    container_config,
    found_sandbox,
    writable_folders,
)
from local_backend.sandboxes.docker.endpoint import find_endpoint
from local_backend.sandboxes.docker.facts import engine_facts, is_rootless, takes_filter
from local_backend.sandboxes.docker.gpus import device_requests, explained
from local_backend.sandboxes.docker.images import Images
from local_backend.sandboxes.docker.lifetime import listed_containers, make_container, remove_container
from local_backend.sandboxes.docker.sandbox import DockerSandbox, Facts
from local_backend.sandboxes.docker.seeding import check_image, seed_folder
from local_backend.sandboxes.interface import (
    ENGINE_SECONDS,
    EngineFacts,
    FoundSandbox,
    Progress,
    SandboxDevice,
    SandboxError,
    SandboxRefusedError,
    SandboxRequest,
)

_MOST_STARTS_AT_ONCE = 8
"""An engine starts no more containers in a second when more are asked for at once than it has processors: it answers each of them later,
and leaves whoever shares its machine, this process too, less of it."""

_LOST_FIRST_SECONDS = 1.0
_LOST_LONGEST_SECONDS = 60.0
_LATE_ROUNDS = 3
_PARTING_SECONDS = 5.0


def starts_at_once(info: Mapping[str, Any]) -> int:
    """How many containers are started at once on an engine that says this of itself."""
    processors = info.get("NCPU")
    return max(2, min(_MOST_STARTS_AT_ONCE, processors)) if isinstance(processors, int) else 2


class DockerEngine:
    """One engine that answered."""

    def __init__(
        self, client: EngineClient, facts: EngineFacts, images: Images, environ: Mapping[str, str], info: Mapping[str, Any]
    ) -> None:
        self.client = client
        """For what the contract does not offer: its endpoint, and requests of the tests."""
        self._facts = facts
        self._images = images
        self._environ = environ
        self._info = info
        """What it says of itself."""
        self._starting = asyncio.Semaphore(starts_at_once(info))
        self._checked: set[str] = set()
        """Ids of images that were seen to have what a sandbox needs."""
        self._losses: set[asyncio.Task[None]] = set()

    @property
    def facts(self) -> EngineFacts:
        """What the engine says of itself."""
        return self._facts

    @property
    def images(self) -> Images:
        """Its images."""
        return self._images

    @property
    def rootless(self) -> bool:
        """Whether it is a user's own: root in its containers is that user outside."""
        return is_rootless(self._info)

    def device_requests(self, devices: Sequence[SandboxDevice]) -> list[dict[str, Any]]:
        """How a container of this engine gets these. Raises SandboxRefusedError."""
        return device_requests(devices, self._info)

    @property
    def clean(self) -> bool:
        """Whether nothing of a failed start waits for its removal."""
        return not self._losses

    async def prepare(self, image: str | None, progress: Progress | None = None) -> str:
        """Have the image here, and give it with its digest."""
        return (await self._images.have(image, progress)).reference

    async def build(self, folder: str, dockerfile: str, tag: str, progress: Progress | None = None) -> str:
        """The image of a tag, built from a folder where it is not here; gives its id, for no registry has given it a digest.

        It is not built a second time: two builds of one folder may be two images, and an agent works in the one that its tests run in.
        """
        if (built := await self._images.here(tag)) is None:
            await build_image(self.client, self._environ, folder, dockerfile, tag, progress)
            built = await self._images.here(tag)
        if built is None:
            raise SandboxError(f"the image {tag} was built, yet the engine does not have it")
        return built.id

    async def create(self, request: SandboxRequest) -> DockerSandbox:
        """Start a sandbox."""
        check_request(request)
        image = await self._images.have(request.image)
        async with self._starting:
            name = f"nodus-{secrets.token_hex(8)}"
            try:
                return await self._start(name, request, image)
            except BaseException as error:
                # Also where nobody waits any more, or the engine makes it long after it was asked.
                removing = self._lose(name, rounds=_LATE_ROUNDS if isinstance(error, SilentError) else 1)
                if not isinstance(error, SilentError):
                    await asyncio.wait({removing}, timeout=_PARTING_SECONDS)
                raise

    async def list(self) -> list[FoundSandbox]:
        """All with our label at this engine."""
        return [found_sandbox(each) for each in await listed_containers(self.client)]

    async def remove(self, found: FoundSandbox) -> None:
        """End and remove one."""
        await remove_container(self.client, found.id)

    async def aclose(self) -> None:
        """Let go of the engine."""
        if self._losses:
            await asyncio.wait(self._losses, timeout=_PARTING_SECONDS)
        for task in self._losses:
            task.cancel()
        await asyncio.gather(*self._losses, return_exceptions=True)
        self._images.close()
        await self.client.aclose()

    async def _start(self, name: str, request: SandboxRequest, image: ImageFacts) -> DockerSandbox:
        folders = writable_folders(request, image.volumes)
        try:
            gpus = self.device_requests(request.devices)
            config = container_config(request, image, filtered=takes_filter(self._info), gpus=gpus)
            container = await make_container(self.client, name, config)
            seeds = {
                folder: await self._images.folder(container, image, folder, 2 * folders[folder])
                for folder in [request.workdir, *image.volumes]
                if folder in folders and folder not in request.extra_folders
            }
            await self.client.ask("POST", f"/containers/{container}/start")
        except EngineError as error:
            raise SandboxError(f"the Docker engine could not start a sandbox of {image.reference}: {explained(error.message)}") from error
        started_at = datetime.now(UTC)
        if request.network:
            await self._see_network(container)
        for folder, archive in seeds.items():
            if archive is not None:
                await seed_folder(self.client, container, folder, archive, image.reference)
        if image.id not in self._checked:
            await check_image(self.client, container, image.reference)
            self._checked.add(image.id)
        facts = Facts(id=container, image=image.reference, workdir=request.workdir, started_at=started_at, pids=request.limits.pids)
        return DockerSandbox(self.client, facts)

    async def _see_network(self, container: str) -> None:
        """An engine without a bridge starts a container that asks for a network, and gives it none."""
        state = await self.client.ask("GET", f"/containers/{container}/json")
        networks = (state.get("NetworkSettings") or {}).get("Networks") or {}
        if not any(each.get("IPAddress") or each.get("GlobalIPv6Address") for each in networks.values()):
            raise SandboxRefusedError("the Docker engine has no network for sandboxes (it runs without a bridge): start it with one")

    def _lose(self, name: str, rounds: int) -> asyncio.Task[None]:
        task = asyncio.create_task(self._remove_lost(name, rounds))
        self._losses.add(task)
        task.add_done_callback(self._losses.discard)
        return task

    async def _remove_lost(self, name: str, rounds: int) -> None:
        """Remove what a failed start left, as soon as the engine can. One that hung may still make it after it was not found."""
        pause = _LOST_FIRST_SECONDS
        while rounds:
            try:
                await remove_container(self.client, name)
                rounds -= 1
            except SandboxError:
                pause = min(2 * pause, _LOST_LONGEST_SECONDS)
            if rounds:
                await asyncio.sleep(pause)


async def connect_docker(
    environ: Mapping[str, str],
    *,
    deadline: float = ENGINE_SECONDS,
    ensure_base: Callable[[], BaseImage] = BaseImage.ensure,
) -> DockerEngine:
    """The user's engine, by DOCKER_HOST, a Docker context, or a usual socket. `deadline`: of one request, in seconds. Raises SandboxError
    with the reason when none answers.
    """
    client = EngineClient(find_endpoint(environ), deadline=deadline)
    try:
        version = await client.connect()
        info = await client.ask("GET", "/info")
        images = Images(client, environ, ensure_base)
        return DockerEngine(client, engine_facts(version, info), images, environ, info)
    except BaseException:
        await client.aclose()
        raise
