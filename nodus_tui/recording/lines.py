"""The lines of a recording: what stands in the file, and what never does. Pure.

A recording is a text file of lines, each one JSON object in ASCII. The first is the header (`Header`). Each other one has `t`, the seconds
since the beginning, and `what`:

    batch      `answer` is an EventBatch: what the stream told, events up to a cursor that an earlier line had left out
    snapshot   `answer` is a Snapshot with the runs of every group: the whole state, from which on the batches count
    acted      `asked` is an Action, `answer` its ActionOutcome or `problem` why it was refused
    lost       `problem` is why the stream broke; a snapshot follows when it is back
    end        `why` the recording ends; a file without it was cut off
    any other  is a call of the Backend protocol by its name: `asked` are its parameters, and `answer` or `problem` what it gave

Money, times and names are written as the contract writes them. A reader takes no notice of lines that it does not know, so that new ones
need no new format; a change that an old reader would misread raises FORMAT.
"""

import json
import re
from collections.abc import Iterable
from math import isfinite

from pydantic import Field, JsonValue

from nodus_tui.contract.base import ContractModel, UTCTime

FORMAT = 1
"""What this version writes, and the newest that it reads."""

WITHHELD = "(not recorded)"
"""Stands in place of a value of an environment variable, or of a secret."""

MARK = "nodus-tui"

BATCH, SNAPSHOT, ACTED, LOST, END = "batch", "snapshot", "acted", "lost", "end"


class Header(ContractModel):
    """The first line."""

    recording: str = MARK
    format: int = Field(default=FORMAT, ge=1)
    started_at: UTCTime
    """Where `t` is 0, by the clock of the machine that recorded."""
    program: str
    """The version that recorded."""
    of: str
    """The backend and its workspace, in words for people."""


_WITHOUT_VARIABLES = frozenset({"AgentRun", "AgentGroup", "Budget"})
"""Kinds whose specs hold no environment variables, so that their many documents need no search."""

_TOKEN = re.compile(r"nodus_[A-Za-z0-9_-]{20,}")
_LOGIN = re.compile(r"(?<=://)[^/\s\"@]{1,200}@")
_SHORTEST_SECRET = 8
"""A shorter value would be found in harmless words."""


def text_of(document: dict[str, JsonValue], secrets: Iterable[str] = ()) -> str:
    """One line of the file, with its end; tokens of ours, logins in URLs and the given secrets are withheld."""
    try:
        text = json.dumps(document, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(document), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(json.dumps(secret)[1:-1], WITHHELD)
    return _LOGIN.sub("", _TOKEN.sub(WITHHELD, text)) + "\n"


def _finite(document: JsonValue) -> JsonValue:
    """JSON has no infinity and no figure that is none: they are null, as the contract writes them."""
    if isinstance(document, float) and not isfinite(document):
        return None
    if isinstance(document, list):
        return [_finite(each) for each in document]
    if isinstance(document, dict):
        return {name: _finite(value) for name, value in document.items()}
    return document


def without_values(document: JsonValue, kind: str = "") -> JsonValue:
    """The document with the value of every environment variable withheld, however deep an `env` lies in it."""
    if kind in _WITHOUT_VARIABLES:
        return document
    if isinstance(document, list):
        return [without_values(each) for each in document]
    if not isinstance(document, dict):
        return document
    own_kind = document.get("kind")
    if isinstance(own_kind, str) and own_kind in _WITHOUT_VARIABLES and "spec" in document:
        return document
    return {name: _withheld(value) if name == "env" else without_values(value) for name, value in document.items()}


def _withheld(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return dict.fromkeys(value, WITHHELD)
    return without_values(value)


def secret_values(environment: dict[str, str]) -> tuple[str, ...]:
    """The values of variables whose names say that they hold a secret, the longest first."""
    words = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
    return tuple(sorted({value for name, value in environment.items() if name.endswith(words) and value}, key=len, reverse=True))
