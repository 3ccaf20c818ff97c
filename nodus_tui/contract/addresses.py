"""Addresses of people in documents."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from nodus_tui.contract.wording import quoted

_ADDRESS = re.compile(r"[\w!#$%&'*+/=?^`{|}~.-]+@[\w.-]+")
"""RFC 5322's addresses without quotes, comments and literals, with letters of every script."""


def _checked_address(address: str) -> str:
    if not _ADDRESS.fullmatch(address) or not address.isprintable():
        raise ValueError(f"{quoted(address)} is no e-mail address, such as name@example.com")
    return address


EmailAddress = Annotated[str, Field(max_length=254), AfterValidator(_checked_address)]
"""One e-mail address, without a display name."""
