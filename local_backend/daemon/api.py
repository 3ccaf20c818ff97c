"""The routes of contract/http.py over a Backend. What stands before them (tokens, limits) is the gate's."""

import time
from collections.abc import Callable
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any, get_origin

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException

from local_backend.daemon.access import AccessPolicy
from local_backend.daemon.answers import answer, caller_of, json_answer, streamer_of
from local_backend.daemon.bodies import BodyReader
from local_backend.daemon.documents import AnyResource, Estimates, ResourceList, list_text, page_text, snapshot_text
from local_backend.daemon.exec_routes import exec_routes
from local_backend.daemon.gate import Gate
from local_backend.daemon.hardware_routes import hardware_routes
from local_backend.daemon.job_routes import job_routes
from local_backend.daemon.openapi import ACTION_BODY, SPECS_BODY, describe
from local_backend.daemon.presence import Presence
from local_backend.daemon.problems import (
    RefusalError,
    error_response,
    framework_problem,
    internal_failure,
    invalid_parameters,
    parameter_faults,
    problem_response,
    refusal,
)
from local_backend.daemon.sandbox_routes import sandbox_routes
from local_backend.daemon.scheduler_routes import scheduler_routes
from local_backend.daemon.streaming import EventStream
from nodus_tui import __version__
from nodus_tui.contract import backend as contract
from nodus_tui.contract.actions import Action
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.events import Snapshot
from nodus_tui.contract.http import IDEMPOTENCY_HEADER, LAST_EVENT_HEADER, PREFIX
from nodus_tui.contract.outcomes import ActionOutcome, ApplyOutcome
from nodus_tui.contract.resources.agent_run import Transcript
from nodus_tui.contract.results import GroupResults
from nodus_tui.contract.spec_loading.checking import check_specs
from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.sweep_results import SweepResults
from nodus_tui.contract.wording import quoted

_LARGEST_CURSOR = 2**63 - 1
_ACTION: TypeAdapter[Action] = TypeAdapter(Action)

_FromTurn = Annotated[int, Query(alias="fromTurn", ge=0, le=_LARGEST_CURSOR)]
_Cursor = Annotated[int, Query(ge=0, le=_LARGEST_CURSOR)]
_Minutes = Annotated[Decimal, Query(alias="minutesPerCase", gt=0, le=1_000_000, allow_inf_nan=False)]
_Grace = Annotated[float, Query(alias="graceSeconds", ge=0, le=3600, allow_inf_nan=False)]
_Groups = Annotated[tuple[str, ...], Query(alias="group", max_length=1000)]
_Key = Annotated[str, Header(alias=IDEMPOTENCY_HEADER, max_length=200, pattern=r"^[!-~]*$")]


def create_app(
    backend: Backend,
    *,
    policy: AccessPolicy,
    presence: Presence | None = None,
    clock: Callable[[], float] = time.monotonic,
    metrics: bool = False,
) -> FastAPI:
    """The application for one listener. `clock` is a steady one, in seconds; `presence` is shared by the listeners of one server."""
    presence = presence or Presence(clock)
    app = FastAPI(
        title="Nodus backend",
        version=__version__,
        description="Resources, actions and one ordered stream of events. Errors are problem details (RFC 9457).",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(_only_known_parameters)],
    )
    rooms = (_reading(backend), _watching(backend, policy, presence), _acting(backend, policy, presence))
    shared = (
        sandbox_routes(backend, limits=policy.limits, presence=presence),
        job_routes(backend, limits=policy.limits, presence=presence),
        exec_routes(backend, limits=policy.limits, presence=presence),
        scheduler_routes(backend, presence=presence),
    )
    for router in (*rooms, hardware_routes(backend, metrics=metrics), *shared):
        app.include_router(router, prefix=PREFIX)
    _answer_errors(app)
    document: dict[str, Any] = {}

    def described() -> dict[str, Any]:
        if not document:
            document.update(describe(app, with_tokens=policy.identify is not None))
        return document

    app.openapi = described  # type: ignore[method-assign]  # FastAPI's own way to change the document
    app.add_middleware(Gate, policy=policy, presence=presence, clock=clock)
    return app


