"""A backend that shows a recording: the same answers at the same times, and no action."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NoReturn, Self

from pydantic import JsonValue, TypeAdapter, ValidationError

from nodus_tui.contract.backend import Page, Query
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.environment_tasks import TaskPage
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.events import Event, EventBatch, Snapshot
from nodus_tui.contract.hardware_view import HardwareView
from nodus_tui.contract.playback import Playback
from nodus_tui.contract.portions import LOG_BYTES
from nodus_tui.contract.resources.agent_run import AgentRun, Transcript
from nodus_tui.contract.resources.job import JobLog
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.registry import KINDS
from nodus_tui.contract.results import GroupResults
from nodus_tui.contract.sandboxes import FileEntry, SandboxFact
from nodus_tui.contract.scheduler_view import SchedulerView
from nodus_tui.contract.sweep_results import SweepResults
from nodus_tui.recording.answers import RecordedAnswers
from nodus_tui.recording.clock import ReplayClock
from nodus_tui.recording.lines import BATCH, SNAPSHOT
from nodus_tui.recording.reading import RecordingReader
from nodus_tui.recording.state import CELL, RecordedState, cells_after
from nodus_tui.wrapped.refusing import Refusing

_FILES: TypeAdapter[tuple[FileEntry, ...]] = TypeAdapter(tuple[FileEntry, ...])
_SANDBOXES: TypeAdapter[tuple[SandboxFact, ...]] = TypeAdapter(tuple[SandboxFact, ...])


class _RawPage(ContractModel):
    """A page whose items are read by their kind."""

    items: tuple[dict[str, object], ...]
    next_after: str = ""


class ReplayBackend(Refusing):
    """Implements Backend, for looking, from a recording; and Replayed, for moving about in it."""

    def __init__(self, reader: RecordingReader, clock: ReplayClock, *, loops: bool = False) -> None:
        self.reader = reader
        self.loops = loops
        self._clock = clock
        self._state = RecordedState()
        self._answers = RecordedAnswers(reader)
        self._told = 0
        """How many lines are folded into the state."""
        self._cells: list[tuple[int, Event]] = []
        """What was told of the cells of sweeps since the last snapshot, each with the place of its line."""
        self._checked = True
        """Whether every event that is folded was looked at."""
        self._watchers = 0
        self._begin = next((reader.times[place] for place, kind in enumerate(reader.kinds) if kind == SNAPSHOT), 0.0)
        self.jump(self._begin)

    # Replayed

    @property
    def playback(self) -> Playback:
        """How it stands."""
        clock = self._clock
        return Playback(of=self._words(), place=clock.place, length=clock.length, speed=clock.speed, paused=clock.paused, loops=self.loops)

    def _words(self) -> str:
        header = self.reader.header
        return f"{header.of}, {header.started_at.astimezone():%Y-%m-%d %H:%M}"

    def now(self) -> datetime:
        """The time at the place that is shown, in this machine's zone."""
        return (self.reader.header.started_at + timedelta(seconds=self._clock.place)).astimezone()

    def pause(self, *, paused: bool) -> None:
        """Stand still, or go on."""
        self._clock.pause(paused=paused)

    def set_speed(self, speed: float) -> None:
        """Another speed from here on."""
        self._clock.set_speed(speed)

    def jump(self, place: float) -> None:
        """Go to a place; the state is as it was there."""
        self._clock.jump(max(place, self._begin))
        self._fold_to_place()

    # The state

    def _fold_to_place(self) -> None:
        """Fold what lies before the place, from the last snapshot before it on."""
        target = bisect_right(self.reader.times, self._clock.place)
        start = self._snapshot_before(target)
        if start >= self._told or target < self._told:
            self._told = start
        self._checked = self._checked and self._told == target
        while self._told < target:
            self._fold_next(check=False)

    def _snapshot_before(self, line: int) -> int:
        return next((place for place in range(line - 1, -1, -1) if self.reader.kinds[place] == SNAPSHOT), 0)

    def _check(self) -> None:
        """Fold once more what was folded in haste, now looking at each event: something in it is not as it should be."""
        target, self._told = self._told, self._snapshot_before(self._told)
        while self._told < target:
            self._fold_next()
        self._checked = True

    def _fold_next(self, *, check: bool = True) -> EventBatch | None:
        """Fold one line more; gives its batch where it is one."""
        place = self._told
        self._told += 1
        if self.reader.kinds[place] == SNAPSHOT:
            self._state.load(self.reader.line(place).get("answer"))
            self._cells.clear()
        batch = self._batch(place)
        if batch is None:
            return None
        sound = tuple(event for event in batch.events if self._state.fold(event, check=check))
        self._cells += ((place, event) for event in sound if event.kind == CELL)
        if len(sound) < len(batch.events):
            self.reader.damaged(place, "this line tells of something in a way in which it cannot be")
        self._state.cursor = max(self._state.cursor, batch.cursor)
        return batch.model_copy(update={"events": sound})

    def _batch(self, place: int) -> EventBatch | None:
        """The batch of a line; None where that is something else, or damaged."""
        if self.reader.kinds[place] != BATCH:
            return None
        try:
            return EventBatch.model_validate(self.reader.line(place).get("answer"))
        except (ValidationError, RecursionError):
            self.reader.damaged(place, "this line holds no batch of events")
            return None

    async def snapshot(self, *, runs_of: str | None = None) -> Snapshot:
        """The state at the place that is shown."""
        if not self._watchers:
            # While somebody watches, the state is where they are: what lies between would be missing in what they hold.
            self._fold_to_place()
        snapshot = self._state.snapshot(runs_of)
        if self._state.left_out and not self._checked:
            self._check()
            snapshot = self._state.snapshot(runs_of)
        return snapshot

    async def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
        """Everything after a cursor, each batch when its time comes; at the end it waits for a jump."""
        self._watchers += 1
        try:
            place, jumps = self._first_after(after), self._clock.jumps
            while True:
                # At infinite speed nothing else here lets others have their turn.
                await asyncio.sleep(0)
                if self._clock.jumps != jumps:
                    place, jumps, after = self._told, self._clock.jumps, -1
                if place >= len(self.reader.kinds):
                    await self._clock.moved()
                    continue
                if not await self._clock.reach(self.reader.times[place]):
                    continue
                batch = self._fold_next() if place == self._told else self._batch(place)
                place += 1
                if batch is not None and batch.cursor > after:
                    yield batch.model_copy(update={"events": tuple(event for event in batch.events if event.cursor > after)})
        finally:
            self._watchers -= 1

    def _first_after(self, cursor: int) -> int:
        """The first line that holds something after a cursor, at most the first that is not shown yet."""
        place = self._told
        while place > 0 and self.reader.kinds[place - 1] != SNAPSHOT and not -1 < self.reader.cursors[place - 1] <= cursor:
            place -= 1
        return place

    # What was asked while it was recorded

    async def get(self, kind: str, name: str) -> Resource:
        """One resource, as the state has it or as it was asked for."""
        if kind not in KINDS:
            raise NodusError.not_found("kind", kind)
        if self._state.knows(kind):
            found = self._state.get(kind, name)
            if found is None:
                raise NodusError.not_found(kind, name)
            return found
        adapter: TypeAdapter[Any] = TypeAdapter(KINDS[kind])
        answer: Resource = self._answers.answer("get", {"kind": kind, "name": name}, f"{kind} {name}", adapter, self._clock.place)
        return answer

    async def list(self, kind: str, query: Query | None = None) -> Page:
        """Resources of a kind, as the state has them or as they were asked for."""
        asked = query or Query()
        if kind not in KINDS:
            return Page(items=())
        if self._state.knows(kind):
            return _page(self._state.all(kind), asked)
        question: dict[str, JsonValue] = {"kind": kind, "query": asked.to_document()}
        raw = self._answers.answer("list", question, f"all {kind}s", TypeAdapter(_RawPage), self._clock.place)
        items = []
        for item in raw.items:
            with suppress(ValidationError, RecursionError):
                items.append(KINDS[kind].model_validate(item))
        return Page(items=tuple(items), next_after=raw.next_after)

    async def results(self, group: str) -> GroupResults:
        """As they were asked for."""
        words = f"the results of {group}"
        return self._answers.answer("results", {"group": group}, words, TypeAdapter(GroupResults), self._clock.place)

    async def sweep_results(self, sweep: str) -> SweepResults:
        """As they were asked for, and as the stream has told of the cells since."""
        asked: dict[str, JsonValue] = {"sweep": sweep}
        words, place = f"the cells of {sweep}", self._clock.place
        results = self._answers.answer("sweep_results", asked, words, TypeAdapter(SweepResults), place)
        line = self._answers.line_of("sweep_results", asked, place)
        return cells_after(results, (event for at, event in self._cells if at > line and event.group == sweep))

    async def transcript(self, run: str, *, from_turn: int = 0) -> Transcript:
        """As it was asked for."""
        words = f"the conversation of {run}"
        whole = self._answers.answer("transcript", {"run": run}, words, TypeAdapter(Transcript), self._clock.place)
        return whole.from_turn(from_turn)

    async def info(self, *, probe: bool = False) -> BackendInfo:  # noqa: ARG002 - nothing can be tried out here
        """What the backend said of itself, with nobody at work and nobody who may act."""
        header = self.reader.header
        told = BackendInfo(name=header.of, version=header.program, workspace="", scheduling=False, scheduler_elsewhere=False)
        with suppress(NodusError):
            # It is asked for once, when everything begins: the first answer is better than none.
            place = max(self._clock.place, self._answers.first("info") or 0.0)
            told = self._answers.answer("info", {}, "the backend", TypeAdapter(BackendInfo), place)
        notes = (*told.notes, *self.reader.notes())
        nobody = {"scheduling": False, "scheduler_elsewhere": False, "can_stop_groups": False, "role": "viewer", "notes": notes}
        return told.model_copy(update=nobody)

    async def gpus(self, *, history: bool = False, rates: bool = True) -> HardwareView:  # noqa: ARG002 - it waits for nothing
        """As it was asked for, with or without the last samples."""
        wanted = history if self._answers.has("gpus", {"history": history}) else not history
        return self._answers.answer("gpus", {"history": wanted}, "the machine", TypeAdapter(HardwareView), self._clock.place)

    async def sandboxes(self) -> tuple[SandboxFact, ...]:
        """As they were asked for."""
        return self._answers.answer("sandboxes", {}, "the sandboxes", _SANDBOXES, self._clock.place)

    async def files(self, run: str) -> tuple[FileEntry, ...]:
        """As they were asked for."""
        return self._answers.answer("files", {"run": run}, f"the files of {run}", _FILES, self._clock.place)

    async def job_files(self, job: str) -> tuple[FileEntry, ...]:
        """As they were asked for."""
        return self._answers.answer("job_files", {"job": job}, f"the outputs of {job}", _FILES, self._clock.place)

    async def sandbox_files(self, sandbox: str) -> tuple[FileEntry, ...]:
        """As they were asked for."""
        return self._answers.answer("sandbox_files", {"sandbox": sandbox}, f"the files of {sandbox}", _FILES, self._clock.place)

    async def job_log(self, job: str, *, after: int = 0, limit: int = 65_536, wait_seconds: float = 0) -> JobLog:  # noqa: ARG002 - all of it
        """What was read of it, put together and given at once; it waits for more as the backend did."""
        part = self._answers.log(job, after, self._clock.place)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_seconds):
                while not part.text and not part.ended:
                    more = self._answers.more_log_at(job, self._clock.place)
                    await (self._clock.moved() if more is None else self._clock.reach(more))
                    part = self._answers.log(job, after, self._clock.place)
        return part

    async def environment_tasks(self, reference: str, *, split: str = "test", seed: int = 0, after: int = 0, limit: int = 50) -> TaskPage:
        """As they were asked for."""
        asked: dict[str, JsonValue] = {"reference": reference, "split": split, "seed": seed, "after": after, "limit": limit}
        return self._answers.answer("environment_tasks", asked, f"the tasks of {reference}", TypeAdapter(TaskPage), self._clock.place)

    async def scheduler_view(self, *, after: int = -LOG_BYTES, limit: int = LOG_BYTES) -> SchedulerView:
        """A recording is of the work, and leaves out the process that did it."""
        del after, limit
        raise NodusError(ErrorCode.NOT_SUPPORTED, f"this is a recording of {self._words()}: it holds no log of the scheduler")

    def refuse(self, call: str) -> NoReturn:
        """A recording can be looked at only, and holds the names of files without their contents."""
        detail = f"this is a recording of {self._words()}: everything in it can be looked at, and nothing done"
        if call in {"read_file", "read_job_file", "read_sandbox_file"}:
            detail = "a recording holds the names of files, and not what is in them"
        raise NodusError(ErrorCode.FORBIDDEN, detail)

    async def aclose(self) -> None:
        """Let go of the file."""
        self.reader.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


def _page(known: tuple[Resource, ...], query: Query) -> Page:
    """What a query lets through, from after the name that it goes on from."""
    names = [each.name for each in known]
    start = names.index(query.after) + 1 if query.after in names else 0
    found = [each for each in known[start:] if _matches(each, query)]
    page = tuple(found[: query.limit])
    return Page(items=page, next_after=page[-1].name if len(found) > len(page) else "")


def _matches(resource: Resource, query: Query) -> bool:
    if query.project and resource.metadata.project != query.project:
        return False
    if isinstance(resource, AgentRun):
        superseded = resource.status is not None and not resource.status.current
        if query.unfinished and resource.status is not None and resource.status.phase.ended:
            return False
        return not (query.current_only and superseded) and query.group in ("", resource.spec.group)
    return True
