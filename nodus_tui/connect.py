"""The only place that picks a backend: state folder, configuration file, and the entry point that opens it."""

import os
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Literal

from nodus_tui.contract.backend import ENTRY_POINT_GROUP, Backend, BackendFactory, BackendOptions
from nodus_tui.contract.demo import DEMO_ENTRY_POINT_GROUP, DemoFactory
from nodus_tui.contract.errors import ErrorCode, NodusError

APP_NAME = "nodus-tui"
DEFAULT_BACKEND = "local"


def home_path() -> Path:
    """The state folder: NODUS_HOME, or the user's data folder. It may not exist yet."""
    named = os.environ.get("NODUS_HOME")
    if named:
        return Path(named).expanduser().absolute()
    from platformdirs import user_data_dir  # noqa: PLC0415 - costs start-up time that NODUS_HOME saves

    return Path(user_data_dir(APP_NAME, appauthor=False))


def expected_config_path() -> Path:
    """Where the configuration file is looked for: NODUS_CONFIG, or config.yaml in the user's configuration folder."""
    named = os.environ.get("NODUS_CONFIG")
    if named:
        return Path(named).expanduser().absolute()
    from platformdirs import user_config_dir  # noqa: PLC0415 - costs start-up time that NODUS_CONFIG saves

    return Path(user_config_dir(APP_NAME, appauthor=False)) / "config.yaml"


def config_path() -> Path | None:
    """The configuration file, or None where there is none.

    Raises NodusError when NODUS_CONFIG names a file that does not exist: a catalogue that was asked for is never silently left out.
    """
    path = expected_config_path()
    if path.is_file():
        return path
    if os.environ.get("NODUS_CONFIG"):
        raise NodusError(ErrorCode.CONFIGURATION, f"NODUS_CONFIG names {path}, which is not a file; correct the path or unset the variable")
    return None


def backend_options(role: Literal["work", "look"]) -> BackendOptions:
    """How the environment says that a backend is to be opened."""
    return BackendOptions(home=home_path(), config=config_path(), role=role)


def _chosen(group: str, wanted: str | None, what: str) -> EntryPoint:
    found = {point.name: point for point in entry_points(group=group)}
    name = wanted or (DEFAULT_BACKEND if DEFAULT_BACKEND in found or not found else min(found))
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        detail = f'no {what} "{name}" is installed (installed: {known}); install the package that provides it, or correct NODUS_BACKEND'
        raise NodusError(ErrorCode.CONFIGURATION, detail)
    return found[name]


def _loaded(point: EntryPoint, what: str) -> object:
    try:
        return point.load()
    except ImportError as error:
        detail = f'the {what} "{point.name}" ({point.value}) cannot be imported: {error}; reinstall the package that provides it'
        raise NodusError(ErrorCode.UNAVAILABLE, detail) from error


async def open_backend(options: BackendOptions) -> Backend:
    """Open the backend that NODUS_BACKEND names, by default the embedded one. Raises NodusError when it cannot be opened."""
    point = _chosen(ENTRY_POINT_GROUP, os.environ.get("NODUS_BACKEND"), "backend")
    factory: BackendFactory = _loaded(point, "backend")  # type: ignore[assignment]  # an entry point is what it is registered as
    return await factory(options)


def demo_factory() -> DemoFactory:
    """What prepares the demonstration campaigns for the chosen backend. Raises NodusError when it brings none."""
    point = _chosen(DEMO_ENTRY_POINT_GROUP, os.environ.get("NODUS_BACKEND"), "demonstration for the backend")
    factory: DemoFactory = _loaded(point, "demonstration")  # type: ignore[assignment]  # an entry point is what it is registered as
    return factory
