"""Actions: what a person can do to something that exists. Each is idempotent, recorded, and answers with what changed (`outcomes`)."""

from typing import Annotated, Literal

from pydantic import Field

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.money import PositiveUSD
from nodus_tui.contract.phases import Reason, Verdict


class ActionBase(ContractModel):
    """What all actions carry."""

    author: str = ""
    """Who asks: a login name."""
    why: str = ""
    """Their reason, if they give one."""
    request_id: str = ""
    """A repeated id acts once and gives the first answer again."""


class Kill(ActionBase):
    """End a run, or a group with all its unfinished runs, at once: a call in flight is charged its worst case. Or a job, gracefully.

    Or a sandbox, whose files are kept.

    Or a sweep with all its unfinished cells, gracefully: calls in flight get a few seconds to end. A cell that was not launched yet is
    named as its group or job would be, and never is.
    """

    action: Literal["kill"] = "kill"
    kind: Literal["AgentRun", "AgentGroup", "Job", "TrainingJob", "Sweep", "Sandbox"]
    name: str


class ExtendCap(ActionBase):
    """A higher cap. A run: it ends as superseded and a successor goes on from its paid conversation. A group, a sweep: raised in place.

    A job: raised in place, also while it runs; one that its cap has ended goes on with its next attempt. A cell's group, run or job: only
    where that fits under what its sweep has left.
    """

    action: Literal["extendCap"] = "extendCap"
    kind: Literal["AgentRun", "AgentGroup", "Job", "TrainingJob", "Sweep"]
    name: str
    cap_usd: PositiveUSD
    restart: bool = False
    """For a run: begin afresh instead of going on from the conversation."""


class Retry(ActionBase):
    """New runs for cases that ended unscored. Never for a scored one: a verdict stands."""

    action: Literal["retry"] = "retry"
    group: str
    runs: tuple[str, ...] = ()
    """These only; empty means every unscored case that the filters below let through."""
    reasons: tuple[Reason, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


class RetryJob(ActionBase):
    """The next attempt of a job that has ended without success, in its work folder as it is. What it cost counts under the same cap."""

    action: Literal["retryJob"] = "retryJob"
    kind: Literal["Job", "TrainingJob"]
    name: str


class RetryCells(ActionBase):
    """Another try of a sweep's cells that ended broken: killed, failed, never launched, or with cases unscored. Interrupted ones go on.

    Each waits for a place and for room under the sweep's cap, as it did at first.
    """

    action: Literal["retryCells"] = "retryCells"
    kind: Literal["Sweep"] = "Sweep"
    name: str
    cells: tuple[str, ...] = ()
    """These only, by their names; empty means every one."""


class PauseSweep(ActionBase):
    """Let no further cell of a sweep start; those that are going go on to their ends."""

    action: Literal["pauseSweep"] = "pauseSweep"
    kind: Literal["Sweep"] = "Sweep"
    name: str


class ResumeSweep(ActionBase):
    """Let a paused sweep start cells again, and let its interrupted cells go on."""

    action: Literal["resumeSweep"] = "resumeSweep"
    kind: Literal["Sweep"] = "Sweep"
    name: str


class Resume(ActionBase):
    """Let an interrupted group go on from its last committed turns."""

    action: Literal["resume"] = "resume"
    group: str


class Delete(ActionBase):
    """Remove a resource that nothing unfinished needs. A group goes with its runs and their records, a sweep with its groups and jobs."""

    action: Literal["delete"] = "delete"
    kind: str
    name: str


Action = Annotated[
    Kill | ExtendCap | Retry | RetryJob | RetryCells | PauseSweep | ResumeSweep | Resume | Delete, Field(discriminator="action")
]
