"""The routes to sandboxes: those that run, the files that agents made in them, and the gold check, which runs graders in them."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from local_backend.daemon.access import Limits
from local_backend.daemon.answers import answer, json_answer, streamer_of
from local_backend.daemon.documents import FileList, SandboxList, list_text
from local_backend.daemon.openapi import FILE_ANSWER, LINES_ANSWER
from local_backend.daemon.pieces import CaseLines, FileBytes, begun, with_heartbeats
from local_backend.daemon.presence import Presence
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.sandboxes import ReapOutcome

_LARGEST_SEED = 2_147_483_647

_Path = Annotated[str, Query(min_length=1, max_length=4096)]
_Reference = Annotated[str, Query(min_length=1, max_length=300)]
_Split = Annotated[str | None, Query(max_length=100)]
_Tasks = Annotated[int | None, Query(ge=1, le=1_000_000)]
_Seed = Annotated[int, Query(ge=0, le=_LARGEST_SEED)]


def sandbox_routes(backend: Backend, *, limits: Limits, presence: Presence) -> APIRouter:
    """The routes over one backend."""
    router = APIRouter()

    @router.get("/sandboxes", response_model=SandboxList)
    async def sandboxes() -> Response:
        """Every sandbox of this program on the server's machine, those of dead owners included."""
        return json_answer(f'{{"sandboxes":{await list_text(await backend.sandboxes())}}}')

    @router.post("/sandboxes/reap", response_model=ReapOutcome)
    async def reap() -> Response:
        """Remove the sandboxes whose owner is dead."""
        return answer(await presence.whole(backend.reap_sandboxes()))

    @router.get("/runs/{name}/files", response_model=FileList)
    async def files(name: str) -> Response:
        """The files in a run's work folder: as they are while its sandbox lives, as they were kept afterwards."""
        return json_answer(f'{{"files":{await list_text(await backend.files(name))}}}')

    @router.get("/runs/{name}/files/content", status_code=HTTPStatus.OK, response_class=FileBytes, responses=FILE_ANSWER)
    async def content(request: Request, name: str, path: _Path) -> Response:
        """The bytes of one of these files. They come from a sandbox: to be saved, not shown."""
        caller = streamer_of(request, presence, limits)
        pieces = await begun(backend.read_file(name, path))
        return FileBytes(pieces, presence=presence, caller=caller, stall_seconds=limits.stall_seconds)

    @router.post("/environments/check", status_code=HTTPStatus.OK, response_class=CaseLines, responses=LINES_ANSWER)
    async def check(request: Request, reference: _Reference, split: _Split = None, tasks: _Tasks = None, seed: _Seed = 0) -> Response:
        """The gold check: each task's reference solution and an empty answer through the grader, one line of JSON a task."""
        caller = streamer_of(request, presence, limits)
        cases = await begun(with_heartbeats(backend.check_environment(reference, split=split, tasks=tasks, seed=seed)))
        return CaseLines(cases, presence=presence, caller=caller, stall_seconds=limits.stall_seconds)

    return router
