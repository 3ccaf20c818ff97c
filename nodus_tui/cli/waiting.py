"""Waiting for groups: follow the event stream until they have ended or stand stalled, the time is up, or somebody asks to stop."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any, Literal

from msgspec import Struct, field

from nodus_tui.cli.exits import Exit, gravest
from nodus_tui.cli.failures import say
from nodus_tui.cli.gate import Gate, judge_all
from nodus_tui.cli.output import emit
from nodus_tui.cli.progress import Display, display_for
from nodus_tui.cli.signals import StopRequest, stop_on_signals
from nodus_tui.cli.stalls import stall_sentences, stands_stalled
from nodus_tui.cli.summary import results_text
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.events import EventBatch
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.agent_group import AgentGroupStatus

GRACE_SECONDS = 60.0
"""How long calls in flight may take to end after the first Ctrl-C. The second ends the wait."""

Ending = Literal["ended", "stalled", "timeout", "interrupted"]

OnStall = Callable[[str, AgentGroupStatus], Awaitable[None]]
"""What to do about a stalled group, instead of ending the wait."""


class WaitOptions(Struct, frozen=True):
    """How to wait, and what to make of it."""

    gate: Gate = field(default_factory=Gate)
    output: str = "table"
    quiet: bool = False
    keep_waiting: bool = False
    """Wait on while a group is stalled: somebody may raise the cap from elsewhere."""
    timeout: timedelta | None = None
    launches: bool = False
    """The groups are this command's own: an interruption stops them, also where a detached scheduler works on them."""
    to_go_on: bool = True
    """Whether to say how an unfinished group goes on: a demonstration starts anew instead."""


class GroupFollower:
    """The statuses of some groups, folded from the event stream."""

    def __init__(self, backend: Backend, names: Iterable[str]) -> None:
        self._backend = backend
        self._documents: dict[str, dict[str, Any]] = {name: {} for name in names}
        self.statuses: dict[str, AgentGroupStatus] = {}
        self.ended_stalled: set[str] = set()
        """Groups that the timeout ended while they were stalled at caps."""
        self.cursor = 0

    async def start(self) -> None:
        """Take the snapshot that the events go on from. Raises NodusError for a group that does not exist."""
        snapshot = await self._backend.snapshot()
        self.cursor = snapshot.cursor
        for group in snapshot.groups:
            if group.name in self._documents and group.status is not None:
                self._documents[group.name] = group.status.to_document()
                self.statuses[group.name] = group.status
        for name in self._documents:
            if name not in self.statuses:
                raise NodusError.not_found("AgentGroup", name)

    def fold(self, batch: EventBatch) -> None:
        """Take in what happened."""
        self.cursor = batch.cursor
        changed = set()
        for event in batch.events:
            if event.kind != "AgentGroup" or event.name not in self._documents:
                continue
            if event.change == "Deleted":
                raise NodusError.not_found("AgentGroup", event.name)
            self._documents[event.name] = {**self._documents[event.name], **event.status}
            changed.add(event.name)
        for name in changed:
            status = AgentGroupStatus.model_validate(self._documents[name])
            before = self.statuses[name]
            if status.phase.ended and before.phase is GroupPhase.STALLED and before.reason is not Reason.WAITING_FOR_MODEL:
                self.ended_stalled.add(name)
            self.statuses[name] = status

    @property
    def all_at_rest(self) -> bool:
        """Whether nothing goes on until somebody asks."""
        return all(status.phase.at_rest for status in self.statuses.values())

    @property
    def stalled(self) -> tuple[str, ...]:
        """The stalled groups, when no other is going on."""
        if not all(status.phase.at_rest or status.phase is GroupPhase.STALLED for status in self.statuses.values()):
            return ()
        return tuple(name for name, status in self.statuses.items() if status.phase is GroupPhase.STALLED)


async def follow(
    follower: GroupFollower, backend: Backend, display: Display, stop: StopRequest, *, timeout: timedelta | None, on_stall: OnStall | None
) -> Ending:
    """Follow until something ends the wait. With `on_stall` a stall does not: it is told once each time that it begins."""
    loop = asyncio.get_running_loop()
    until = None if timeout is None else loop.time() + timeout.total_seconds()
    stream = aiter(backend.watch(after=follower.cursor))
    asked = asyncio.ensure_future(stop.asked.wait())
    batch: asyncio.Future[EventBatch] | None = None
    told_stalled: set[str] = set()
    try:
        while True:
            display.show(follower.statuses)
            if follower.all_at_rest:
                return "ended"
            stalled = {name for name in follower.stalled if await stands_stalled(backend, name, follower.statuses[name])}
            if on_stall is None:
                if stalled and len(stalled) == len(follower.stalled):
                    return "stalled"
            else:
                for name in stalled - told_stalled:
                    await on_stall(name, follower.statuses[name])
            told_stalled = stalled
            batch = batch or asyncio.ensure_future(anext(stream))
            left = None if until is None else until - loop.time()
            if left is not None and left <= 0:
                return "timeout"
            waits: set[asyncio.Future[Any]] = {batch, asked}
            await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return "interrupted"
            if batch.done():
                follower.fold(batch.result())
                batch = None
    finally:
        await _cancelled(asked, batch)


async def _cancelled(*tasks: asyncio.Future[Any] | None) -> None:
    going = [task for task in tasks if task is not None]
    for task in going:
        task.cancel()
    await asyncio.gather(*going, return_exceptions=True)


