"""Keys one after the other: each goes where the one before it led. It knows Textual's app, and no view.

Textual hands a key to what has the focus when the key is read. Of keys that come in one read (a slow link, a fast hand, keys sent by a
program) all would go to the same place, although the first of them opened a dialog or a filter to type in: letters meant as text would act
on the view below.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from textual.app import App, ScreenStackError
from textual.events import Key
from textual.message_pump import MessagePump

_MOST_SECONDS = 0.5
"""How long a key may hold up the next: an action that takes longer goes on beside it."""


class KeyGate:
    """Hands keys over one by one; the next when the one before was handled, and what it opened has the focus."""

    def __init__(self, app: App[Any], give: Callable[[Key], Awaitable[None]]) -> None:
        self._app = app
        self._give = give
        self._waiting: deque[Key] = deque()
        self._task: asyncio.Task[None] | None = None

    def take(self, key: Key) -> None:
        """Hand a key over when its turn comes."""
        self._waiting.append(key)
        if self._task is None:
            self._task = asyncio.create_task(self._hand_over(), name="keys")

    async def _hand_over(self) -> None:
        try:
            while self._waiting:
                await self._give(self._waiting.popleft())
                if self._waiting:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_MOST_SECONDS):
                            await self._handled()
        except Exception as error:  # noqa: BLE001 - raised again where the app looks after what its handlers raise
            self._app.call_later(_raise, error)
        finally:
            self._task = None

    async def _handled(self) -> None:
        """The key went up from what had the focus to the app, and whatever it opened stands."""
        await self._through(self._pumps())
        # What was opened, or focused, has its own messages to handle before it takes keys.
        await self._through(self._pumps())

    def _pumps(self) -> list[MessagePump]:
        try:
            focused = self._app.focused or self._app.screen
        except ScreenStackError:
            return [self._app]
        return [each for each in focused.ancestors_with_self if isinstance(each, MessagePump)]

    async def _through(self, pumps: list[MessagePump]) -> None:
        for pump in pumps:
            passed = asyncio.Event()
            if pump.call_later(passed.set):
                await passed.wait()


def _raise(error: Exception) -> None:
    raise error
