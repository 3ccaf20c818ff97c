"""The routes to the server's machine: its accelerators, who uses them, the machine around them; and all in figures, for Prometheus."""

import asyncio
from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from local_backend.daemon.access import Role
from local_backend.daemon.answers import answer, caller_of
from local_backend.daemon.metrics import MEDIA_TYPE, metrics_text
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.hardware_view import HardwareView, without_arguments


def hardware_routes(backend: Backend, *, metrics: bool = False) -> APIRouter:
    """The routes over one backend; with `metrics` also the one that Prometheus reads."""
    router = APIRouter()
    if metrics:

        @router.get("/metrics", status_code=HTTPStatus.OK, response_class=PlainTextResponse)
        async def tell_metrics() -> Response:
            """Devices, the machine, sandboxes, groups, jobs and budgets as Prometheus reads them (text format 0.0.4)."""
            view, snapshot, info = await asyncio.gather(backend.gpus(), backend.snapshot(), backend.info())
            text = metrics_text(view, snapshot, info.sandboxes_running)
            return Response(text.encode("utf-8", "replace"), media_type=MEDIA_TYPE)

    @router.get("/gpus", response_model=HardwareView)
    async def gpus(request: Request, history: bool = False, rates: bool = True) -> Response:  # noqa: FBT001, FBT002 - of the query
        """The server's machine as it is now. A viewer sees of each command its program only: arguments may hold what is not for all."""
        view = await backend.gpus(history=history, rates=rates)
        return answer(view if caller_of(request).role is Role.OPERATOR else without_arguments(view))

    return router
