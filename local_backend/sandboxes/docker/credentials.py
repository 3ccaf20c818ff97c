"""Credentials for registries, from where `docker login` puts them: the configuration file, a credentials store, or a helper per registry.

The reading is the Docker SDK's, which knows the file's history and the helpers' protocol. It is loaded here only, in a thread of its own,
for a helper is a program that may ask its user for a password and never come back.
"""

import asyncio
import base64
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from local_backend.sandboxes.docker.endpoint import configuration_folder
from local_backend.sandboxes.interface import SandboxError, SandboxRefusedError

T = TypeVar("T")

_HELPER_SECONDS = 30.0

Credentials = dict[str, Any]


def _registry(image: str) -> str:
    from docker import auth, errors  # noqa: PLC0415 - only who pulls or builds pays for loading it.

    try:
        registry, _ = auth.resolve_repository_name(image)
    except errors.DockerException as error:
        raise SandboxRefusedError(f"{image!r} is no name of an image: {error}") from error
    return str(registry)


def _look_up(registry: str, environ: Mapping[str, str]) -> Credentials | None:
    from docker import auth, errors  # noqa: PLC0415

    path = configuration_folder(environ) / "config.json"
    if not path.is_file():
        return None
    try:
        config = auth.load_config(config_path=str(path), credstore_env=dict(environ))
        found = config.resolve_authconfig(registry)
    except (errors.DockerException, OSError, ValueError, UserWarning) as error:
        raise SandboxError(f"the credentials for {registry} cannot be taken from {path}: {error}") from error
    return dict(found) if found else None


async def find_credentials(image: str, environ: Mapping[str, str]) -> tuple[str, Credentials | None]:
    """The registry of an image, and the credentials for it; None where there are none. Raises SandboxError, SandboxRefusedError."""
    registry = await _in_thread(lambda: _registry(image), "Docker's configuration")
    return registry, await _in_thread(lambda: _look_up(registry, environ), f"the credentials for {registry}")


def encoded(credentials: Mapping[str, Any]) -> str:
    """As the engine wants them in a header."""
    return base64.urlsafe_b64encode(json.dumps(credentials).encode()).decode("ascii")


async def _in_thread(work: Callable[[], T], what: str) -> T:
    """Run it in a thread that holds up nobody's end. Raises SandboxError when it takes too long."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(act: Callable[[], None]) -> None:
        if not done.done():
            act()

    def run() -> None:
        try:
            value = work()
        except Exception as error:  # noqa: BLE001 - handed on to who waits.
            act = _failing(done, error)
        else:
            act = _succeeding(done, value)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, act)

    threading.Thread(target=run, name="registry-credentials", daemon=True).start()
    try:
        async with asyncio.timeout(_HELPER_SECONDS):
            return await done
    except TimeoutError as error:
        raise SandboxError(
            f"{what} did not come within {_HELPER_SECONDS:g} s: a credentials helper may be waiting for a password"
        ) from error


def _failing(done: "asyncio.Future[Any]", error: Exception) -> Callable[[], None]:
    return lambda: done.set_exception(error)


def _succeeding(done: "asyncio.Future[T]", value: T) -> Callable[[], None]:
    return lambda: done.set_result(value)
