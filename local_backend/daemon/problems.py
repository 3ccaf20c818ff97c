"""Errors as answers: problem details for what a backend refuses, for what the framework refuses, and for what the gate refuses."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from local_backend.daemon.access import without_tokens
from nodus_tui.contract.errors import HTTP_STATUS, ErrorCode, Fault, NodusError, Problem
from nodus_tui.contract.http import PROBLEM_TYPE
from nodus_tui.contract.wording import escaped

_LONGEST_DETAIL = 2000
"""Letters of a sentence that is sent; what is cut repeats what the client has sent itself."""


class RefusalError(Exception):
    """A request that is not let through: its problem, and the headers that go with it."""

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """The answer."""
        return problem_response(self.problem, self.headers)


def refusal(
    code: ErrorCode, detail: str, *, status: int = 0, faults: tuple[Fault, ...] = (), headers: Mapping[str, str] | None = None
) -> RefusalError:
    """A refusal with a code's own status, or with another one."""
    status = status or HTTP_STATUS[code]
    return RefusalError(Problem(title=_title(code, status), status=status, code=code, detail=detail, faults=faults), headers)


def _title(code: ErrorCode, status: int) -> str:
    return code.value if status == HTTP_STATUS[code] else HTTPStatus(status).phrase


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as an answer."""
    detail = without_tokens(problem.detail)
    if len(detail) > _LONGEST_DETAIL:
        detail = f"{detail[:_LONGEST_DETAIL]}…"
    problem = problem.model_copy(update={"detail": detail})
    return Response(
        problem.model_dump_json(by_alias=True),
        status_code=problem.status,
        headers=dict(headers or {}),
        media_type=PROBLEM_TYPE,
    )


def error_response(error: NodusError) -> Response:
    """What a backend refuses."""
    return problem_response(error.problem())


def framework_problem(status: int, method: str, path: str) -> Problem:
    """What the router refuses: a path that nothing has, or a method that a path does not take."""
    shown = escaped(path[:200])
    if status == HTTPStatus.NOT_FOUND:
        code, detail = ErrorCode.NOT_FOUND, f"there is nothing at {shown}"
    elif status == HTTPStatus.METHOD_NOT_ALLOWED:
        code, detail = ErrorCode.INVALID_REQUEST, f"{shown} does not take {escaped(method[:20])}"
    else:
        code, detail = ErrorCode.INVALID_REQUEST, HTTPStatus(status).phrase
    return Problem(title=HTTPStatus(status).phrase, status=status, code=code, detail=detail)


def parameter_faults(errors: Iterable[Mapping[str, Any]], where: str = "") -> tuple[Fault, ...]:
    """The faults of a request's parameters or body, as pydantic tells them."""
    return tuple(
        Fault(
            message=escaped(str(error["msg"]))[:_LONGEST_DETAIL],
            path=escaped(".".join(str(part) for part in (where, *error["loc"]) if part != ""))[:200],
        )
        for error in errors
    )


def invalid_parameters(faults: tuple[Fault, ...]) -> RefusalError:
    """The refusal of a request whose parameters or body have faults."""
    count = len(faults)
    detail = f"{count} fault{'s' if count != 1 else ''} in the request: {'; '.join(fault.sentence() for fault in faults)}"
    return refusal(ErrorCode.INVALID_REQUEST, detail, status=HTTPStatus.UNPROCESSABLE_ENTITY, faults=faults)


def internal_failure() -> RefusalError:
    """What a client is told of a fault of this program."""
    return refusal(ErrorCode.INTERNAL, "the server failed; its log has more")