def _reading(backend: Backend) -> APIRouter:
    """Everything that only looks."""
    router = APIRouter()

    @router.get("/info", response_model=BackendInfo)
    async def info(request: Request, probe: bool = False) -> Response:  # noqa: FBT001, FBT002 - a parameter of the query
        """What this backend is, and what the one who asks may do; with `probe`, the engine for sandboxes is tried with real ones."""
        found = await backend.info(probe=probe)
        return answer(found.model_copy(update={"role": caller_of(request).role.value}))

    @router.get("/resources/{kind}", response_model=ResourceList)
    async def list_resources(
        kind: str,
        group: str = "",
        project: str = "",
        current_only: Annotated[bool, Query(alias="currentOnly")] = True,  # noqa: FBT002 - a parameter of the query
        unfinished: bool = False,  # noqa: FBT001, FBT002 - a parameter of the query
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
        after: str = "",
    ) -> Response:
        """Resources of a kind, in order of creation."""
        query = contract.Query(group=group, project=project, current_only=current_only, unfinished=unfinished, limit=limit, after=after)
        return json_answer(await page_text(await backend.list(kind, query)))

    @router.get("/resources/{kind}/{name:path}", response_model=AnyResource)
    async def get_resource(kind: str, name: str) -> Response:
        """One resource with its status."""
        return answer(await backend.get(kind, name))

    @router.get("/groups/{name}/results", response_model=GroupResults)
    async def results(name: str) -> Response:
        """The results of a group as they stand."""
        return answer(await backend.results(name))

    @router.get("/sweeps/{name}/results", response_model=SweepResults)
    async def sweep_results(name: str) -> Response:
        """A sweep's cells and what they have come to."""
        return answer(await backend.sweep_results(name))

    @router.get("/runs/{name}/transcript", response_model=Transcript)
    async def transcript(name: str, from_turn: _FromTurn = 0) -> Response:
        """A run's conversation, from this index of its turns on, and all its calls."""
        return answer(await backend.transcript(name, from_turn=from_turn))

    @router.get("/snapshot", response_model=Snapshot)
    async def snapshot(runs_of: Annotated[str | None, Query(alias="runsOf")] = None) -> Response:
        """All groups, jobs, budgets and sweeps, and the runs of one group; of every group with an empty `runsOf`, of none without it."""
        return json_answer(await snapshot_text(await backend.snapshot(runs_of=runs_of)))

    return router


def _watching(backend: Backend, policy: AccessPolicy, presence: Presence) -> APIRouter:
    """The event stream."""
    router = APIRouter()

    @router.get("/watch", status_code=HTTPStatus.OK, response_class=EventStream)
    async def watch(
        request: Request,
        after: _Cursor = 0,
        last_event: Annotated[int | None, Header(alias=LAST_EVENT_HEADER, ge=0, le=_LARGEST_CURSOR)] = None,
    ) -> Response:
        """Everything after a cursor, for ever, as server-sent events."""
        limits = policy.limits
        caller = streamer_of(request, presence, limits)
        start = after if last_event is None else last_event
        return EventStream(backend.watch(after=start), presence=presence, caller=caller, stall_seconds=limits.stall_seconds)

    return router


