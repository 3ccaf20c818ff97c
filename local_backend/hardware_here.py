"""This machine's hardware as a workspace tells of it: the watch, and which of its runs and jobs the processes on the devices belong to."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from local_backend.hardware.attribution import Place
from local_backend.hardware.watch import HardwareWatch
from local_backend.machine_sandboxes import MachineSandboxes
from local_backend.sandboxes.interface import SandboxError
from nodus_tui.contract.errors import NodusError

_log = logging.getLogger(__name__)


def hardware_here(
    home: Path,
    sandboxes: MachineSandboxes,
    environ: Mapping[str, str],
    clock: Callable[[], datetime],
    launches: Callable[[], Awaitable[Mapping[str, str]]],
) -> HardwareWatch:
    """The watch of one backend; nothing is looked at before somebody asks. `launches`: the jobs that run, by their launches' tokens."""

    async def places() -> Sequence[Place]:
        jobs = tuple(Place(id=f"job-{token}", run=None, job=name) for token, name in (await launches()).items())
        return (*jobs, *await in_sandboxes())

    async def in_sandboxes() -> Sequence[Place]:
        try:
            found = await sandboxes.found()
        except (NodusError, SandboxError) as error:
            _log.warning("processes on devices cannot be matched with sandboxes: %s", error)
            return ()
        return tuple(
            Place(
                id=each.id,
                run=each.run if each.owner.workspace == str(home) and each.purpose == "episode" else None,
                job=each.run if each.owner.workspace == str(home) and each.purpose == "job" else None,
                init=(each.init, each.init_started) if each.init is not None else None,
            )
            for each in found
        )

    return HardwareWatch(home, environ, clock, find_places=places)
