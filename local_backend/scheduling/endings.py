"""How a run's record looks at the end of its conversation, and when it is told to stop. Pure changes of one record."""

from datetime import datetime
from enum import Enum, auto

from msgspec import Struct

from local_backend.environments.interface import Grade
from local_backend.episodes.conversation import Answered
from local_backend.episodes.episode import Blocked, Broke, Parked
from local_backend.storage.records import RunRecord
from nodus_tui.contract.phases import Reason, RunPhase


class StopOrder(Enum):
    """Why a run is told to stop."""

    KILL = auto()
    TIMEOUT = auto()
    PAUSE = auto()
    """It waits again, at once: an action or another process goes on with it."""
    SHUTDOWN = auto()
    BUDGET = auto()
    """A budget pays for nothing more: the run ends, and is gone on with when there is room again."""


class Graded(Struct, frozen=True):
    """An answer with its grade."""

    grade: Grade


RunEnding = Graded | Answered | Parked | Broke | Blocked
"""What a run comes to by itself."""


def end_by_itself(run: RunRecord, ending: RunEnding, now: datetime) -> None:
    """The end that the conversation came to."""
    run.reason, run.message, run.until_at, run.needed, run.ended_at = None, "", None, None, now
    if isinstance(ending, Graded):
        _end_graded(run, ending.grade)
    elif isinstance(ending, Answered):
        run.phase, run.reason = RunPhase.SUCCEEDED, Reason.ANSWERED
    elif isinstance(ending, Blocked):
        run.phase, run.reason, run.message = RunPhase.CANCELLED, Reason.BUDGET_EXCEEDED, ending.message
    elif isinstance(ending, Parked):
        run.phase, run.reason, run.message, run.needed = RunPhase.WAITING, Reason.MAX_COST_REACHED, ending.message, ending.needed
        run.ended_at = None
    else:
        run.phase, run.reason, run.message = RunPhase.FAILED, ending.reason, ending.message


def _end_graded(run: RunRecord, grade: Grade) -> None:
    run.verdict, run.reward, run.grade_message = grade.verdict, grade.reward, grade.message
    if grade.verdict.scored:
        run.phase = RunPhase.SUCCEEDED
    else:
        run.phase, run.reason, run.message = RunPhase.FAILED, Reason.INFRASTRUCTURE_FAILURE, f"the grader failed: {grade.message}"


def end_by_order(run: RunRecord, order: StopOrder, now: datetime) -> None:
    """The end of a run that did not come to its own, whether it holds a slot or waits."""
    run.until_at, run.needed, run.ended_at = None, None, None
    if order is StopOrder.KILL:
        run.phase, run.reason, run.message, run.ended_at = RunPhase.CANCELLED, Reason.KILLED, "", now
    elif order is StopOrder.TIMEOUT:
        run.phase, run.reason, run.ended_at = RunPhase.FAILED, Reason.EVALUATION_TIMEOUT, now
        run.message = "not graded within the evaluation's timeout"
    elif order is StopOrder.BUDGET:
        run.phase, run.reason, run.ended_at = RunPhase.CANCELLED, Reason.BUDGET_EXCEEDED, now
        run.message = "stopped by a budget; it goes on when that has room again"
    elif order is StopOrder.PAUSE:
        run.phase, run.reason, run.message = RunPhase.PENDING, Reason.WAITING_FOR_SLOT, ""
    else:
        run.phase, run.reason = RunPhase.INTERRUPTED, Reason.INTERRUPTED
        run.message = "the scheduler was stopped; it goes on from its last committed turn when resumed"


def end_lost(run: RunRecord) -> None:
    """The work in the run's sandbox went down with its scheduler: the run rests until a person has its case begun afresh."""
    if run.sandbox is not None:
        run.sandbox.lost = True
    run.until_at, run.needed, run.ended_at = None, None, None
    run.phase, run.reason = RunPhase.INTERRUPTED, Reason.INTERRUPTED
    run.message = "its sandbox ended with the scheduler, and the work in it is lost; resumed, its case begins afresh"


def end_superseded(run: RunRecord, successor: str, now: datetime) -> None:
    """Another run took its case over, with a higher cap."""
    run.phase, run.reason, run.message = RunPhase.SUPERSEDED, Reason.SUPERSEDED, f"superseded by {successor}"
    run.until_at, run.needed, run.ended_at = None, None, now
