"""Images: found, pulled, built, imported; and what an image has in a folder. It knows registries' answers, not what an image is for."""

import asyncio
import contextlib
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import IO, Any

from local_backend.sandboxes.base_image import BaseImage
from local_backend.sandboxes.docker.client import EngineClient, EngineError
from local_backend.sandboxes.docker.containers import ImageFacts
from local_backend.sandboxes.docker.credentials import encoded, find_credentials
from local_backend.sandboxes.docker.progress import PullProgress
from local_backend.sandboxes.failures import told_as_sandbox_error
from local_backend.sandboxes.interface import Progress, SandboxError, SandboxRefusedError

BASE_REPOSITORY = "nodus/base"
_BASE_ENVIRONMENT = ("PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8")

_PULL_QUIET_SECONDS = 300.0
"""A pull that tells nothing for so long has failed; an engine that hangs is noticed within the deadline of a request."""

_PIECE = 1 << 20

Archive = IO[bytes]
"""What an image has in a folder: a tar in a file that has no name, so that nothing of it stays."""


class Images:
    """An engine's images."""

    def __init__(self, client: EngineClient, environ: Mapping[str, str], ensure_base: Callable[[], BaseImage] = BaseImage.ensure) -> None:
        self._client = client
        self._environ = environ
        self._ensure_base = ensure_base
        self._base_lock = asyncio.Lock()
        self._pulls: dict[str, asyncio.Lock] = {}
        self._archives: dict[tuple[str, str], Archive | None] = {}
        self._archive_locks: dict[tuple[str, str], asyncio.Lock] = {}

    async def have(self, image: str | None, progress: Progress | None = None) -> ImageFacts:
        """Have an image here: None is the base image. Raises SandboxError, SandboxRefusedError."""
        if image is None or image.startswith(f"{BASE_REPOSITORY}@"):
            return await self._base(image, progress)
        if (known := await self.here(image)) is not None:
            return known
        # Who asks for the same image meanwhile waits for the same pull.
        async with self._pulls.setdefault(image, asyncio.Lock()):
            if (known := await self.here(image)) is None:
                await self._pull(image, progress)
                known = await self.here(image)
        if known is None:
            raise SandboxError(f"the image {image} was pulled, yet the engine does not have it")
        return known

    async def here(self, image: str) -> ImageFacts | None:
        """What the engine has under a name, a name with digest, or an id."""
        try:
            document = await self._client.ask("GET", f"/images/{image}/json")
        except EngineError as error:
            if error.status == 404:
                return None
            if error.status == 400:
                raise SandboxRefusedError(f"{image!r} is no name of an image: {error.message}") from error
            raise
        config = document.get("Config") or {}
        return ImageFacts(
            id=str(document["Id"]),
            reference=_reference(image, document.get("RepoDigests") or [], str(document["Id"])),
            volumes=tuple(config.get("Volumes") or ()),
        )

    async def folder(self, container: str, image: ImageFacts, folder: str, most_bytes: int) -> Archive | None:
        """What the image has in a folder, as a tar; None where it has nothing. It is taken from a container that was made of it and not
        started, once for each image. Raises SandboxRefusedError when it is larger than may be.
        """
        key = (image.id, folder)
        async with self._archive_locks.setdefault(key, asyncio.Lock()):
            if key not in self._archives:
                self._archives[key] = await self._fetch(container, image, folder, most_bytes)
            return self._archives[key]

    def close(self) -> None:
        """Let go of what was fetched."""
        for archive in self._archives.values():
            if archive is not None:
                archive.close()
        self._archives.clear()

    async def _base(self, asked: str | None, progress: Progress | None) -> ImageFacts:
        async with self._base_lock:
            base = await asyncio.to_thread(self._ensure_base)
            reference = f"{BASE_REPOSITORY}@{base.digest}"
            if asked is not None and asked != reference:
                raise SandboxRefusedError(
                    f"the base image {asked} is not this machine's, which is {reference}: ask for the base image by no name"
                )
            tag = base.digest.removeprefix("sha256:")
            known = await self.here(f"{BASE_REPOSITORY}:{tag}")
            if known is None:
                if progress is not None:
                    progress("importing the base image")
                await self._import(base.tar, tag)
                known = await self.here(f"{BASE_REPOSITORY}:{tag}")
            if known is None:
                raise SandboxError("the base image was imported, yet the engine does not have it")
            return ImageFacts(id=known.id, reference=reference)

    async def _import(self, tar: Path, tag: str) -> None:
        params = {"fromSrc": "-", "repo": f"{BASE_REPOSITORY}:{tag}", "changes": "\n".join(f"ENV {each}" for each in _BASE_ENVIRONMENT)}
        with told_as_sandbox_error("the base image cannot be read"):
            opened = await asyncio.to_thread(tar.open, "rb")
        with opened as file:
            lines = self._client.lines(
                "/images/create",
                params=params,
                headers={"Content-Type": "application/x-tar"},
                body=pieces(file),
                quiet_seconds=_PULL_QUIET_SECONDS,
            )
            async with aclosing(lines):
                async for _ in lines:
                    pass

    async def _pull(self, image: str, progress: Progress | None) -> None:
        registry, credentials = await find_credentials(image, self._environ)
        headers = {"X-Registry-Auth": encoded(credentials)} if credentials else {}
        # Without a tag the engine would take all tags.
        name = image if "@" in image or ":" in image.rsplit("/", 1)[-1] else f"{image}:latest"
        told = PullProgress(image, progress)
        try:
            lines = self._client.lines("/images/create", params={"fromImage": name}, headers=headers, quiet_seconds=_PULL_QUIET_SECONDS)
            async with aclosing(lines):
                async for event in lines:
                    told.hear(event)
        except EngineError as error:
            raise _pull_failure(image, registry, error, known=credentials is not None) from error

    async def _fetch(self, container: str, image: ImageFacts, folder: str, most_bytes: int) -> Archive | None:
        kept = f"what the image {image.reference} has in {folder} cannot be kept on this machine meanwhile"
        with told_as_sandbox_error(kept):
            file = await asyncio.to_thread(tempfile.TemporaryFile)
        try:
            with told_as_sandbox_error(kept):
                whole = await self._save(file, container, folder, most_bytes)
                empty = whole and await asyncio.to_thread(_is_empty, file)
        except BaseException as error:
            with contextlib.suppress(OSError):  # On a full disk what was not written yet is tried once more.
                file.close()
            if isinstance(error, EngineError) and error.status == 404:
                return None
            raise
        if whole and not empty:
            return file
        file.close()
        if whole:
            return None
        raise SandboxRefusedError(f"what the image {image.reference} has in {folder} does not fit into the sandbox's disk: raise its size")

    async def _save(self, file: IO[bytes], container: str, folder: str, most_bytes: int) -> bool:
        """Whether the content was small enough to be fetched whole."""
        size = 0
        content = self._client.download(f"/containers/{container}/archive", params={"path": f"{folder}/."})
        async with aclosing(content):
            async for piece in content:
                size += len(piece)
                if size > most_bytes:
                    return False
                await asyncio.to_thread(file.write, piece)
        return True


