"""An action that is to wait for something: it is held there, and let go on; nobody waits for a span of time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from nodus_tui.contract.outcomes import ActionOutcome


async def kept_waiting(act: Coroutine[Any, Any, ActionOutcome], *, waits: asyncio.Event, go_on: Callable[[], None]) -> ActionOutcome:
    """The outcome of an action that came to its wait (`waits`) before it was let go on. One that does not wait fails."""
    acting, waiting = asyncio.create_task(act), asyncio.create_task(waits.wait())
    try:
        await asyncio.wait({acting, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        go_on()
        waiting.cancel()
    outcome = await acting
    assert waits.is_set(), "it did not wait"
    return outcome
