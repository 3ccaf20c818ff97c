"""What one process of ours hands to another as JSON: an update can come between the two, so that they are of different code."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Any

from nodus_tui import __version__

_VERSION = "version"


class OtherCodeError(Exception):
    """What was handed over is of other code, and is not understood here; the text is a sentence."""


def handed(order: Any) -> str:
    """A dataclass as JSON, with the version that gives it."""
    return json.dumps({_VERSION: __version__, **asdict(order)})


@contextmanager
def taken(text: str) -> Iterator[dict[str, Any]]:
    """The values of an order, to be made into one inside. Raises OtherCodeError where they are those of other code."""
    told = "an earlier version"
    try:
        values: dict[str, Any] = json.loads(text)
        told = f"version {version}" if (version := values.pop(_VERSION, None)) else told
        yield values
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise OtherCodeError(
            f"it was started by {told} of nodus-tui, and what is installed here now (version {__version__}) does not understand that: "
            "restart the scheduler (`nodus-tui scheduler restart`), then start it again"
        ) from error


def known(kind: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Those of the values that a dataclass has fields for: a newer writer may say more."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names}
