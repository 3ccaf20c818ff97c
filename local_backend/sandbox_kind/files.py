"""The files of a box's work folder while it runs: copies of them as they are, and the one that is kept when it stops."""

import asyncio
import contextlib
import logging
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from local_backend.sandboxes.interface import Sandbox, SandboxError, User
from local_backend.sandboxes.running import fetch_folder
from local_backend.storage.artifacts import Artifacts

_log = logging.getLogger(__name__)

_COPY_SECONDS = 30.0
_REUSE_SECONDS = 2.0
"""Files that are read one after the other come from one copy."""


class Files:
    """Those of one box. What comes out of it is untrusted, and stays an archive."""

    def __init__(self, sandbox: Sandbox, kept: Artifacts, name: str, *, limit_bytes: int) -> None:
        self._sandbox = sandbox
        self._kept = kept
        self._name = name
        self._limit = limit_bytes
        self._copy: Path | None = None
        """As they were when they were last listed."""
        self._stale = True
        self._used_at = float("-inf")
        self._clock = asyncio.get_running_loop().time
        self._uses: Counter[Path] = Counter()
        self._copying = asyncio.Lock()

    def changed(self) -> None:
        """A command has begun or ended: what was copied is not what is there any more."""
        self._stale = True

    @contextlib.asynccontextmanager
    async def copy(self, *, fresh: bool) -> AsyncIterator[Path | None]:
        """An archive of the files as they are now; without `fresh` one that was made just before will do. None where it failed."""
        async with self._copying:
            if fresh or self._stale or self._copy is None or self._clock() - self._used_at > _REUSE_SECONDS:
                await self._copy_anew()
            found = self._copy
        if found is None:
            yield None
            return
        self._uses[found] += 1
        try:
            yield found
        finally:
            self._used_at = self._clock()
            self._uses[found] -= 1
            self._tidy(found)

    async def _copy_anew(self) -> None:
        self._stale = False
        new = self._kept.path(f".{self._name}-{secrets.token_hex(8)}")
        try:
            async with asyncio.timeout(_COPY_SECONDS):
                await self._fetch(new, self._limit)
        except (SandboxError, OSError, TimeoutError) as error:
            _log.info("the files of %s could not be copied out: %s", self._name, error)
            self._stale = True
            return
        before, self._copy = self._copy, new
        if before is not None:
            self._tidy(before)

    def _tidy(self, path: Path) -> None:
        if path != self._copy and not self._uses[path]:
            del self._uses[path]
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    async def keep(self, *, seconds: float, room: int | None) -> str:
        """End what runs as the agent, and keep the files. Why that failed, in a few words; empty where it did not."""
        limit = self._limit if room is None else min(self._limit, room)
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._sandbox.kill_agent()
                await self._fetch(self._kept.path(self._name), limit)
        except TimeoutError:
            return "it took too long"
        except SandboxError as error:
            return str(error).rstrip(".")
        except OSError as error:
            return error.strerror or type(error).__name__
        return ""

    async def _fetch(self, target: Path, limit: int) -> None:
        await fetch_folder(self._sandbox, self._sandbox.workdir, user=User.AGENT, target=target, limit_bytes=limit)

    def forget(self) -> None:
        """Remove the last copy, once nobody reads it any more."""
        copy, self._copy = self._copy, None
        if copy is not None:
            self._tidy(copy)
