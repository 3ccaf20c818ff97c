"""What a running command tells of itself: a small file that it replaces as often as it likes, at the path that NODUS_PROGRESS names.

It is foreign: what cannot be read as told here is as if nothing had been said.
"""

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from nodus_tui.contract.resources.training_job import TaskScore

TOLD_FILE = "progress.json"
VARIABLE = "NODUS_PROGRESS"

_MOST_BYTES = 4 << 20
_LONGEST_SENTENCE = 1000
_MOST_SCORES = 10_000


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Measurement(_Told):
    """How fast a model was scored."""

    model: str = Field(max_length=2000)
    """Its address, without the commit."""
    samples: int = Field(ge=1)
    seconds: float = Field(gt=0)
    devices: int = Field(ge=1, le=64)


class Told(_Told):
    """What was told last. Everything may be left out."""

    progress: float | None = Field(default=None, ge=0, le=1)
    message: str = Field(default="", max_length=_LONGEST_SENTENCE)
    """What it is doing."""
    problem: str = Field(default="", max_length=_LONGEST_SENTENCE)
    """Why it failed, for whoever reads its end."""
    notes: tuple[str, ...] = Field(default=(), max_length=100)
    scores: tuple[TaskScore, ...] = Field(default=(), max_length=_MOST_SCORES)
    measured: Measurement | None = None

    def write(self, path: Path) -> None:
        """Replace the file, whole or not at all. Raises OSError."""
        new = path.with_suffix(".new")
        new.write_text(self.model_dump_json(by_alias=True), encoding="utf-8")
        new.replace(path)


def read_told(folder: Path) -> Told | None:
    """What a job's command told last; None where it told nothing, or nothing that can be read. Blocking."""
    try:
        opened = os.open(folder / TOLD_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with open(opened, "rb") as file:  # noqa: PTH123 - by its descriptor
            return Told.model_validate_json(file.read(_MOST_BYTES))
    except (OSError, ValidationError):
        return None
