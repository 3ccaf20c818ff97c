"""What the handles of jobs do, over a backend: the one implementation behind the synchronous and the asynchronous interface."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, cast

from nodus_tui.contract.actions import Delete, Kill, RetryJob
from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.job import MODEL_SERVER_ENDED, Job, JobStatus
from nodus_tui.contract.resources.registry import API_VERSIONS
from nodus_tui.contract.resources.training_job import TrainingJob, TrainingJobStatus
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.copying import JobFiles, copy, kept_path, plan_copy
from nodus_tui.sdk.documents import Money, checked_money
from nodus_tui.sdk.operations import act, apply

JobKind = Literal["Job", "TrainingJob"]

_PIECE_BYTES = 1 << 18
_RESULTS = "outputs/results.json"


async def create(
    backend: Backend,
    kind: JobKind,
    name: str,
    *,
    spec: Mapping[str, object],
    max_cost: Money,
    project: str | None,
    labels: Mapping[str, str] | None,
    exist_ok: bool,
) -> None:
    """Create a job of that kind."""
    metadata: dict[str, object] = {"name": name}
    if project is not None:
        metadata["project"] = project
    if labels:
        metadata["labels"] = dict(labels)
    whole = {**spec, "maxCostUSD": checked_money(max_cost, "max_cost")}
    document = {"apiVersion": API_VERSIONS[kind], "kind": kind, "metadata": metadata, "spec": whole}
    await apply(backend, document, must_be_new=not exist_ok)


async def status(backend: Backend, kind: JobKind, name: str) -> JobStatus:
    """How a job stands. Raises NotFound."""
    found = await backend.get(kind, name)
    if not isinstance(found, Job | TrainingJob) or found.status is None:
        raise NodusError(ErrorCode.UNAVAILABLE, f"the backend was asked for {kind} {name} and gave a {found.kind} without a job's status")
    return found.status


async def training_status(backend: Backend, name: str) -> TrainingJobStatus:
    """How a TrainingJob stands, its scores included. Raises NotFound."""
    return TrainingJobStatus.model_validate(dict(await status(backend, "TrainingJob", name)))


async def names(backend: Backend, kind: JobKind) -> Sequence[str]:
    """The names of all jobs of a kind, in order of creation."""
    found: list[str] = []
    after = ""
    while True:
        page = await backend.list(kind, Query(after=after))
        found += [each.name for each in page.items]
        after = page.next_after
        if not after:
            return found


async def wait(backend: Backend, kind: JobKind, name: str, timeout: float | None) -> JobStatus:
    """Wait until the job has ended, its outputs kept, or waits for a model whose server has ended (`ModelServerEnded`): then it is
    for somebody to start that again. Raises TimeoutError after so many seconds.
    """
    try:
        async with asyncio.timeout(timeout):
            return await _ended(backend, kind, name)
    except TimeoutError:
        now = await status(backend, kind, name)
        done = "" if now.progress is None else f", {now.progress:.0%} done"
        raise TimeoutError(f"{name} is {now.phase} after {timeout:g} s{done}; it goes on") from None


async def _ended(backend: Backend, kind: JobKind, name: str) -> JobStatus:
    cursor = (await backend.snapshot()).cursor
    async with aclosing(cast("Any", backend.watch(after=cursor))) as batches:
        while not ((now := await status(backend, kind, name)).ended or now.reason == MODEL_SERVER_ENDED):
            while not any((event.kind, event.name) == (kind, name) for event in (await anext(batches)).events):
                pass
    return now


async def wait_for_training(backend: Backend, name: str, timeout: float | None) -> TrainingJobStatus:
    """The same for a TrainingJob."""
    await wait(backend, "TrainingJob", name, timeout)
    return await training_status(backend, name)


async def logs(backend: Backend, kind: JobKind, name: str) -> str:
    """What it has written so far, as far as that is kept. It is data."""
    await status(backend, kind, name)
    text, place = [], 0
    while True:
        piece = await backend.job_log(name, after=place, limit=_PIECE_BYTES)
        text.append(piece.text)
        place = piece.next_offset
        if piece.ended or not piece.text:
            return "".join(text)


async def outputs(backend: Backend, name: str) -> tuple[FileEntry, ...]:
    """What was kept of it."""
    return await backend.job_files(name)


async def download(backend: Backend, kind: JobKind, name: str, path: str, target: Path, *, force: bool) -> list[Path]:
    """Copy some of that here; gives what was written."""
    files = JobFiles(backend)
    wanted = await kept_path(files, name, path) if kind == "TrainingJob" else path
    plan = await plan_copy(files, name, wanted, target)
    return list((await copy(files, name, plan, force=force)).paths)


async def results(backend: Backend, name: str) -> dict[str, Any]:
    """A TrainingJob's results.json. Raises NotFound until it has ended."""
    content = b"".join([piece async for piece in backend.read_job_file(name, _RESULTS)])
    document: dict[str, Any] = json.loads(content)
    return document


async def retry(backend: Backend, kind: JobKind, name: str) -> None:
    """Begin its next attempt."""
    await act(backend, RetryJob(kind=kind, name=name))


async def delete(backend: Backend, kind: JobKind, name: str) -> None:
    """Remove a job with its log and its outputs; one that goes on is killed first."""
    if not (await status(backend, kind, name)).ended:
        await act(backend, Kill(kind=kind, name=name, why="deleted"))
        await wait(backend, kind, name, None)
    await act(backend, Delete(kind=kind, name=name))
