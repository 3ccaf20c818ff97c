"""The exit codes: a stable interface (docs/cli.md). Pure."""

from enum import IntEnum

from nodus_tui.contract.errors import ErrorCode


class Exit(IntEnum):
    """What the process says to its caller."""

    DONE = 0
    """Done, and passed the gate where there is one."""
    GATE = 1
    """The gate failed: pass rate or coverage too low."""
    USAGE = 2
    """What was asked for is wrong: the command line, a spec, the configuration, a name, an action that does not fit."""
    CAP = 3
    """Refused by a cap or budget, or cases could not start or finish for their cap."""
    INFRASTRUCTURE = 4
    """A server, grader, disk or backend failed, or the time ran out: says nothing about the agent."""
    INTERRUPTED = 130
    """Stopped from outside; everything is kept."""


EXIT_BY_ERROR: dict[ErrorCode, Exit] = {
    ErrorCode.INVALID_SPEC: Exit.USAGE,
    ErrorCode.NOT_FOUND: Exit.USAGE,
    ErrorCode.CONFLICT: Exit.USAGE,
    ErrorCode.BUDGET_EXCEEDED: Exit.CAP,
    ErrorCode.NOT_SUPPORTED: Exit.USAGE,
    ErrorCode.INVALID_ACTION: Exit.USAGE,
    ErrorCode.CONFIGURATION: Exit.USAGE,
    ErrorCode.UNAVAILABLE: Exit.INFRASTRUCTURE,
    ErrorCode.INVALID_REQUEST: Exit.USAGE,
    ErrorCode.UNAUTHORIZED: Exit.USAGE,
    ErrorCode.FORBIDDEN: Exit.USAGE,
    ErrorCode.RATE_LIMITED: Exit.INFRASTRUCTURE,
    ErrorCode.INTERNAL: Exit.INFRASTRUCTURE,
}

_GRAVEST_FIRST = (Exit.USAGE, Exit.INTERRUPTED, Exit.INFRASTRUCTURE, Exit.CAP, Exit.GATE, Exit.DONE)


def gravest(codes: tuple[Exit, ...]) -> Exit:
    """The one code that speaks for all: usage, interrupted, infrastructure, cap, gate, done. Nothing at all is done."""
    return min(codes, key=_GRAVEST_FIRST.index, default=Exit.DONE)
