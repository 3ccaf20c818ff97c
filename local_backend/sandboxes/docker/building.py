"""Images from a folder with a Dockerfile. It knows the engine's build request; which files go along is the Docker SDK's to say.

A build runs what the Dockerfile says, with the engine's network, before any sandbox is there: only tasks whose author is trusted as far
as any other image's are built.
"""

import asyncio
import base64
import json
import re
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import IO, Any, cast

from local_backend.sandboxes.docker.client import EngineClient, EngineError
from local_backend.sandboxes.docker.credentials import find_credentials
from local_backend.sandboxes.docker.images import event_text, pieces
from local_backend.sandboxes.failures import told_as_sandbox_error
from local_backend.sandboxes.interface import Progress, SandboxError, SandboxRefusedError

_BUILD_QUIET_SECONDS = 3_600.0
"""A step that tells nothing for so long has failed: compilers may be silent for long. A hung engine is noticed much sooner."""

_LAST_LINES = 5
_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*([^\s$]+)", re.IGNORECASE | re.MULTILINE)


async def build_image(
    client: EngineClient, environ: Mapping[str, str], folder: str, dockerfile: str, tag: str, progress: Progress | None
) -> None:
    """Build and tag. Raises SandboxRefusedError for what is wrong with the folder, SandboxError for a build that failed."""
    context = await asyncio.to_thread(_pack, Path(folder), dockerfile)
    last: list[str] = []
    try:
        headers = {"Content-Type": "application/x-tar"}
        if registries := await _credentials_of_bases(Path(folder) / dockerfile, environ):
            headers["X-Registry-Config"] = base64.urlsafe_b64encode(json.dumps(registries).encode()).decode("ascii")
        params = {"dockerfile": dockerfile, "t": tag, "rm": "1", "forcerm": "1"}
        lines = client.lines("/build", params=params, headers=headers, body=pieces(context), quiet_seconds=_BUILD_QUIET_SECONDS)
        async with aclosing(lines):
            async for event in lines:
                if text := event_text(event):
                    last = [*last, *text.splitlines()][-_LAST_LINES:]
                    if progress is not None and "progressDetail" not in event:
                        progress(text.splitlines()[-1])
    except EngineError as error:
        said = "; ".join(last)
        raise SandboxError(
            f"the image of {Path(folder) / dockerfile} could not be built: {error.message}" + (f" (before that: {said})" if said else "")
        ) from error
    finally:
        context.close()


def _pack(folder: Path, dockerfile: str) -> IO[bytes]:
    from docker.utils import build as files  # noqa: PLC0415 - only who builds pays for loading it.

    if not (folder / dockerfile).is_file():
        raise SandboxRefusedError(f"{folder / dockerfile} does not exist: an image is built from a folder with a Dockerfile")
    ignored: list[str] = []
    try:
        if (folder / ".dockerignore").is_file():
            lines = (folder / ".dockerignore").read_text(encoding="utf-8").splitlines()
            ignored = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        return cast("IO[bytes]", files.tar(folder, exclude=ignored, dockerfile=(dockerfile, None)))
    except (OSError, UnicodeDecodeError) as error:
        raise SandboxRefusedError(f"the files of {folder} cannot be packed for building: {error}") from error


async def _credentials_of_bases(dockerfile: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """Credentials of the registries that the Dockerfile's images come from."""
    with told_as_sandbox_error(f"{dockerfile} cannot be read"):
        text = await asyncio.to_thread(dockerfile.read_text, encoding="utf-8", errors="replace")
    registries: dict[str, Any] = {}
    for name in dict.fromkeys(_FROM.findall(text)):
        try:
            registry, found = await find_credentials(name, environ)
        except SandboxRefusedError:
            continue  # No name of an image: the build will say so, with the line.
        if found:
            registries["https://index.docker.io/v1/" if registry == "docker.io" else registry] = found
    return registries
