"""Keys one after the other: each goes where the one before it led, and what it changed is painted at once. It knows Textual's app, and
no view.

Textual hands a key to what has the focus when the key is read. Of keys that come in one read (a slow link, a fast hand, keys sent by a
program) all would go to the same place, although the first of them opened a dialog or a filter to type in: letters meant as text would act
on the view below.

An Enter that is held down, or comes twice, goes as far as the first question: what it opened is to be seen before it is agreed to. A
terminal does not tell whether a key is held down; one that is comes again, and soon.

Textual paints with the frames of a timer: what a key changed stood there one of them later, and what that changed in turn (the place of the
cursor, the selected row in words) in another. Here all of it is painted when the key is handled, in one frame.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar

from textual.app import App, ScreenStackError
from textual.events import Key
from textual.message_pump import MessagePump
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widget import Widget

from nodus_tui.changed_lines import ChangedLines

_MOST_SECONDS = 0.5
"""How long a key may hold up the next: an action that takes longer goes on beside it."""
HELD_SECONDS = 1.0
"""An Enter that comes within so long of another may be the same press: keyboards begin to repeat a key after at most as long."""
TWICE_SECONDS = 0.3
"""Within so long it is the same press, or one of two that nobody has read a question between: keyboards repeat a key sooner than that. So
one that comes later, and that no other follows within this time, is a press of its own."""
_ENTER = "enter"


class WholeFrames(Screen[ScreenResultType]):
    """A screen that is painted before a key was handled or after it, and never in between; of it what changed."""

    asks: ClassVar[bool] = False
    """Whether Enter agrees to something here, as it does in every dialog."""
    waits = False
    """Whether a key is being handled."""

    def __init__(self, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(name, id, classes)
        self._compositor = ChangedLines()

    def too_soon(self) -> None:
        """An Enter did nothing, for it began elsewhere."""

    def _on_timer_update(self) -> None:
        """Textual's own paints; while it is not let, its timer goes on asking."""
        if not self.waits:
            super()._on_timer_update()


def asks(screen: Screen[Any]) -> bool:
    """Whether Enter and clicks agree to something on a screen."""
    return screen.asks if isinstance(screen, WholeFrames) else isinstance(screen, ModalScreen)


class KeyGate:
    """Hands keys over one by one; the next when the one before was handled, and what it opened has the focus. Then the screen is drawn."""

    def __init__(self, app: App[Any], give: Callable[[Key], Awaitable[None]]) -> None:
        self._app = app
        self._give = give
        self._waiting: deque[tuple[Key, float]] = deque()
        """Each with the seconds since the Enter before it; infinite where another key came in between, and for other keys."""
        self._came = asyncio.Event()
        """Another key has come."""
        self._enter_came = float("-inf")
        self._enter_began: MessagePump | None = None
        """What had the focus when Enter was pressed first."""
        self._task: asyncio.Task[None] | None = None
        self._free = asyncio.Event()
        self._free.set()
        self.last_taken = float("-inf")
        """When the last key came, in seconds of the event loop's clock."""

    async def free(self) -> None:
        """Wait until no key is being handled: what can wait goes on then."""
        await self._free.wait()

    def take(self, key: Key) -> None:
        """Hand a key over when its turn comes."""
        self.last_taken = asyncio.get_running_loop().time()
        enter = key.key == _ENTER
        self._waiting.append((key, self.last_taken - self._enter_came if enter else float("inf")))
        self._enter_came = self.last_taken if enter else float("-inf")
        self._came.set()
        if self._task is None:
            self._free.clear()
            self._task = asyncio.create_task(self._hand_over(), name="keys")

    async def _hand_over(self) -> None:
        try:
            while self._waiting:
                screen = self._screen()
                key, since_enter = self._waiting.popleft()
                if key.key == _ENTER and await self._too_soon(screen, since_enter):
                    continue
                with _nothing_halfway(screen):
                    await self._give(key)
                    await self._in_time(self._handled)
                # A screen that was just opened is laid out by Textual, in steps of its own.
                if not self._waiting and screen is not None and screen is self._screen():
                    await self._in_time(partial(self._painted, screen))
        except Exception as error:  # noqa: BLE001 - raised again where the app looks after what its handlers raise
            self._app.call_later(_raise, error)
        finally:
            self._task = None
            self._free.set()

    async def _too_soon(self, screen: Screen[Any] | None, since_enter: float) -> bool:
        """Whether an Enter that was pressed elsewhere would agree to what this screen asks."""
        here = screen.focused or screen if screen is not None else None
        began_here = since_enter >= HELD_SECONDS or here is self._enter_began
        if began_here or screen is None or not asks(screen) or (since_enter >= TWICE_SECONDS and not await self._comes_again()):
            if since_enter >= TWICE_SECONDS:
                self._enter_began = here
            return False
        if isinstance(screen, WholeFrames):
            screen.too_soon()
        return True

    async def _comes_again(self) -> bool:
        """Whether the next key is another Enter, and comes soon."""
        if not self._waiting:
            self._came.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(TWICE_SECONDS):
                    await self._came.wait()
        return bool(self._waiting) and self._waiting[0][0].key == _ENTER

    def _screen(self) -> Screen[Any] | None:
        try:
            return self._app.screen
        except ScreenStackError:
            return None

    async def _in_time(self, what: Callable[[], Awaitable[None]]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_MOST_SECONDS):
                await what()

    async def _handled(self) -> None:
        """The key went up from what had the focus to the app, and whatever it opened stands."""
        await self._through(self._pumps())
        # What was opened, or focused, has its own messages to handle before it takes keys.
        await self._through(self._pumps())

    async def _painted(self, screen: Screen[Any]) -> None:
        """The screen is laid out and drawn as far as it changed."""
        for widget in screen.walk_children(Widget):
            # What Textual's widgets do when they have nothing else to do: they tell the screen that they look otherwise.
            widget._check_refresh()  # noqa: SLF001 - Textual has no public way to paint now
        screen.call_later(screen._on_timer_update)  # noqa: SLF001
        await self._through([screen])

    def _pumps(self) -> list[MessagePump]:
        screen = self._screen()
        if screen is None:
            return [self._app]
        focused = screen.focused or screen
        return [each for each in focused.ancestors_with_self if isinstance(each, MessagePump)]

    async def _through(self, pumps: list[MessagePump]) -> None:
        for pump in pumps:
            passed = asyncio.Event()
            if pump.call_later(passed.set):
                await passed.wait()


@contextmanager
def _nothing_halfway(screen: Screen[Any] | None) -> Iterator[None]:
    """The screen waits with its frames, where it can."""
    if not isinstance(screen, WholeFrames):
        yield
        return
    screen.waits = True
    try:
        yield
    finally:
        screen.waits = False


def _raise(error: Exception) -> None:
    raise error
