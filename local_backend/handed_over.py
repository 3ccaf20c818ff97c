"""What one process of ours hands to another as JSON: an update can come between the two, so that they are of different code."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from nodus_tui import __version__
from nodus_tui.values import fields_of

_VERSION = "version"
SPOKEN: Mapping[str, str] = {_VERSION: __version__}
"""A part of what a process is asked over a pipe: which code asks."""


class OtherCodeError(Exception):
    """What was handed over is of other code, and is not understood here; the text is a sentence."""


def handed(order: Struct) -> str:
    """A Struct as JSON, with the version that gives it."""
    return json.dumps({_VERSION: __version__, **fields_of(order)})


@contextmanager
def taken(text: str) -> Iterator[dict[str, Any]]:
    """The values of an order, to be made into one inside. Raises OtherCodeError where they are those of other code."""
    version = None
    try:
        values: dict[str, Any] = json.loads(text)
        version = values.pop(_VERSION, None)
        yield values
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise OtherCodeError(_not_understood(version)) from error


def other_code(asked: Mapping[str, Any]) -> str:
    """A sentence for where something asked over a pipe is not understood; empty where the same code asked, so that it should be."""
    version = asked.get(_VERSION)
    return "" if version == __version__ else _not_understood(version)


def _not_understood(version: object) -> str:
    told = f"version {version}" if version else "an earlier version"
    return (
        f"it was started by {told} of nodus-tui, and what is installed here now (version {__version__}) does not understand that: "
        "restart the scheduler (`nodus-tui scheduler restart`), then start it again"
    )


def known(kind: type[Struct], values: dict[str, Any]) -> dict[str, Any]:
    """Those of the values that a Struct has fields for: a newer writer may say more."""
    return {name: value for name, value in values.items() if name in kind.__struct_fields__}
