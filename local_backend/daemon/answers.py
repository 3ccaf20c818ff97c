"""What the routes share: who asks, and values as answers."""

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from local_backend.daemon.access import Caller, Limits
from local_backend.daemon.gate import CALLER
from local_backend.daemon.presence import Presence
from local_backend.daemon.problems import refusal
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.errors import ErrorCode


def caller_of(request: Request) -> Caller:
    """Who asks, as the gate found out."""
    caller = request.scope["state"][CALLER]
    if not isinstance(caller, Caller):
        raise TypeError("the gate let a request through without a caller")
    return caller


def streamer_of(request: Request, presence: Presence, limits: Limits) -> str:
    """The name of who asks for an answer that comes in pieces. Raises RefusalError when so many of theirs are open as may be."""
    name = caller_of(request).name
    if presence.streams_of(name) >= limits.streams:
        detail = f"{name} has {limits.streams} streams open, which is as many as may be: close one"
        raise refusal(ErrorCode.RATE_LIMITED, detail, headers={"Retry-After": "5"})
    return name


def answer(value: ContractModel) -> Response:
    """A value of the contract."""
    return json_answer(value.model_dump_json(by_alias=True))


def json_answer(text: str) -> Response:
    """Text that is JSON already."""
    return Response(text, media_type=JSONResponse.media_type)
