"""Whether the image of `evaluate.image` is at the Docker engine, and which harness it has: its Python is asked, in a container."""

import asyncio
import json
import tempfile
from collections.abc import Mapping

from local_backend.sandboxes.docker.engine import connect_docker
from local_backend.sandboxes.interface import SandboxError
from local_backend.training.container import INSIDE, Container, ContainerRequest
from local_backend.training.order import mounted
from nodus_tui.contract.configuration import EvaluateSettings
from nodus_tui.contract.evaluation import HARNESS, HARNESS_VERSION, EvaluationFact

IMAGE_PYTHON = "python3"
"""The Python of an image for which the configuration names none."""

_SECONDS = 60.0
_MEMORY_BYTES = 1 << 30
_KNOWN: dict[tuple[str, str, str], tuple[str, str]] = {}
"""What images have said, by their id, the Python that was asked and what they saw: none of them changes."""


async def look_at_image(image: str, settings: EvaluateSettings, environ: Mapping[str, str], ask: str) -> EvaluationFact:
    """What it has, as far as it is here: one that is not is fetched by the job that first needs it. `ask` is what its Python runs."""
    python = settings.python or IMAGE_PYTHON
    fact = EvaluationFact(python=python, source=f"of the image {image} (evaluate.image)", image=image)
    try:
        async with asyncio.timeout(_SECONDS):
            versions = await _versions(image, python, settings, environ, ask)
    except (SandboxError, ValueError, OSError, TimeoutError) as error:
        return fact.model_copy(update={"problem": f"the image {image} does not say what it has: {error or 'no answer in time'}"})
    if versions is None:
        return fact
    harness, torch = versions
    problem = ""
    if harness != HARNESS_VERSION:
        has = f"{HARNESS} {harness}, and this version works with {HARNESS_VERSION}" if harness else f"no {HARNESS}"
        problem = f"the image {image} has {has}: correct evaluate.image, or evaluate.python where it is another Python of the image"
    return fact.model_copy(update={"harness": harness, "torch": torch, "problem": problem})


async def _versions(image: str, python: str, settings: EvaluateSettings, environ: Mapping[str, str], ask: str) -> tuple[str, str] | None:
    engine = await connect_docker(environ)
    try:
        found = await engine.images.here(image)
    finally:
        await engine.aclose()
    if found is None:
        return None
    key = (found.id, python, str(settings.mounts))
    if key not in _KNOWN:
        said = bytearray()
        with tempfile.TemporaryDirectory(prefix="nodus-look-") as folder:
            request = ContainerRequest(
                image=image,
                name="evaluate",
                workspace="",
                python=python,
                command=(python, "-P", "-c", ask),
                folder=folder,
                exit_file=f"{folder}/exit",
                cpus=1,
                memory_bytes=_MEMORY_BYTES,
                network=False,
                mounts=((folder, folder, "rw"), (str(INSIDE), str(INSIDE), "ro"), *mounted(settings)),
            )
            code = await Container(request, {"LANG": "C.UTF-8"}, said.extend).run(environ)
        if code != 0:
            raise SandboxError(f"{python} ended with {code}")
        harness, torch = json.loads(said)
        _KNOWN[key] = str(harness), str(torch)
    return _KNOWN[key]
