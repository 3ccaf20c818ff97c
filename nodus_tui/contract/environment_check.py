"""The gold check: each task's reference solution and an empty answer through the grader."""

from typing import Literal

from nodus_tui.contract.base import ContractModel
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
