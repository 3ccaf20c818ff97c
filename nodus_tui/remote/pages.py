"""What an API answers where the resources of a kind are asked for."""

from nodus_tui.contract.base import ContractModel


class RawPage(ContractModel):
    """A page whose items are read by their kind."""

    items: tuple[dict[str, object], ...]
    next_after: str = ""
