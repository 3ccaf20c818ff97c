"""An attack in every field of free text of every value that a backend gives, and every view and dialog visited with it.

What is a field of free text is read off the contract's own types: a new field is attacked without a word here. Only what things are named
by keeps its value, for the keys that lead to each place go by names; the contract gives names a form in which no attack fits.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, get_args

import pytest
from console_driver import console
from console_stops import STOPS, go_to
from pydantic import BaseModel
from scripted_backend import ScriptedBackend
from test_console_hostile_text import ATTACKS, assert_harmless

REFERENCES = frozenset(
    {"name", "group", "agent", "run", "sweep", "job", "cell", "kind", "api_version", "project", "environment", "predecessor", "successor"}
)
"""Fields that hold names of resources."""
EVERYTHING = "".join(ATTACKS.values())


def is_free_text(annotation: object) -> bool:
    """Whether a field may hold any text: `str`, alone or among others, and no list of words."""
    return annotation is str or any(is_free_text(each) for each in get_args(annotation) if isinstance(each, type) or get_args(each))


def poisoned(value: Any, evil: str, *, free: bool = False) -> Any:
    """The value with the attack behind every free text in it."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        changed = {
            name: poisoned(getattr(value, name), evil, free=name not in REFERENCES and is_free_text(field.annotation))
            for name, field in fields.items()
        }
        return value.model_copy(update=changed)
    if isinstance(value, str) and not isinstance(value, Enum):
        return value + evil if free else value
    if isinstance(value, tuple):
        return tuple(poisoned(each, evil, free=free) for each in value)
    if isinstance(value, Mapping):
        return {key: poisoned(each, evil, free=free) for key, each in value.items()}
    return value


def poison(backend: ScriptedBackend, evil: str) -> ScriptedBackend:
    """The backend with the attack in everything that it gives."""
    for name, value in vars(backend).items():
        if not name.startswith("_") and isinstance(value, BaseModel | tuple | dict):
            setattr(backend, name, poisoned(value, evil))
    of_bytes = evil.encode(errors="ignore").decode()  # Logs come as bytes, in which there are no surrogates.
    backend.logs = {job: log + of_bytes for job, log in backend.logs.items()}
    backend.scheduler_log += of_bytes
    return backend


@pytest.mark.parametrize("stop", STOPS)
async def test_each_place_is_harmless(stop: str) -> None:
    backend = poison(STOPS[stop].world(), EVERYTHING)
    async with console(backend, size=(120, 40)) as (app, pilot):
        await go_to(app, pilot, STOPS[stop])
        assert_harmless(app)


def test_the_attack_is_in_what_is_shown() -> None:
    backend = poison(STOPS["group"].world(), EVERYTHING)
    assert all("owned" in str(each.to_document()) for each in backend.runs.values())
