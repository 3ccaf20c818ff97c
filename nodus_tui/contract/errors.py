"""The errors of the contract: stable codes, sentences for people, and RFC 9457 problem details for machines."""

from enum import StrEnum

from pydantic import Field, JsonValue

from nodus_tui.contract.base import ContractModel


class ErrorCode(StrEnum):
    """The stable name of what went wrong. Each has its HTTP status (`HTTP_STATUS`); InvalidRequest may have another one of 4xx."""

    INVALID_SPEC = "InvalidSpec"
    NOT_FOUND = "NotFound"
    CONFLICT = "Conflict"
    BUDGET_EXCEEDED = "BudgetExceeded"
    NOT_SUPPORTED = "NotSupported"
    """Valid, but this backend has no engine for it."""
    INVALID_ACTION = "InvalidAction"
    """The action does not fit the state that its target is in."""
    CONFIGURATION = "Configuration"
    """The configuration file, the workspace or an environment variable is not usable."""
    UNAVAILABLE = "Unavailable"
    """The backend, the disk or a server it needs does not answer."""
    INVALID_REQUEST = "InvalidRequest"
    """A request over HTTP that cannot be understood: its path, a parameter, a header, or its body's form."""
    UNAUTHORIZED = "Unauthorized"
    """No token, or one that is unknown or revoked."""
    FORBIDDEN = "Forbidden"
    """The token's role does not allow it, or the request came by a way that is not allowed."""
    RATE_LIMITED = "RateLimited"
    """Too many requests of one token; the answer says how long to wait."""
    INTERNAL = "Internal"
    """A fault of the program itself; its log has more."""


HTTP_STATUS: dict[ErrorCode, int] = {
    ErrorCode.INVALID_SPEC: 422,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.CONFLICT: 409,
    ErrorCode.BUDGET_EXCEEDED: 402,
    ErrorCode.NOT_SUPPORTED: 501,
    ErrorCode.INVALID_ACTION: 409,
    ErrorCode.CONFIGURATION: 500,
    ErrorCode.UNAVAILABLE: 503,
    ErrorCode.INVALID_REQUEST: 400,
    ErrorCode.UNAUTHORIZED: 401,
    ErrorCode.FORBIDDEN: 403,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.INTERNAL: 500,
}


class Fault(ContractModel):
    """One thing that is wrong in a spec: where it stands and what to do."""

    message: str
    """A whole sentence for the person who wrote the spec."""
    file: str = ""
    """The file's path as it was given; `<stdin>` for standard input."""
    document: int = 0
    """The document's place in its file, from 0."""
    line: int = 0
    """From 1; 0 when the fault has no place of its own."""
    column: int = 0
    """From 1; 0 when the fault has no place of its own."""
    path: str = ""
    """The field's path in the document: `spec.evaluation.tasks`, `spec.model.families[0]`."""
    suggestion: str = ""
    """The nearest known name, or the text that would be right; empty when there is none."""

    def sentence(self) -> str:
        """`file:line:column: path: message (did you mean "x"?)`, as compilers print it."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        hint = f' (did you mean "{self.suggestion}"?)' if self.suggestion else ""
        return ": ".join(part for part in (place, self.path, self.message + hint) if part)


class NodusError(Exception):
    """An error that a person or a program can act on.

    `code` is stable; `detail` is a sentence that says what happened, where, and what to do; `faults` lists every fault of a spec.
    """

    def __init__(self, code: ErrorCode, detail: str, faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.faults = faults

    def problem(self) -> "Problem":
        """This error as problem details."""
        return Problem(title=self.code.value, status=HTTP_STATUS[self.code], code=self.code, detail=self.detail, faults=self.faults)

    @classmethod
    def invalid_spec(cls, faults: tuple[Fault, ...]) -> "NodusError":
        """The error that carries every fault of a spec at once."""
        count = len(faults)
        return cls(ErrorCode.INVALID_SPEC, f"{count} fault{'s' if count != 1 else ''} in the spec; nothing was changed", faults)

    @classmethod
    def not_found(cls, kind: str, name: str, suggestion: str = "") -> "NodusError":
        """The error for a name that nothing has."""
        hint = f'; did you mean "{suggestion}"?' if suggestion else ""
        return cls(ErrorCode.NOT_FOUND, f'there is no {kind} "{name}"{hint}')


class Problem(ContractModel):
    """RFC 9457 problem details."""

    type: str = "about:blank"
    title: str
    status: int
    code: ErrorCode
    detail: str
    faults: tuple[Fault, ...] = ()
    extra: dict[str, JsonValue] = Field(default_factory=dict)
