"""Phases, reasons and verdicts: the words in which the state of everything is told. Their rules are in docs/rules.md."""

from enum import StrEnum
from typing import Literal


class Verdict(StrEnum):
    """What the grader says of one answer."""

    CORRECT = "Correct"
    INCORRECT = "Incorrect"
    INVALID_OUTPUT = "InvalidOutput"
    INFRASTRUCTURE_FAILURE = "InfrastructureFailure"

    @property
    def scored(self) -> bool:
        """Whether it counts in the pass rate: an infrastructure failure never does."""
        return self is not Verdict.INFRASTRUCTURE_FAILURE


class RunPhase(StrEnum):
    """Where an AgentRun is in its life."""

    PENDING = "Pending"
    """Not started: the reason says what it waits for."""
    RUNNING = "Running"
    """In conversation; the reason says when it waits for a rate limit or a retry."""
    WAITING = "Waiting"
    """Its next call might not fit its cap (MaxCostReached): no slot, no reservation beyond what it spent."""
    GRADING = "Grading"
    SUCCEEDED = "Succeeded"
    """It answered, and the answer is graded where there is a grader."""
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    """Killed by a person, or stopped by a budget."""
    SUPERSEDED = "Superseded"
    """A run with a higher cap took its place."""
    INTERRUPTED = "Interrupted"
    """Unfinished and at rest: the scheduler was stopped. It goes on from its last committed turn when asked."""

    @property
    def ended(self) -> bool:
        """Whether this run will never do anything again. An interrupted one may."""
        return self in _ENDED_RUNS

    @property
    def going(self) -> bool:
        """Whether it holds a slot and its cap is reserved."""
        return self in {RunPhase.RUNNING, RunPhase.GRADING}


_ENDED_RUNS = frozenset({RunPhase.SUCCEEDED, RunPhase.FAILED, RunPhase.CANCELLED, RunPhase.SUPERSEDED})


class Reason(StrEnum):
    """Why something is in its phase: one stable word for machines; the message beside it is for people."""

    WAITING_FOR_SLOT = "WaitingForSlot"
    """maxActive runs of the group are going."""
    MAX_COST_REACHED = "MaxCostReached"
    """A run: its next call might not fit its cap. A pending run: its cap does not fit under what its group has left."""
    RATE_LIMITED = "RateLimited"
    """The provider asked for a pause; the message says until when."""
    RETRYING = "Retrying"
    """A call failed without cost and is tried again; the message says which try and when."""
    DISK_ALMOST_FULL = "DiskAlmostFull"
    """No run starts and no call leaves until there is room on the scheduler's disk again."""
    WAITING_FOR_SANDBOX = "WaitingForSandbox"
    """As many sandboxes run as this machine is set to; or its image is being fetched. The message says which."""
    WAITING_FOR_MODEL = "WaitingForModel"
    """The job that serves the model is not up: it waits, starts, does not answer, or has ended. The message says which."""
    WAITING_FOR_DEVICE = "WaitingForDevice"
    """The devices that it asks for are in use; the message says by whom."""
    SANDBOX_LIMIT_REACHED = "SandboxLimitReached"
    """The run's sandbox used up its `maxLifetime` or its `maxCostUSD`."""
    ANSWERED = "Answered"
    """The group has no evaluation: the caller grades."""
    INFRASTRUCTURE_FAILURE = "InfrastructureFailure"
    """The model server, the grader or the sandbox broke: unscored, outside the pass rate."""
    EVALUATION_TIMEOUT = "EvaluationTimeout"
    """Not graded by the evaluation's timeout: unscored, outside the pass rate."""
    TURN_LIMIT_REACHED = "TurnLimitReached"
    KILLED = "Killed"
    SUPERSEDED = "Superseded"
    BUDGET_EXCEEDED = "BudgetExceeded"
    INTERRUPTED = "Interrupted"
    PREPARATION_FAILED = "PreparationFailed"
    """The group's tasks could not be made."""


UntilKind = Literal["Exact", "About", "AtLatest"]
"""How sure the moment is at which a wait ends: known, a forecast, or the latest possible."""


class GroupPhase(StrEnum):
    """Where an AgentGroup is in its life."""

    PENDING = "Pending"
    """Its tasks are being made."""
    RUNNING = "Running"
    STALLED = "Stalled"
    """Nothing goes on until somebody acts: every unfinished case waits on a cap, or for a model server that has ended. The message says
    which, and what frees it."""
    COMPLETED = "Completed"
    """Every case has ended, scored or not."""
    CANCELLED = "Cancelled"
    FAILED = "Failed"
    INTERRUPTED = "Interrupted"
    """Unfinished and at rest: the scheduler stopped. It goes on when asked."""

    @property
    def ended(self) -> bool:
        """Whether every case has ended; only a retry opens it again."""
        return self in _ENDED_GROUPS

    @property
    def at_rest(self) -> bool:
        """Whether nothing of it goes on until somebody asks: ended, or interrupted."""
        return self.ended or self is GroupPhase.INTERRUPTED


_ENDED_GROUPS = frozenset({GroupPhase.COMPLETED, GroupPhase.CANCELLED, GroupPhase.FAILED})


class CaseState(StrEnum):
    """How a case (a task and a repetition) stands in the results."""

    PENDING = "Pending"
    RUNNING = "Running"
    WAITING = "Waiting"
    SCORED = "Scored"
    UNSCORED = "Unscored"
    """Ended without a verdict that counts; the reason says why. Never a zero."""
    ANSWERED = "Answered"
    """Answered in a group without evaluation."""


def case_state(phase: RunPhase, reason: Reason | None) -> CaseState:
    """How a case stands whose current run is in this phase for this reason."""
    if phase is RunPhase.SUCCEEDED:
        return CaseState.ANSWERED if reason is Reason.ANSWERED else CaseState.SCORED
    if phase.ended:
        return CaseState.UNSCORED
    if phase.going:
        return CaseState.RUNNING
    waits = phase in {RunPhase.WAITING, RunPhase.INTERRUPTED} or reason is Reason.MAX_COST_REACHED
    return CaseState.WAITING if waits else CaseState.PENDING


class CallState(StrEnum):
    """How one model call stands in the ledger."""

    RESERVED = "Reserved"
    """Its worst case is committed; the request may be under way."""
    SETTLED = "Settled"
    """Paid by its reported usage."""
    UNCONFIRMED = "Unconfirmed"
    """Its outcome is unknown: charged its worst case."""
    RELEASED = "Released"
    """It certainly cost nothing: not sent, or refused by the server."""


RunActivity = Literal["Queued", "Preparing", "Working", "Paused", "Grading", "AtCap", "Interrupted"]
"""What a run does for a while. Queued, AtCap and Interrupted ones hold no slot. Preparing: its sandbox is being made. Paused: something
outside holds up its next step, and the reason says what (a rate limit, a budget, its model)."""

HOLDS_SLOT: frozenset[RunActivity] = frozenset({"Preparing", "Working", "Paused", "Grading"})
"""The activities of a run that is going."""

MAX_STRETCHES = 48
"""Stretches that are kept of one run: of a longer story the shortest are told as part of the one before."""
