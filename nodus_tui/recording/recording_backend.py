"""A backend that writes down what passes: the stream, the whole state where the stream begins, and the answers that screens ask for."""

import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import aclosing
from typing import Any, TypeVar, cast

from pydantic import JsonValue

from nodus_tui.contract.actions import Action
from nodus_tui.contract.backend import Backend, Linked, LinkState, Page, Query
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.environment_tasks import TaskPage
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.events import EventBatch, Snapshot
from nodus_tui.contract.hardware_view import HardwareView, without_arguments
from nodus_tui.contract.outcomes import ActionOutcome, ApplyOutcome
from nodus_tui.contract.resources.agent_run import Transcript
from nodus_tui.contract.resources.job import JobLog
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.results import GroupResults
from nodus_tui.contract.sandboxes import FileEntry, SandboxFact
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.sweep_results import SweepResults
from nodus_tui.recording.file import RecordingFile
from nodus_tui.recording.lines import ACTED, BATCH, LOST, SNAPSHOT, without_values
from nodus_tui.wrapped.passing import PassingBackend

Answer = TypeVar("Answer")


class RecordingBackend(PassingBackend):
    """Everything as the inner backend answers it, and a line of the file for each answer that is new."""

    def __init__(self, inner: Backend, file: RecordingFile) -> None:
        super().__init__(inner)
        self.file = file
        self._cursor = -1
        """Up to where the stream is recorded; -1 before the first snapshot."""
        self._answers: dict[str, bytes] = {}
        """A digest of the last answer to each question: one that reads the same is not written again."""

    def words(self) -> str:
        """How the recording stands, for a status line."""
        size = self.file.size
        return self.file.problem or f"recording, {f'{size / 1_048_576:.1f} MiB' if size >= 1_048_576 else f'{size // 1024} KiB'}"

    def _note(self, what: str, asked: dict[str, JsonValue], part: str, answer: JsonValue) -> None:
        question = json.dumps([what, asked], sort_keys=True)
        digest = hashlib.blake2b(json.dumps([part, answer], sort_keys=True).encode(), digest_size=16).digest()
        if self._answers.get(question) != digest:
            self._answers[question] = digest
            self.file.add(what, asked=asked, **{part: without_values(answer)})

    async def _asked(self, what: str, asked: dict[str, JsonValue], call: Awaitable[Answer]) -> Answer:
        """The answer of a call, written down; a refusal is one too."""
        try:
            answer = await call
        except NodusError as error:
            self._note(what, asked, "problem", error.problem().to_document())
            raise
        self._note(what, asked, "answer", _document(answer))
        return answer

    async def get(self, kind: str, name: str) -> Resource:
        """Pass it on, and write it down."""
        return await self._asked("get", {"kind": kind, "name": name}, self.inner.get(kind, name))

    async def list(self, kind: str, query: Query | None = None) -> Page:
        """Pass it on, and write it down."""
        return await self._asked("list", {"kind": kind, "query": (query or Query()).to_document()}, self.inner.list(kind, query))

    async def results(self, group: str) -> GroupResults:
        """Pass it on, and write it down."""
        return await self._asked("results", {"group": group}, self.inner.results(group))

    async def sweep_results(self, sweep: str) -> SweepResults:
        """Pass it on, and write it down."""
        return await self._asked("sweep_results", {"sweep": sweep}, self.inner.sweep_results(sweep))

    async def transcript(self, run: str, *, from_turn: int = 0) -> Transcript:
        """Ask for the whole, and write that down: whoever replays may begin at any place."""
        whole = await self._asked("transcript", {"run": run}, self.inner.transcript(run))
        return whole.from_turn(from_turn)

    async def info(self, *, probe: bool = False) -> BackendInfo:
        """Pass it on, and write it down; whoever looks is told that they are recorded."""
        told = await self._asked("info", {}, self.inner.info(probe=probe))
        note = self.file.problem or f"everything that is shown here is recorded to {self.file.path}, conversations that are opened included"
        return told.model_copy(update={"notes": (*told.notes, note)})

    async def gpus(self, *, history: bool = False, rates: bool = True) -> HardwareView:
        """Pass it on; of commands the program is written down and no argument."""
        view = await self.inner.gpus(history=history, rates=rates)
        self._note("gpus", {"history": history}, "answer", without_arguments(view).to_document())
        return view

    async def sandboxes(self) -> tuple[SandboxFact, ...]:
        """Pass it on, and write it down."""
        return await self._asked("sandboxes", {}, self.inner.sandboxes())

    async def files(self, run: str) -> tuple[FileEntry, ...]:
        """Pass it on, and write it down: names and sizes, no contents."""
        return await self._asked("files", {"run": run}, self.inner.files(run))

    async def job_files(self, job: str) -> tuple[FileEntry, ...]:
        """Pass it on, and write it down: names and sizes, no contents."""
        return await self._asked("job_files", {"job": job}, self.inner.job_files(job))

    async def sandbox_files(self, sandbox: str) -> tuple[FileEntry, ...]:
        """Pass it on, and write it down: names and sizes, no contents."""
        return await self._asked("sandbox_files", {"sandbox": sandbox}, self.inner.sandbox_files(sandbox))

    async def job_log(self, job: str, *, after: int = 0, limit: int = 65_536, wait_seconds: float = 0) -> JobLog:
        """Pass it on, and write it down."""
        call = self.inner.job_log(job, after=after, limit=limit, wait_seconds=wait_seconds)
        return await self._asked("job_log", {"job": job, "after": after}, call)

    async def environment_tasks(self, reference: str, *, split: str = "test", seed: int = 0, after: int = 0, limit: int = 50) -> TaskPage:
        """Pass it on, and write it down."""
        asked: dict[str, JsonValue] = {"reference": reference, "split": split, "seed": seed, "after": after, "limit": limit}
        call = self.inner.environment_tasks(reference, split=split, seed=seed, after=after, limit=limit)
        return await self._asked("environment_tasks", asked, call)

    async def act(self, action: Action) -> ActionOutcome:
        """Pass it on, and write down what was done."""
        asked = action.to_document()
        try:
            outcome = await self.inner.act(action)
        except NodusError as error:
            self.file.add(ACTED, asked=asked, problem=error.problem().to_document())
            raise
        self.file.add(ACTED, asked=asked, answer=outcome.to_document())
        return outcome

    async def apply(self, bundle: SpecBundle, *, dry_run: bool = False, author: str = "", request_id: str = "") -> ApplyOutcome:
        """Pass it on; written down is what was made, by its names. The stream tells the rest."""
        outcome = await self.inner.apply(bundle, dry_run=dry_run, author=author, request_id=request_id)
        if not dry_run:
            self.file.add(ACTED, asked={"action": "apply", "author": author}, answer=outcome.to_document())
        return outcome

    async def snapshot(self, *, runs_of: str | None = None) -> Snapshot:
        """Pass it on. One of the whole workspace is written down with the runs of all groups, so that each can be opened afterwards."""
        if runs_of is not None and self._cursor >= 0:
            # What it holds follows from the snapshot and the batches that are written down.
            return await self.inner.snapshot(runs_of=runs_of)
        whole = await self.inner.snapshot(runs_of="")
        self._cursor = whole.cursor
        self.file.add(SNAPSHOT, answer=without_values(whole.to_document()))
        runs = tuple(run for run in whole.runs if runs_of is not None and runs_of in ("", run.spec.group))
        return whole.model_copy(update={"runs": runs})

    def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
        """Pass it on, and write down what no earlier line has."""
        return self._watched(after)

    async def _watched(self, after: int) -> AsyncGenerator[EventBatch, None]:
        try:
            # A stream may be a generator; then it is closed here and now, not when memory is tidied.
            async with aclosing(cast("Any", self.inner.watch(after=after))) as batches:
                async for batch in batches:
                    self._note_batch(batch)
                    yield batch
        except NodusError as error:
            self.file.add(LOST, problem=error.problem().to_document())
            raise

    def _note_batch(self, batch: EventBatch) -> None:
        events = tuple(event for event in batch.events if event.cursor > self._cursor)
        if events:
            self.file.add(BATCH, answer=without_values(batch.model_copy(update={"events": events}).to_document()))
        self._cursor = max(self._cursor, batch.cursor)

    async def aclose(self) -> None:
        """End the recording, and close the inner backend."""
        self.file.close()
        await self.inner.aclose()


class LinkedRecordingBackend(RecordingBackend):
    """The same around a backend in another process."""

    @property
    def link(self) -> LinkState:
        """How the inner one's way stands."""
        if not isinstance(self.inner, Linked):
            raise TypeError("only a backend in another process has a link")
        return self.inner.link


def recording(inner: Backend, file: RecordingFile) -> RecordingBackend:
    """The backend whose answers go into the file; it has a link where the inner one has."""
    kind = LinkedRecordingBackend if isinstance(inner, Linked) else RecordingBackend
    return kind(inner, file)


def _document(answer: object) -> JsonValue:
    if isinstance(answer, Page):
        # Each by its own kind: of the page's own type are only the fields that all kinds have.
        return {"items": [each.to_document() for each in answer.items], "nextAfter": answer.next_after}
    if isinstance(answer, ContractModel):
        return answer.to_document()
    if isinstance(answer, tuple):
        return [_document(each) for each in answer]
    raise TypeError(f"{type(answer).__name__} is no answer of a backend")
