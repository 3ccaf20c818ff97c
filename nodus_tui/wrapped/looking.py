"""A backend in somebody else's hands: what a browser may ask of it, whatever its keys would do.

Two levels. A viewer looks. An operator also acts on what is there: kills, extends, retries, resumes. Neither launches specs, saves files,
reaps sandboxes or stops work, for these reach into the machine that serves the browser.
"""

from typing import Literal, NoReturn

from nodus_tui.contract.actions import Action
from nodus_tui.contract.backend import Backend, Linked, LinkState
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.hardware_view import HardwareView, without_arguments
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.portions import LOG_BYTES
from nodus_tui.contract.scheduler_view import SchedulerView
from nodus_tui.wrapped.passing import PassingBackend
from nodus_tui.wrapped.refusing import Refusing

Role = Literal["viewer", "operator"]

_WHY = {
    "act": "you look on as a viewer: everything can be seen and nothing done",
    "apply": "specs are not launched from a browser: use `nodus-tui` there, or `nodus-tui --connect`",
    "estimate": "specs are not read for a browser: use `nodus-tui estimate`",
    "reap_sandboxes": "sandboxes are not removed from a browser: use `nodus-tui sandboxes reap`",
    "read_file": "files are not saved from a browser: use `nodus-tui cp`",
    "read_job_file": "files are not saved from a browser: use `nodus-tui cp`",
    "read_sandbox_file": "files are not saved from a browser: use `nodus-tui cp`",
    "exec": "commands are not run from a browser: use `nodus-tui exec`",
    "check_environment": "environments are not checked from a browser: use `nodus-tui environment check`",
    "scheduler_view": "you look on as a viewer: the scheduler's log is an operator's",
    "stop_work": "work is not stopped from a browser: kill what should end, or use `nodus-tui scheduler stop`",
    "probe": "no trial of sandboxes is started from a browser: use `nodus-tui doctor`",
}


class LookingBackend(Refusing, PassingBackend):
    """What a browser has of a backend. What it may not ask is refused with Forbidden before the inner backend hears of it."""

    def __init__(self, inner: Backend, role: Role, author: str) -> None:
        super().__init__(inner)
        self.role: Role = role
        self.author = author
        """Who stands as the author of what is done."""

    def refuse(self, call: str) -> NoReturn:
        """Say what to use instead."""
        raise NodusError(ErrorCode.FORBIDDEN, _WHY[call])

    async def act(self, action: Action) -> ActionOutcome:
        """For an operator, in their name."""
        if self.role != "operator":
            self.refuse("act")
        return await self.inner.act(action.model_copy(update={"author": self.author}))

    async def info(self, *, probe: bool = False) -> BackendInfo:
        """With the lesser of the two roles; nothing is tried out."""
        if probe:
            self.refuse("probe")
        told = await self.inner.info()
        role: Role = "operator" if self.role == told.role == "operator" else "viewer"
        return told.model_copy(update={"role": role, "can_stop_groups": False})

    async def gpus(self, *, history: bool = False, rates: bool = True) -> HardwareView:
        """A viewer sees of each command its program only."""
        view = await self.inner.gpus(history=history, rates=rates)
        return view if self.role == "operator" else without_arguments(view)

    async def scheduler_view(self, *, after: int = -LOG_BYTES, limit: int = LOG_BYTES) -> SchedulerView:
        """For an operator: names of others' work and folders stand in a log."""
        if self.role != "operator":
            self.refuse("scheduler_view")
        return await self.inner.scheduler_view(after=after, limit=limit)


class LinkedLookingBackend(LookingBackend):
    """The same around a backend in another process."""

    @property
    def link(self) -> LinkState:
        """How the inner one's way stands."""
        if not isinstance(self.inner, Linked):
            raise TypeError("only a backend in another process has a link")
        return self.inner.link


def looking(inner: Backend, role: Role, author: str) -> LookingBackend:
    """The backend for a browser; it has a link where the inner one has."""
    kind = LinkedLookingBackend if isinstance(inner, Linked) else LookingBackend
    return kind(inner, role, author)
