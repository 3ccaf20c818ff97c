"""What an image must have, and what it has in the folders that a sandbox writes to: seen, and copied, right after a container's start."""

import asyncio
import os

from local_backend.sandboxes.docker.client import EngineClient
from local_backend.sandboxes.docker.images import Archive
from local_backend.sandboxes.docker.process import DockerProcess, start_process
from local_backend.sandboxes.interface import NotBegunError, SandboxError, SandboxGoneError, SandboxRefusedError, User

_SEED_SECONDS = 600.0
_PIECE = 262_144
_COMPLAINT_BYTES = 2_000


async def check_image(client: EngineClient, container: str, image: str) -> None:
    """See that an image has the programs that a sandbox is driven with. Raises SandboxRefusedError when not."""
    try:
        process = await _program(client, container, ["/bin/sh", "-c", "command -v tar"])
    except SandboxGoneError as error:
        raise SandboxRefusedError(f"a sandbox of the image {image} ended at once: an image needs 'sleep', 'sh' and 'tar'") from error
    except NotBegunError as error:
        if "/bin/sh" not in str(error):
            raise
        raise SandboxRefusedError(f"the image {image} cannot be used, for it needs 'sleep', 'sh' and 'tar': {error}") from error
    try:
        await _complaint(process)
        if await process.wait() != 0:
            raise SandboxRefusedError(f"the image {image} has no 'tar', which files go in and out of sandboxes with")
    finally:
        await process.aclose()


async def seed_folder(client: EngineClient, container: str, folder: str, archive: Archive, image: str) -> None:
    """Copy what the image has in a folder into the empty one that lies over it, as the agent's own. Raises SandboxError."""
    where = f"what the image {image} has in {folder}"
    try:
        async with asyncio.timeout(_SEED_SECONDS):
            process = await _program(client, container, ["tar", "-x", "-p", "-o", "-f", "-", "-C", folder])
            feeding = asyncio.create_task(_feed(process, archive))
            try:
                complaint = await _complaint(process)
                code = await process.wait()
            finally:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)
                await process.aclose()
    except TimeoutError as error:
        raise SandboxError(f"{where} was not copied within {_SEED_SECONDS:g} s") from error
    if code != 0:
        raise SandboxRefusedError(f"{where} could not be copied into the sandbox, whose disk may be too small: {complaint}")


async def _program(client: EngineClient, container: str, command: list[str]) -> DockerProcess:
    return await start_process(client, container, command, user=User.AGENT, cwd="/", environ={}, sacrificed=True)


async def _feed(process: DockerProcess, archive: Archive) -> None:
    """Send an archive that others read, too: each by its own position."""
    position = 0
    try:
        while piece := await asyncio.to_thread(os.pread, archive.fileno(), _PIECE, position):
            await process.write(piece)
            position += len(piece)
        await process.close_stdin()
    except SandboxError:
        return  # It reads no more, or is gone: whoever reads its output hears it.


async def _complaint(process: DockerProcess) -> str:
    said = b""
    while (piece := await process.read()) is not None:
        said = (said + piece[1])[-_COMPLAINT_BYTES:]
    return said.decode(errors="replace").strip()
