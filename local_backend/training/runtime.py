"""Where the harness is on this machine: the Python that has it, and which versions. That Python is asked; nothing of it comes in here."""

import asyncio
import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from local_backend.sandboxes.base_image import cache_folder
from nodus_tui.contract.configuration import EvaluateSettings
from nodus_tui.contract.evaluation import HARNESS, HARNESS_VERSION, EvaluationFact, managed_python

_SECONDS = 20.0
_SETUP = "`nodus-tui evaluate setup` makes its environment"
_ASK = (
    "import importlib.metadata as m, json\n"
    "def v(n):\n"
    "    try: return m.version(n)\n"
    "    except m.PackageNotFoundError: return ''\n"
    "print(json.dumps([v('lm_eval'), v('torch')]))"
)


class Found(Struct, frozen=True):
    """A Python that should have the harness."""

    python: str
    source: str


def find(settings: EvaluateSettings, environ: Mapping[str, str]) -> Found | None:
    """The configured one, else the one that `evaluate setup` made, else this program's own where the harness is installed beside it."""
    if settings.python is not None:
        return Found(str(Path(settings.python).expanduser()), "evaluate.python of the configuration")
    made = managed_python(cache_folder(environ))
    if made.is_file():
        return Found(str(made), "made by `nodus-tui evaluate setup`")
    if importlib.util.find_spec("lm_eval") is not None:
        return Found(sys.executable, "beside this program")
    return None


async def look(settings: EvaluateSettings, environ: Mapping[str, str]) -> EvaluationFact:
    """What is there, or the sentence that says what to do."""
    if settings.image is not None:
        # The client of engines is slow to load, and seldom needed.
        from local_backend.training.image_runtime import look_at_image  # noqa: PLC0415

        return await look_at_image(settings.image, settings, environ, _ASK)
    found = find(settings, environ)
    if found is None:
        return EvaluationFact(problem=f"{HARNESS} is not here: {_SETUP}, or `evaluate: {{python: PATH}}` in the configuration names one")
    if not os.access(found.python, os.X_OK):
        return EvaluationFact(python=found.python, source=found.source, problem=f"{found.python} is no program: correct evaluate.python")
    try:
        harness, torch = await _versions(found.python)
    except (OSError, ValueError, TimeoutError) as error:
        return EvaluationFact(
            python=found.python, source=found.source, problem=f"{found.python} does not say what it has ({error or 'no answer'}): {_SETUP}"
        )
    problem = "" if harness else f"{found.python} has no {HARNESS}: {_SETUP}"
    if harness and harness != HARNESS_VERSION:
        problem = f"{found.python} has {HARNESS} {harness}, and this version works with {HARNESS_VERSION}: {_SETUP}"
    return EvaluationFact(python=found.python, source=found.source, harness=harness, torch=torch, problem=problem)


async def _versions(python: str) -> tuple[str, str]:
    process = await asyncio.create_subprocess_exec(
        python, "-P", "-c", _ASK, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(_SECONDS):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    harness, torch = json.loads(said)
    return str(harness), str(torch)
