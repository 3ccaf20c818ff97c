"""A campaign on the real backend, recorded; and recordings that are shown again."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any, cast

from ways import spec, workspace

from local_backend.backend import LocalBackend
from nodus_tui.contract.backend import Backend
from nodus_tui.recording.clock import ReplayClock
from nodus_tui.recording.file import RecordingFile
from nodus_tui.recording.lines import Header
from nodus_tui.recording.reading import RecordingReader
from nodus_tui.recording.recording_backend import RecordingBackend, recording
from nodus_tui.recording.replay_backend import ReplayBackend

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Steady:
    """A steady clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Recorded:
    path: Path
    steady: Steady
    local: LocalBackend
    backend: RecordingBackend


def recording_file(path: Path, steady: Callable[[], float], **options: Any) -> RecordingFile:
    return RecordingFile(path, Header(started_at=BEGAN, program="0.1.0", of="local at /here"), clock=steady, **options)


@asynccontextmanager
async def recorded(folder: Path, **options: Any) -> AsyncIterator[Recorded]:
    """A workspace at work, and the same backend with a recording around it."""
    steady, path = Steady(), folder / "recorded.jsonl"
    async with workspace(folder) as local:
        file = recording_file(path, steady, **options)
        try:
            yield Recorded(path, steady, local, recording(local, file))
        finally:
            file.close()


async def watched_campaign(place: Recorded, name: str = "hello", **values: Any) -> None:
    """Look from the beginning, launch a campaign, and watch it to its end: a second passes with every batch."""
    snapshot = await place.backend.snapshot()
    place.steady.seconds += 1
    await place.backend.apply(spec(name, **values))
    await watch_until_rest(place, snapshot.cursor)


async def watch_until_rest(place: Recorded, cursor: int) -> None:
    async with aclosing(cast("Any", place.backend.watch(after=cursor))) as batches:
        async for _ in batches:
            place.steady.seconds += 1
            present = await place.local.snapshot()
            rests = [group.status is not None and group.status.phase.at_rest for group in (*present.groups, *present.sweeps)]
            if rests and all(rests) and place.backend._cursor >= present.cursor:
                return


@asynccontextmanager
async def replayed(path: Path, *, steady: Callable[[], float] | None = None, speed: float = inf) -> AsyncIterator[ReplayBackend]:
    reader = RecordingReader(path)
    async with ReplayBackend(reader, ReplayClock(reader.length, speed=speed, steady=steady or Steady())) as backend:
        yield backend


async def played_to_end(backend: Backend, cursor: int, end: int) -> list[Any]:
    """Everything that the stream tells after a cursor, up to another one."""
    told: list[Any] = []
    async with aclosing(cast("Any", backend.watch(after=cursor))) as batches:
        while cursor < end:
            batch = await anext(batches)
            assert batch.cursor > cursor
            assert all(cursor < event.cursor <= batch.cursor for event in batch.events)
            cursor = batch.cursor
            told += batch.events
    return told
