"""What an API answers to an estimate."""

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.estimates import Estimate, KindEstimate


class Estimates(ContractModel):
    """The estimate of each document that can cost money, in order."""

    estimates: tuple[Estimate | KindEstimate, ...]
