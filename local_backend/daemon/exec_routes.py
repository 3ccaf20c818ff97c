"""The routes to commands in Sandboxes, and to their files. Commands are an operator's alone (`access.needed_role`)."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import ValidationError

from local_backend.daemon.access import Limits
from local_backend.daemon.answers import answer, json_answer, streamer_of
from local_backend.daemon.documents import FileList, list_text
from local_backend.daemon.openapi import EXEC_ANSWER, EXEC_BODY, FILE_ANSWER, INPUT_BODY
from local_backend.daemon.pieces import ExecLines, FileBytes, begun
from local_backend.daemon.presence import Presence
from local_backend.daemon.problems import invalid_parameters, parameter_faults, refusal
from local_backend.daemon.streaming import with_pauses
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode
from nodus_tui.contract.http import BYTES_TYPE, IDEMPOTENCY_HEADER
from nodus_tui.contract.portions import OUTPUT_SECONDS
from nodus_tui.contract.sandbox_exec import ExecRequest, ExecSession, ExecSignal, ExecTaken, TerminalShape

_BEAT_SECONDS = 2.0
"""An answer with nothing in it begins after so long, so that the client knows that it was heard."""

_LARGEST_PLACE = 2**63 - 1

_Path = Annotated[str, Query(min_length=1, max_length=4096)]
_Place = Annotated[int, Query(ge=0, le=_LARGEST_PLACE)]
_Wait = Annotated[float, Query(alias="waitSeconds", ge=0, le=OUTPUT_SECONDS, allow_inf_nan=False)]
_Characters = Annotated[int, Query(ge=1, le=10_000)]
_Key = Annotated[str, Header(alias=IDEMPOTENCY_HEADER, max_length=200, pattern=r"^[!-~]*$")]


def exec_routes(backend: Backend, *, limits: Limits, presence: Presence) -> APIRouter:
    """The routes over one backend."""
    router = APIRouter()

    @router.post("/sandboxes/{name}/exec", response_model=ExecSession, openapi_extra=EXEC_BODY)
    async def start(request: Request, name: str, key: _Key = "") -> Response:
        """Start a command in a Sandbox that runs."""
        _expect(request, "application/json", "a command is sent as JSON")
        try:
            asked = ExecRequest.model_validate_json(await request.body())
        except ValidationError as error:
            faults = parameter_faults(error.errors(include_url=False, include_input=False, include_context=False))
            raise invalid_parameters(faults) from None
        return answer(await presence.whole(backend.exec_start(name, asked, request_id=key)))

    @router.get("/sandboxes/{name}/exec/{session}/output", status_code=HTTPStatus.OK, response_class=ExecLines, responses=EXEC_ANSWER)
    async def output(request: Request, name: str, session: str, after: _Place = 0, wait_seconds: _Wait = OUTPUT_SECONDS) -> Response:
        """What a command writes from a place on, as it comes. It is foreign: a terminal would obey it."""
        caller = streamer_of(request, presence, limits)
        pieces = with_pauses(backend.exec_output(name, session, after=after, wait_seconds=wait_seconds), _BEAT_SECONDS)
        return ExecLines(await begun(pieces), presence=presence, caller=caller, stall_seconds=limits.stall_seconds)

    @router.post("/sandboxes/{name}/exec/{session}/input", response_model=ExecTaken, openapi_extra=INPUT_BODY)
    async def take_input(
        request: Request,
        name: str,
        session: str,
        offset: _Place = 0,
        end: bool = False,  # noqa: FBT001, FBT002 - a parameter of the query
    ) -> Response:
        """Feed a command, or type on its terminal, from a place on; with `end` nothing follows."""
        _expect(request, BYTES_TYPE, "input is sent as its bytes")
        return answer(await backend.exec_input(name, session, await request.body(), offset=offset, end=end))

    @router.post("/sandboxes/{name}/exec/{session}/terminal", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
    async def resize(name: str, session: str, rows: _Characters, columns: _Characters) -> Response:
        """A command's terminal has another size."""
        await backend.exec_resize(name, session, TerminalShape(rows=rows, columns=columns))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.post("/sandboxes/{name}/exec/{session}/signal", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
    async def send_signal(name: str, session: str, signal: ExecSignal) -> Response:
        """Send a signal to a command and all that it started in its session."""
        await backend.exec_signal(name, session, signal)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.get("/sandboxes/{name}/files", response_model=FileList)
    async def files(name: str) -> Response:
        """The files in a Sandbox's work folder: as they are while it runs, as they were kept afterwards."""
        return json_answer(f'{{"files":{await list_text(await backend.sandbox_files(name))}}}')

    @router.get("/sandboxes/{name}/files/content", status_code=HTTPStatus.OK, response_class=FileBytes, responses=FILE_ANSWER)
    async def content(request: Request, name: str, path: _Path) -> Response:
        """The bytes of one of these files. They come from a sandbox: to be saved, not shown."""
        caller = streamer_of(request, presence, limits)
        pieces = await begun(backend.read_sandbox_file(name, path))
        return FileBytes(pieces, presence=presence, caller=caller, stall_seconds=limits.stall_seconds)

    return router


def _expect(request: Request, media: str, what: str) -> None:
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said != media:
        raise refusal(ErrorCode.INVALID_REQUEST, f"{what}: Content-Type: {media}", status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
