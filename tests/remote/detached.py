"""A workspace whose work a detached scheduler does: real processes, found and ended by the tests' own means."""

import asyncio
import os
import select
import signal
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import psutil
from cli_workspace import Workspace

from nodus_tui.connect import attached_to
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.scheduler import SchedulerRecord
from nodus_tui.remote.local import LocalScheduler
from nodus_tui.view_state.folding import group_after

MODULE = "local_backend.hosting.scheduler_process"


class DetachedWorkspace(Workspace):
    """The command works through a detached scheduler here."""

    detached = True

    @property
    def scheduler(self) -> LocalScheduler:
        return LocalScheduler(self.home, self.config, lambda: MODULE)

    def record(self) -> SchedulerRecord:
        record = self.scheduler.running()
        assert record is not None, self.log()
        return record

    def log(self) -> str:
        path = self.scheduler.log
        return path.read_text(encoding="utf-8") if path.exists() else "no log"

    def processes(self) -> list[psutil.Process]:
        """The schedulers of this workspace, as the system lists them."""
        found = []
        for process in psutil.process_iter(["cmdline", "status"]):
            words = process.info["cmdline"] or []
            if MODULE in words and str(self.home) in words and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
        return found

    async def kill_scheduler(self) -> SchedulerRecord:
        """SIGKILL, and wait until the system has it so."""
        record = self.record()
        os.kill(record.pid, signal.SIGKILL)
        await asyncio.to_thread(_until_ended, record.pid)
        return record

    async def none_but(self, *pids: int) -> list[int]:
        """The schedulers that run once every other one has come to its end."""
        for process in self.processes():
            if process.pid not in pids:
                await asyncio.to_thread(_until_ended, process.pid)
        return [process.pid for process in self.processes()]

    async def group_when(self, name: str, condition: Callable[[AgentGroup], bool]) -> AgentGroup:
        """The group once it fulfils the condition, by the event stream of a client of its own."""
        async with attached_to(self.scheduler, self.record()) as backend:
            snapshot = await backend.snapshot()
            found = next((group for group in snapshot.groups if group.name == name), None)
            async with aclosing(cast("Any", backend.watch(after=snapshot.cursor))) as batches:
                while found is None or not condition(found):
                    for event in (await anext(batches)).events:
                        if (event.kind, event.name) == ("AgentGroup", name):
                            found = group_after(found, event)
            return found


def _until_ended(pid: int) -> None:
    """Wait without looking again and again: the tests' processors are few."""
    try:
        ended = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([ended], [], [])
    finally:
        os.close(ended)


def going(count: int) -> Callable[[AgentGroup], bool]:
    return lambda group: group.status is not None and group.status.going >= count


def scored(count: int) -> Callable[[AgentGroup], bool]:
    return lambda group: group.status is not None and group.status.coverage.scored >= count


def in_folder(folder: Path) -> DetachedWorkspace:
    folder.mkdir(parents=True, exist_ok=True)
    return DetachedWorkspace(folder)
