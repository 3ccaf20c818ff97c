"""The gold check: each task's reference solution and an empty answer through the grader."""

from typing import Literal

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.phases import Verdict


class GoldCase(ContractModel):
    """One task of the check."""

    task_id: str
    split: str
    reference: Verdict | None
    """The verdict on the reference solution; null where the task has none."""
    empty: Verdict
    """The verdict on an empty answer."""
    problem: Literal["", "ReferenceFails", "EmptyPasses", "NoReference", "GraderFails"] = ""
    message: str = ""
    """For people; never holds the expected answer."""
    seconds: float = 0
    """Of grading the two; what they waited for a free sandbox is left out."""


class GoldSummary(ContractModel):
    """The whole check."""

    environment: str
    digest: str
    tasks: int
    problems: int
    cases: tuple[GoldCase, ...] = ()


KEPT_FAULTS = 20
"""Tasks at fault that are kept of a check."""


class GoldRecord(ContractModel):
    """The last gold check of an environment that came to its end, as the backend keeps it."""

    environment: str
    """`name@version`."""
    digest: str = ""
    """Of the tasks and the grader as they were then; empty where that is not known before tasks are made."""
    checked_at: UTCTime
    split: str = ""
    """Empty: of every split."""
    limit: int | None = None
    """The first so many tasks of each split; null for all that there are."""
    tasks: int
    problems: int
    faults: tuple[GoldCase, ...] = ()
    """The first KEPT_FAULTS tasks at fault."""