async def wait_and_report(backend: Backend, names: tuple[str, ...], options: WaitOptions, on_stall: OnStall | None = None) -> Exit:
    """Wait for the groups, print their results on stdout, say on stderr what keeps them from passing, and give the exit code.

    A stall ends the wait unless the options say to keep waiting, or `on_stall` does something about it.
    """
    info = await backend.info()
    follower = GroupFollower(backend, names)
    await follower.start()

    def stops() -> bool:
        return info.scheduling or (options.launches and info.can_stop_groups and not stop.hung_up)

    def answer(count: int) -> None:
        _answer_signal(count, follower, display, stops=stops())

    async def tell_stall(name: str, status: AgentGroupStatus) -> None:
        for sentence in await stall_sentences(backend, name, status):
            display.note(sentence)

    reaction = on_stall or (tell_stall if options.keep_waiting else None)
    with display_for(quiet=options.quiet) as display, stop_on_signals(answer) as stop:
        if not stops():
            display.hint("Ctrl-C ends the watching; the work goes on")
        ending = await follow(follower, backend, display, stop, timeout=options.timeout, on_stall=reaction)
        for name in follower.stalled if ending == "stalled" else ():
            await tell_stall(name, follower.statuses[name])
        # Asked again: the process that did the work may have gone meanwhile, and this one taken it over.
        info = await backend.info()
        stopped = stops()
        if ending in {"interrupted", "timeout"} and stopped:
            display.hint("stopping; Ctrl-C again aborts")
            await _stop_work(backend, follower, display, stop, groups=() if info.scheduling else names)
        gone = stop.hung_up and not stopped
    if gone:
        return Exit.INTERRUPTED  # Nobody is there to read results of what goes on.
    code = await report(backend, names, options, Reached(ending, stopped, frozenset(follower.ended_stalled)))
    if info.scheduling:
        await _stop_others(backend, names)
    return code


async def _stop_others(backend: Backend, names: tuple[str, ...]) -> None:
    """The scheduler that ran here worked on every group of the workspace. Those that are still at it stop gracefully with it."""
    groups = (await backend.snapshot()).groups
    others = [group.name for group in groups if group.name not in names and group.status is not None and group.status.going]
    if not others:
        return
    listed = ", ".join(others)
    say(f"stopping: calls in flight of other groups are finishing ({listed}); Ctrl-C aborts; `nodus-tui resume` goes on with them")
    with stop_on_signals(lambda _: None) as stop:
        await _stop_gracefully(backend, unless=stop.asked)


async def _stop_gracefully(backend: Backend, *, unless: asyncio.Event, groups: tuple[str, ...] = ()) -> None:
    """Let calls in flight end; once the event is set, no longer."""
    graceful = asyncio.ensure_future(backend.stop_work(grace_seconds=GRACE_SECONDS, groups=groups))
    abort = asyncio.ensure_future(unless.wait())
    waits: set[asyncio.Future[Any]] = {graceful, abort}
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    if not graceful.done():
        await backend.stop_work(grace_seconds=0, groups=groups)
    await graceful
    await _cancelled(abort)


def _answer_signal(count: int, follower: GroupFollower, display: Display, *, stops: bool) -> None:
    if count > 1:
        display.note("aborting: calls in flight are charged their worst case")
    elif not stops:
        display.note("no longer watching; another process goes on with the work")
    else:
        going = sum(status.going for status in follower.statuses.values())
        display.note(
            f"stopping: {going} call{'s' if going != 1 else ''} in flight {'are' if going != 1 else 'is'} finishing; again to abort"
        )


async def _stop_work(backend: Backend, follower: GroupFollower, display: Display, stop: StopRequest, *, groups: tuple[str, ...]) -> None:
    """Gracefully, while the display goes on; a second signal ends the grace."""
    showing = asyncio.ensure_future(_go_on_showing(backend, follower, display))
    await _stop_gracefully(backend, unless=stop.abort, groups=groups)
    await _cancelled(showing)


async def _go_on_showing(backend: Backend, follower: GroupFollower, display: Display) -> None:
    async for batch in backend.watch(after=follower.cursor):
        follower.fold(batch)
        display.show(follower.statuses)


class Reached(Struct, frozen=True):
    """How a wait came to its end."""

    ending: Ending = "ended"
    stopped: bool = True
    """Whether the work was stopped, so that it needs a word to go on."""
    ended_stalled: frozenset[str] = frozenset()


async def report(backend: Backend, names: tuple[str, ...], options: WaitOptions, reached: Reached) -> Exit:
    """Print the results as they stand and judge them; how the wait ended comes first."""
    results = tuple([await backend.results(name) for name in names])
    emit(results_text(results, options.output))
    if reached.ending in {"interrupted", "timeout"}:
        if reached.ending == "timeout":
            say("the time to wait is up")
        verb = "resume" if reached.stopped else "wait"
        for each in results:
            if options.to_go_on and not each.phase.ended:
                say(f"{each.group} is kept; `nodus-tui {verb} {each.group}` goes on with it")
        return Exit.INTERRUPTED if reached.ending == "interrupted" else Exit.INFRASTRUCTURE
    judgement = judge_all(results, options.gate, reached.ended_stalled)
    for sentence in judgement.sentences:
        say(sentence)
    if reached.ending != "stalled":
        return judgement.code
    # A stalled group has not ended: no gate lets it pass.
    unserved = any(case.reason is Reason.WAITING_FOR_MODEL for each in results for case in each.results)
    return gravest((judgement.code, Exit.INFRASTRUCTURE if unserved else Exit.CAP))