async def pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    """A file's bytes from where it stands, read in a thread."""
    while piece := await asyncio.to_thread(file.read, _PIECE):
        yield piece


def _is_empty(file: IO[bytes]) -> bool:
    """Whether a tar has nothing but its folder. Names only are read: its content goes to a sandbox as it is."""
    file.seek(0)
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:
            return all(member.name in {".", ""} for member in (archive.next(), archive.next()) if member is not None)
    except tarfile.TarError as error:
        raise SandboxError(f"what the Docker engine gave of an image's folder is no archive: {error}") from error


def _reference(asked: str, digests: list[str], image_id: str) -> str:
    """The name with its digest: that of the registry which the name points to."""
    name = asked.partition("@")[0]
    if ":" in name.rsplit("/", 1)[-1]:
        name = name.rpartition(":")[0]
    for each in digests:
        repository, _, digest = each.partition("@")
        if _familiar(repository) == _familiar(name) and (("@" not in asked) or asked.endswith(digest)):
            return f"{name}@{digest}"
    return image_id


def _familiar(repository: str) -> str:
    return repository.removeprefix("index.").removeprefix("docker.io/").removeprefix("library/")


def _pull_failure(image: str, registry: str, error: EngineError, *, known: bool) -> SandboxError:
    words = error.message.lower()
    log_in = "docker login" if registry == "docker.io" else f"docker login {registry}"
    if "denied" in words or "unauthorized" in words or "no basic auth" in words or "authentication required" in words:
        if known:
            return SandboxRefusedError(
                f"the registry {registry} refused the image {image} to the credentials in Docker's configuration, or does not have it. "
                f"Log in again with '{log_in}', or correct the name. It said: {error.message}"
            )
        return SandboxRefusedError(
            f"the registry {registry} gives the image {image} to nobody unknown, or does not have it. Log in with '{log_in}', "
            f"or correct the name. It said: {error.message}"
        )
    if error.status in {400, 404} or "not found" in words or "manifest unknown" in words or "invalid reference" in words:
        return SandboxRefusedError(f"the image {image} does not exist at {registry}: {error.message}")
    return SandboxError(f"the image {image} could not be pulled from {registry}: {error.message}")


def event_text(event: Mapping[str, Any]) -> str:
    """What an event of a build says, without the line's end."""
    return str(event.get("stream") or event.get("status") or "").strip()