def _acting(backend: Backend, policy: AccessPolicy, presence: Presence) -> APIRouter:
    """What takes specs, and what changes something."""
    router = APIRouter()
    bodies = BodyReader(reads_files=policy.reads_files)

    def author(request: Request, said: str) -> str:
        # Over TCP the token says who acts; over the unix socket it is the user's own program that speaks.
        name = caller_of(request).name
        return name if policy.identify is not None else said or name

    @router.post("/apply", response_model=ApplyOutcome, openapi_extra=SPECS_BODY)
    async def apply(
        request: Request,
        dry_run: Annotated[bool, Query(alias="dryRun")] = False,  # noqa: FBT002 - a parameter of the query
        said_author: Annotated[str, Query(alias="author", max_length=200)] = "",
        key: _Key = "",
    ) -> Response:
        """Create or change all resources of the documents, or none; with `dryRun`, say what would be done."""
        read = await bodies.to_apply(await request.body(), request.headers.get("content-type", ""))
        bundle = await check_specs(backend, read)
        work = backend.apply(bundle, dry_run=dry_run, author=author(request, said_author), request_id=key)
        return answer(await presence.whole(work))

    @router.post("/estimate", response_model=Estimates, openapi_extra=SPECS_BODY)
    async def estimate(request: Request, minutes_per_case: _Minutes = Decimal(10)) -> Response:
        """What the documents would cost at most, and how long they would take."""
        read = await bodies.to_estimate(await request.body(), request.headers.get("content-type", ""))
        bundle = await check_specs(backend, read)
        made = await backend.estimate(bundle, minutes_per_case=minutes_per_case)
        return json_answer(f'{{"estimates":{await list_text(made)}}}')

    @router.post("/actions", response_model=ActionOutcome, openapi_extra=ACTION_BODY)
    async def act(request: Request, key: _Key = "") -> Response:
        """Do something to a run or a group; the answer comes when it is durable."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            detail = "an action is sent as JSON: Content-Type: application/json"
            raise refusal(ErrorCode.INVALID_REQUEST, detail, status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        action = _action(await request.body())
        if key and action.request_id not in {"", key}:
            raise refusal(ErrorCode.INVALID_REQUEST, f"{IDEMPOTENCY_HEADER} and the action's requestId differ; give one of them")
        signed = {"author": author(request, action.author), "request_id": key or action.request_id}
        return answer(await presence.whole(backend.act(action.model_copy(update=signed))))

    @router.post("/stop-work", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
    async def stop_work(grace_seconds: _Grace = 10, groups: _Groups = ()) -> Response:
        """Let calls in flight end within the grace; the groups, or all that are at work, are left interrupted. Everything is kept."""
        await presence.whole(backend.stop_work(grace_seconds=grace_seconds, groups=groups))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def _action(body: bytes) -> Action:
    try:
        return _ACTION.validate_json(body)
    except ValidationError as error:
        raise invalid_parameters(parameter_faults(error.errors(include_url=False, include_input=False, include_context=False))) from None


def _only_known_parameters(request: Request) -> None:
    """A misspelt `dryRun` must not apply in earnest: whatever the route does not know is refused, and so is what stands twice."""
    route = request.scope.get("route")
    dependant = getattr(route, "dependant", None)
    parameters = dependant.query_params if dependant else []
    known = [parameter.alias for parameter in parameters]
    once = [parameter.alias for parameter in parameters if get_origin(parameter.field_info.annotation) is not tuple]
    names = [name for name, _ in request.query_params.multi_items()]
    faults = [
        Fault(message=f"there is no parameter {quoted(name)}", path=f"query.{name[:80]}", suggestion=nearest(name, known))
        for name in names
        if name not in known
    ]
    faults += [Fault(message=f"the parameter {name} stands twice", path=f"query.{name}") for name in once if names.count(name) > 1]
    if faults:
        raise invalid_parameters(tuple(faults))


def _answer_errors(app: FastAPI) -> None:
    """Every error leaves as a problem."""

    async def of_backend(_: Request, error: Exception) -> Response:
        return error_response(error) if isinstance(error, NodusError) else internal_failure().response()

    async def of_gate(_: Request, error: Exception) -> Response:
        return error.response() if isinstance(error, RefusalError) else internal_failure().response()

    async def of_parameters(_: Request, error: Exception) -> Response:
        found = error.errors() if isinstance(error, RequestValidationError) else ()
        return invalid_parameters(parameter_faults(found)).response()

    async def of_router(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
        headers = error.headers if isinstance(error, HTTPException) else None
        return problem_response(framework_problem(status, request.method, request.url.path), headers)

    async def of_ours(_: Request, __: Exception) -> Response:
        return internal_failure().response()

    app.add_exception_handler(NodusError, of_backend)
    app.add_exception_handler(RefusalError, of_gate)
    app.add_exception_handler(RequestValidationError, of_parameters)
    app.add_exception_handler(HTTPException, of_router)
    app.add_exception_handler(Exception, of_ours)
