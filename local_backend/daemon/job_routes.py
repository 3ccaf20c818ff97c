"""The routes to jobs: what they write, and the outputs that were kept of them."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from local_backend.daemon.access import Limits
from local_backend.daemon.answers import answer, json_answer, streamer_of
from local_backend.daemon.documents import FileList, list_text
from local_backend.daemon.openapi import FILE_ANSWER
from local_backend.daemon.pieces import FileBytes, begun
from local_backend.daemon.presence import Presence
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.resources.job import JobLog

_LARGEST_PLACE = 2**63 - 1

_Path = Annotated[str, Query(min_length=1, max_length=4096)]
_After = Annotated[int, Query(ge=-_LARGEST_PLACE, le=_LARGEST_PLACE)]
_Limit = Annotated[int, Query(ge=4, le=1 << 20)]
_Wait = Annotated[float, Query(alias="waitSeconds", ge=0, le=20, allow_inf_nan=False)]


def job_routes(backend: Backend, *, limits: Limits, presence: Presence) -> APIRouter:
    """The routes over one backend."""
    router = APIRouter()

    @router.get("/jobs/{name}/log", response_model=JobLog)
    async def log(name: str, after: _After = 0, limit: _Limit = 65_536, wait_seconds: _Wait = 0) -> Response:
        """What a job wrote, from a place on; a negative one counts from the end. It is foreign text."""
        return answer(await backend.job_log(name, after=after, limit=limit, wait_seconds=wait_seconds))

    @router.get("/jobs/{name}/files", response_model=FileList)
    async def files(name: str) -> Response:
        """The outputs of a job that has ended."""
        return json_answer(f'{{"files":{await list_text(await backend.job_files(name))}}}')

    @router.get("/jobs/{name}/files/content", status_code=HTTPStatus.OK, response_class=FileBytes, responses=FILE_ANSWER)
    async def content(request: Request, name: str, path: _Path) -> Response:
        """The bytes of one of these files: to be saved, not shown."""
        caller = streamer_of(request, presence, limits)
        pieces = await begun(backend.read_job_file(name, path))
        return FileBytes(pieces, presence=presence, caller=caller, stall_seconds=limits.stall_seconds)

    return router
