"""An image that a command needs, fetched by its supervisor before the job's time begins: that costs nothing, as for a job that is an image.

Loaded by the supervisors of such jobs only: it knows a client of engines.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

from local_backend.jobs.order import NeededImage
from local_backend.sandboxes.docker.engine import connect_docker

_ENGINE_SECONDS = 30.0
"""How long the engine has for one answer; a pull may take as long as it tells of itself."""


async def unless_asked(asked: asyncio.Event, work: "asyncio.Future[Any]") -> bool:
    """Wait for work, and have it end when somebody asks to stop; False where it did not come to its end. Raises what the work raises."""
    asking = asyncio.ensure_future(asked.wait())
    await asyncio.wait({asking, work}, return_when=asyncio.FIRST_COMPLETED)
    asking.cancel()
    if work.done():
        work.result()
        return True
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    return False


def fetch(needed: NeededImage, control: int, *, tell: Callable[[str], None], obey: Callable[[str], str]) -> str:
    """Have the image at the engine. Blocks. Gives why somebody stopped it; nothing where the image is there. Raises SandboxError.

    `obey` is given what a scheduler says into the control pipe, and gives the reason where that is to stop.
    """
    return asyncio.run(_fetch(needed, control, tell, obey))


async def _fetch(needed: NeededImage, control: int, tell: Callable[[str], None], obey: Callable[[str], str]) -> str:
    loop, asked, reasons = asyncio.get_running_loop(), asyncio.Event(), list[str]()

    def ask(reason: str) -> None:
        if reason:
            reasons.append(reason)
            asked.set()

    loop.add_reader(control, lambda: ask(obey(os.read(control, 4096).decode(errors="replace"))))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, ask, "Interrupted")
    engine = await connect_docker(needed.engine_environ, deadline=_ENGINE_SECONDS)
    try:
        have = asyncio.ensure_future(engine.images.have(needed.image, tell))
        return "" if await unless_asked(asked, have) else reasons[0]
    finally:
        loop.remove_reader(control)
        await engine.aclose()
