"""The environments as every view of them has them, and the gold checks run from this console: a check outlives the view it began in."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import cast

from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.view_state.environments import Check, EnvironmentsState
from nodus_tui.view_state.rows import Rows


class EnvironmentsDesk:
    """One of an app."""

    def __init__(self, backend: Backend, groups: Rows[AgentGroup]) -> None:
        self.state = EnvironmentsState()
        self._backend = backend
        self._groups = groups
        self._running: dict[str, asyncio.Task[object]] = {}

    async def look(self) -> None:
        """Ask the backend for all of them."""
        try:
            info = await self._backend.info()
            applied, after = list[Environment](), ""
            while True:
                page = await self._backend.list("Environment", Query(after=after))
                applied += [each for each in page.items if isinstance(each, Environment)]
                after = page.next_after
                if not after:
                    break
        except NodusError as error:
            self.state.fail(error.detail)
            return
        self.state.take(info, applied, self._groups.items())

    def stop(self, name: str) -> bool:
        """End the check of an environment; says whether there was one."""
        task = self._running.get(name)
        return task is not None and task.cancel()

    async def check(self, name: str, *, tasks: int | None, changed: Callable[[], None]) -> str:
        """Check an environment to its end; gives why it ended before, empty where it did not. `changed` hears of every task."""
        row = self.state.rows.item(name)
        counts = [min(count, tasks or count) for count in row.tasks.values()]
        check = Check(total=sum(counts) if counts else None)
        task = asyncio.current_task()
        if task is not None:
            self._running[name] = task
        self.state.checking(name, check)
        changed()
        try:
            # A stream may be a generator; then its grader's process ends here and now.
            coming = cast("AsyncGenerator[GoldCase, None]", self._backend.check_environment(row.reference, tasks=tasks))
            async with aclosing(coming):
                async for case in coming:
                    check = Check(check.done + 1, (*check.faults, case) if case.problem else check.faults, check.total)
                    self.state.checking(name, check)
                    changed()
        except NodusError as error:
            return error.detail
        except asyncio.CancelledError:
            return f"it was ended after {check.done} task{'' if check.done == 1 else 's'}"
        finally:
            self._running.pop(name, None)
            self.state.checking(name, None)
            await self.look()
            changed()
        return ""
