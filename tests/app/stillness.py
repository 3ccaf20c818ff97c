"""When the console has nothing more to do: known from its event loop, not guessed from how busy the processor is.

Textual's pilot waits after each key until the process has slept for a while. That costs more than all that the console does in these tests,
and on a busy machine it is no proof. Here the loop itself is asked: nothing is ready to run, and no thread works for it.
"""

import asyncio
from collections.abc import Iterator

import pytest
import textual.app
import textual.pilot

_ROUNDS = 3
"""Turns of the loop in which nothing may be ready: what a turn makes ready is seen in the next."""
_QUICK = 200
"""Turns after which it is not the console alone that is at work, and looking all the time would only take the processor from it."""
_BETWEEN_SECONDS = 0.005
_PATIENT = 250
"""Turns before which nobody gives up. Where the machine is busy with others, a second passes in some tens of them, in which the console has
hardly begun; one that has work for ever takes this many within the second.
"""


async def still(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Return once nothing goes on by itself any more, timers aside; after `max_sleep` seconds and many turns in any case: real work may go
    on for ever.

    It takes the place of Textual's own function, and so its arguments.
    """
    loop = asyncio.get_running_loop()
    give_up = loop.time() + max_sleep
    quiet = turns = 0
    while quiet < _ROUNDS and (turns < _PATIENT or loop.time() < give_up):
        turns += 1
        await asyncio.sleep(0 if turns < _QUICK and not _threads_work(loop) else _BETWEEN_SECONDS)
        quiet = 0 if loop._ready or _threads_work(loop) else quiet + 1  # type: ignore[attr-defined]


def _threads_work(loop: asyncio.AbstractEventLoop) -> bool:
    pool = loop._default_executor  # type: ignore[attr-defined]
    return pool is not None and (not pool._work_queue.empty() or pool._idle_semaphore._value < len(pool._threads))


@pytest.fixture(scope="session", autouse=True)
def stillness_is_asked_for() -> Iterator[None]:
    """Textual's pilot waits as `still` does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textual.app, "wait_for_idle", still)
        patch.setattr(textual.pilot, "wait_for_idle", still)
        yield
