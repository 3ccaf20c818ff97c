"""What an action or an apply answers: what it changed."""

from typing import Literal

from nodus_tui.contract.base import ContractModel, UTCTime


class Change(ContractModel):
    """One thing that an action or an apply changed."""

    kind: str
    name: str
    field: str
    old: str
    new: str


class ActionOutcome(ContractModel):
    """What an action did. `changed` is false when everything was already so."""

    action: str
    kind: str
    name: str
    changed: bool
    message: str
    """A sentence for people, with the numbers."""
    changes: tuple[Change, ...] = ()
    at: UTCTime
    author: str = ""


class AppliedDocument(ContractModel):
    """What apply did, or with dry_run would do, with one document."""

    kind: str
    name: str
    outcome: Literal["created", "changed", "unchanged", "refused"]
    """`refused`: it is valid, but an apply would refuse it, and with it everything that is applied at once; only with dry_run."""
    message: str = ""
    """A sentence for people; of what is refused, why."""
    changes: tuple[Change, ...] = ()


class ApplyOutcome(ContractModel):
    """What apply did with all documents, in their order."""

    dry_run: bool
    documents: tuple[AppliedDocument, ...]
