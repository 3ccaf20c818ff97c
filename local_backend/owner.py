"""Who does a workspace's work: this process while it holds the lock, else the one that does. Requests, and what becomes of them.

The process that holds the workspace's lock does all writing. Any other hands what it is asked over through the `requests` table, where the
lock's holder finds, does and answers it.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from local_backend.requests import Requests
from local_backend.rooms import Rooms
from local_backend.scheduling.endings import StopOrder
from local_backend.storage.store import POLL_SECONDS
from local_backend.work_log import WorkLog, log_answer, log_refusal
from local_backend.working import Working
from nodus_tui.contract.errors import ErrorCode, NodusError

_log = logging.getLogger(__name__)

_ANSWER_TRIES = 1500
"""Looks for another process's answer, 0.2 seconds apart; an extension may wait for a call in flight to end."""

_MEND_LOOKS = 10
"""After the disk failed, writing is tried again at each such look after the workspace, so every two seconds."""

_REAP_LOOKS = 3000
"""Sandboxes that dead owners left are looked for at each such look, so every ten minutes."""


class Owner:
    """One open workspace's. `pause` waits so many seconds between two looks."""

    def __init__(self, rooms: Rooms, pause: Callable[[float], Awaitable[None]]) -> None:
        self._rooms = rooms
        self._store = rooms.store
        self._workspace = rooms.workspace
        self._pause = pause
        self._requests = Requests(rooms.store, rooms.clock)
        self.working: Working | None = None
        """All that works here; None while this process does not hold the lock."""
        rooms.store.on_commit(self._wake_sweeps)
        self._work_log = WorkLog(rooms.store)
        self._keeper: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        """One owning at a time; held while the lock is taken for a single request."""
        self._doing: set[int] = set()
        self._helpers: set[asyncio.Task[None]] = set()
        self._stopped = False

    async def start(self) -> None:
        """Do the work here, now or as soon as no other process does."""
        if self._workspace.try_own():
            await self._own(may_start=True)
        self._keeper = asyncio.create_task(self._keep(), name="workspace keeper")

    def check(self) -> None:
        """Raise NodusError where nothing can be told or done, for the disk or the scheduler has failed."""
        # A process that only looks may read on while its own writing is in trouble.
        self._store.check(writes=self._keeper is not None)
        if self.working is not None and self.working.scheduler.failure is not None:
            raise self.working.scheduler.failure

    async def aclose(self) -> None:
        """Let go of the work."""
        self._stopped = True
        if self._keeper is not None:
            await self._keeper
        for helper in tuple(self._helpers):
            await helper
        if self.working is not None:
            with suppress(NodusError):  # A disk that fails now was told of already.
                await self._work_log.look()
        await self._disown()

    def _wake_sweeps(self) -> None:
        if self.working is not None:
            self.working.sweeps.wake()

    # Holding the lock.

    async def _own(self, *, may_start: bool) -> None:
        self.working = working = Working(self._rooms, may_start=may_start)
        try:
            # What happens from here on is this process's to tell.
            await self._work_log.look()
            await working.open()
            for number, form, payload, author in await self._requests.open_ones():
                await self._answer_once(number, form, payload, author)
            await working.go_on()
        except BaseException:
            await self._let_go()
            raise

    async def _disown(self) -> None:
        try:
            await self._let_go()
        finally:
            self._workspace.disown()

    async def _let_go(self) -> None:
        if self.working is None:
            return
        try:
            await self.working.sweeps.aclose()
        finally:
            working, self.working = self.working, None
            if working is not None:
                await working.aclose()

    @asynccontextmanager
    async def _owner_for_now(self) -> AsyncIterator[bool]:
        """True when this process may write: it does the work, or takes the lock for as long as this lasts."""
        self.check()
        if self.working is not None:
            yield True
            return
        async with self._turn:
            if not self._workspace.try_own():
                yield False
                return
            try:
                await self._own(may_start=False)
                yield True
            finally:
                await self._disown()

    # Keeping it.

    async def _keep(self) -> None:
        """Answer other processes' requests while this one does the work; take it over when who did it is gone."""
        version, looks, told = -1, 0, ""
        while not self._stopped:
            await self._pause(POLL_SECONDS)
            self._store.look_after()
            looks += 1
            try:
                if self.working is not None and looks % _REAP_LOOKS == 0 and self._rooms.desk.used:
                    await self._rooms.machine_sandboxes.reap_quietly()
                if self._store.failure is not None:
                    await self._after_failure(try_again=looks % _MEND_LOOKS == 0)
                    continue
                if self.working is None:
                    await self._take_over()
                    continue
                seen = await self._store.data_version()
                if seen != version:
                    version = seen
                    await self._answer_others()
                await self._work_log.look()
                told = ""
            except NodusError as error:
                if error.detail != told:
                    _log.error("the workspace could not be looked after: %s", error.detail)
                told = error.detail

    async def _after_failure(self, *, try_again: bool) -> None:
        """Nothing can be written: stop all work, forget what only the memory knows, and begin from the disk once it takes commits."""
        async with self._turn:
            if self.working is not None:
                _log.error("all work stops: %s", self._store.failure)
                await self._let_go()
            if self._stopped or self._doing or not try_again or not self._store.may_get_well or self._rooms.space.shortage():
                return
            try:
                await self._store.mend()
            except NodusError:
                return  # It was told when it began; every call says it again.
            _log.warning("the database takes commits again; going on from what it holds")
            if self._workspace.owned:
                await self._own(may_start=True)

    async def _take_over(self) -> None:
        async with self._turn:
            if not self._stopped and self._workspace.try_own():
                await self._own(may_start=True)

    # Requests.

    async def ask(self, form: str, payload: str, *, author: str, request_id: str) -> str:
        """Have something done, here or by the process that holds the lock; gives the answer as text. Raises NodusError."""
        if self._keeper is None and self._store.failure is not None:
            await self._store.mend()
        number = await self._requests.ask(form, payload, author=author, request_id=request_id or uuid.uuid4().hex)
        for _ in range(_ANSWER_TRIES):
            async with self._owner_for_now() as mine:
                text = await self._requests.outcome(number)
                if text is None and mine:
                    await self._answer_one(number, form, payload, author)
                    text = await self._requests.outcome(number)
            if text is not None:
                return text
            await asyncio.sleep(POLL_SECONDS)
        raise NodusError(
            ErrorCode.UNAVAILABLE,
            "the process that runs this workspace's scheduler has not answered; what was asked stays recorded and is done when it does",
        )

    async def _answer_others(self) -> None:
        for number, form, payload, author in await self._requests.open_ones():
            if number not in self._doing:
                helper = asyncio.create_task(self._answer_one(number, form, payload, author))
                self._helpers.add(helper)
                helper.add_done_callback(self._helpers.discard)

    async def _answer_one(self, number: int, form: str, payload: str, author: str) -> None:
        try:
            await self._answer_once(number, form, payload, author)
        except NodusError as error:
            _log.error("request %s could not be answered: %s", number, error.detail)

    async def _answer_once(self, number: int, form: str, payload: str, author: str) -> None:
        """Do a request, unless somebody here does it now or has done it since it was looked at: whoever asked and the keeper both come."""
        if number in self._doing:
            return
        self._doing.add(number)
        try:
            if await self._requests.is_open(number):
                await self._requests.answer(number, lambda: self._do(form, payload, author))
        finally:
            self._doing.discard(number)

    async def _do(self, form: str, payload: str, author: str) -> str:
        if self.working is None:
            raise NodusError(ErrorCode.UNAVAILABLE, "the scheduler of this workspace has just stopped; ask again")
        try:
            answer = await self.working.do(form, payload, author)
        except NodusError as error:
            log_refusal(form, author, error.detail)
            raise
        log_answer(form, author, answer)
        return answer

    # Stopping.

    async def stop_work(self, *, grace_seconds: float, groups: tuple[str, ...] = ()) -> None:
        """Stop everything that this process runs, or the named groups; they are left interrupted."""
        if self.working is None:
            return
        sweeps = self.working.sweeps
        if not groups:
            await sweeps.rest()
        await self.working.scheduler.stop(StopOrder.SHUTDOWN, grace_seconds=grace_seconds, groups=groups)
        if self.working is not None:
            await sweeps.look()

    async def hand_over(self, *, grace_seconds: float) -> None:
        """Start nothing more here and let calls in flight end within the grace; the groups are left as they are, for the next scheduler."""
        if self.working is not None:
            self.working.sweeps.hold()
            await self.working.scheduler.stop(StopOrder.PAUSE, grace_seconds=grace_seconds)
