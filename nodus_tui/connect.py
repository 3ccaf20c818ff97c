"""The only place that picks a backend: state folder, configuration file, entry points, and the way there.

There are three ways. By default the workspace's detached scheduler, over its socket; `--in-process`, the backend in this process; and
`--connect URL`, an API anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from nodus_tui import __version__
from nodus_tui.contract.errors import ErrorCode, NodusError

if TYPE_CHECKING:
    from nodus_tui.contract.backend import Backend, BackendFactory, BackendOptions
    from nodus_tui.contract.demo import DemoFactory
    from nodus_tui.contract.hosting import Hosting
    from nodus_tui.contract.scheduler import SchedulerRecord
    from nodus_tui.remote.backend import RemoteBackend
    from nodus_tui.remote.local import LocalScheduler

APP_NAME = "nodus-tui"
DEFAULT_BACKEND = "local"

COMES_ALONG = {
    "nodus_tui.backends": "local_backend.backend:open_backend",
    "nodus_tui.hosts": "local_backend.hosting.host:HOSTING",
    "nodus_tui.demos": "local_backend.demo:prepare_demo",
}
"""What this distribution registers for the default backend, by entry point. Whoever uses that one need not read what every installed
package says of itself, which takes a verb a tenth of its time."""

Role = Literal["look", "act", "order", "work"]
"""What a backend is wanted for.

`look` reads, checks and estimates. `act` changes something that needs no work to go on, as a kill. `order` asks for work that somebody
else does: with a detached scheduler that one, in process whoever comes next. `work` stays until work is done.
"""


class Way(Struct, frozen=True):
    """How a backend is to be reached. Nothing set means the workspace's detached scheduler."""

    in_process: bool = False
    url: str = ""


_WAY: ContextVar[Way | None] = ContextVar("way", default=None)


def choose_way(way: Way) -> None:
    """What the command line says; the rest of this run goes that way."""
    _WAY.set(way)


def chosen_way() -> Way:
    """What was chosen, or what NODUS_IN_PROCESS and NODUS_URL say. A choice goes before a variable."""
    chosen = _WAY.get() or Way()
    if chosen.in_process or chosen.url:
        return chosen
    if os.environ.get("NODUS_IN_PROCESS", "").lower() in {"1", "true", "yes", "on"}:
        return Way(in_process=True)
    return Way(url=os.environ.get("NODUS_URL", ""))


def home_path() -> Path:
    """The state folder: NODUS_HOME, or the user's data folder. It may not exist yet.

    Raises NodusError for a name that cannot be written down: records and answers are UTF-8.
    """
    named = os.environ.get("NODUS_HOME")
    if named:
        if any("\ud800" <= character <= "\udfff" for character in named):
            raise NodusError(ErrorCode.CONFIGURATION, f"NODUS_HOME is {named}, which is no UTF-8: name a folder whose name is")
        return Path(named).expanduser().absolute()
    from platformdirs import user_data_dir  # noqa: PLC0415 - costs start-up time that NODUS_HOME saves

    return Path(user_data_dir(APP_NAME, appauthor=False))


def cache_path() -> Path:
    """Where things that can be made again are kept: NODUS_CACHE, or the user's cache folder."""
    from platformdirs import user_cache_path  # noqa: PLC0415 - needed by a verb or two only

    named = os.environ.get("NODUS_CACHE", "")
    return Path(named).expanduser().absolute() if named else user_cache_path("nodus-tui")


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
    from nodus_tui.contract.backend import BackendOptions  # noqa: PLC0415 - a help text needs no backend

    return BackendOptions(home=home_path(), config=config_path(), role=role)


class Point(Protocol):
    """What is registered under an entry point."""

    @property
    def name(self) -> str:
        """Its name there."""
        ...

    @property
    def value(self) -> str:
        """Module and attribute."""
        ...

    def load(self) -> Any:
        """Import it. Raises ImportError."""
        ...


class _Known(Struct, frozen=True):
    name: str
    value: str

    def load(self) -> Any:
        from importlib import import_module  # noqa: PLC0415 - see connect

        module, _, attribute = self.value.partition(":")
        return getattr(import_module(module), attribute)


def _comes_along(group: str) -> Point | None:
    """The default backend's, where its package is here."""
    from importlib.util import find_spec  # noqa: PLC0415 - see connect

    value = COMES_ALONG.get(group)
    return None if value is None or find_spec(value.partition(".")[0]) is None else _Known(DEFAULT_BACKEND, value)


def _registered(group: str) -> dict[str, Point]:
    """What is installed under an entry point, by name."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - reads what every installed package says of itself

    return {point.name: point for point in entry_points(group=group)}


def _chosen(group: str, wanted: str | None, what: str) -> Point:
    known = _comes_along(group) if not wanted or wanted == DEFAULT_BACKEND else None
    if known is not None:
        return known
    found = _registered(group)
    name = wanted or (DEFAULT_BACKEND if DEFAULT_BACKEND in found or not found else min(found))
    if name not in found:
        installed = ", ".join(sorted(found)) or "none"
        detail = f'no {what} "{name}" is installed (installed: {installed}); install the package that provides it, or correct NODUS_BACKEND'
        raise NodusError(ErrorCode.CONFIGURATION, detail)
    return found[name]


def _loaded(point: Point, what: str) -> object:
    try:
        return point.load()
    except ImportError as error:
        detail = f'the {what} "{point.name}" ({point.value}) cannot be imported: {error}; reinstall the package that provides it'
        raise NodusError(ErrorCode.UNAVAILABLE, detail) from error


def _silent(_: str) -> None:
    """Tell nobody."""


async def connect(role: Role, tell: Callable[[str], None] = _silent, waiting: Callable[[str], None] = _silent) -> Backend:
    """A backend for what is wanted, the way that was chosen. `tell` is given what people should know of it, in sentences; `waiting`, for as
    long as the backend is used, what an answer that is long in coming is waited for.

    Raises NodusError when it cannot be reached, opened or started.
    """
    way = chosen_way()
    if way.url:
        return await _remote(way.url, tell, waiting)
    if not way.in_process:
        scheduler = local_scheduler()
        if scheduler is not None:
            attached = await _attached(scheduler, role, tell, waiting)
            if attached is not None:
                return attached
    return await open_backend(backend_options("work" if role == "work" else "look"))


async def _remote(url: str, tell: Callable[[str], None], waiting: Callable[[str], None]) -> Backend:
    from nodus_tui.remote.address import remote_address  # noqa: PLC0415 - an HTTP client is loaded when one is needed
    from nodus_tui.remote.backend import RemoteBackend  # noqa: PLC0415

    address = remote_address(url, os.environ)
    return await _greeted(RemoteBackend(address, silent=_told(lambda: f"waiting for {address.shown} to answer", waiting)), tell)


async def _greeted(backend: RemoteBackend, tell: Callable[[str], None]) -> Backend:
    """The backend, once it has answered: then its version is known to be one that is understood."""
    try:
        await backend.info()
    except BaseException:
        await backend.aclose()
        raise
    for note in backend.notes:
        tell(note)
    return backend


def local_scheduler() -> LocalScheduler | None:
    """The detached scheduler of this workspace; None where the chosen backend brings none. It may not run."""
    from nodus_tui.remote.local import LocalScheduler  # noqa: PLC0415 - see above

    scheduler = LocalScheduler(home_path(), config_path(), lambda: hosting().scheduler_module)
    named = os.environ.get("NODUS_BACKEND")
    if not named and scheduler.record() is not None:
        # It was started by what is installed, which then need not be looked through.
        return scheduler
    from nodus_tui.contract.hosting import HOSTING_ENTRY_POINT_GROUP  # noqa: PLC0415 - what is registered is looked up when none runs

    if not named and _comes_along(HOSTING_ENTRY_POINT_GROUP) is not None:
        return scheduler
    return scheduler if (named or DEFAULT_BACKEND) in _registered(HOSTING_ENTRY_POINT_GROUP) else None


async def _attached(scheduler: LocalScheduler, role: Role, tell: Callable[[str], None], waiting: Callable[[str], None]) -> Backend | None:
    """The scheduler as a backend; None where this process is to open the workspace itself."""
    record = scheduler.running()
    if record is not None and _other_surroundings(scheduler, record):
        if role == "look" and not _newer(record.version):
            # What is looked at is read with today's configuration, as a scheduler that starts now would have it.
            return None
        record = await _replaced(scheduler, record, tell, waiting)
    if record is None:
        if role in {"look", "act"}:
            return None
        record = await scheduler.ensure()
    if record is None:
        return None
    backend = attached_to(scheduler, record, waiting)
    # Of one that has our version there is nothing to be learnt before it is asked something.
    return backend if record.version == __version__ else await _greeted(backend, tell)


def attached_to(scheduler: LocalScheduler, record: SchedulerRecord, waiting: Callable[[str], None] = _silent) -> RemoteBackend:
    """The running scheduler, whose socket has just answered, as a backend, whatever its version. `waiting` as for `connect`."""
    from nodus_tui.remote.address import socket_address  # noqa: PLC0415 - an HTTP client is loaded when one is needed
    from nodus_tui.remote.backend import RemoteBackend  # noqa: PLC0415

    address = socket_address(Path(record.socket))
    # Another process may be the scheduler by then.
    silent = _told(lambda: scheduler.silence(scheduler.record() or record), waiting)
    return RemoteBackend(address, revive=scheduler.revive, silent=silent, connected=True)


def _told(silence: Callable[[], str], waiting: Callable[[str], None]) -> Callable[[], str]:
    """What is asked while no answer comes: the sentence, which `waiting` is given."""

    def sentence() -> str:
        words = silence()
        waiting(words)
        return words

    return sentence


def _other_surroundings(scheduler: LocalScheduler, record: SchedulerRecord) -> bool:
    return _newer(__version__, than=record.version) or scheduler.surroundings_changed(record, os.environ)


def _newer(version: str, *, than: str = __version__) -> bool:
    from nodus_tui.remote.versions import major_minor  # noqa: PLC0415 - see above

    return (major_minor(version) or (0, 0)) > (major_minor(than) or (0, 0))


async def _replaced(
    scheduler: LocalScheduler, record: SchedulerRecord, tell: Callable[[str], None], waiting: Callable[[str], None]
) -> SchedulerRecord | None:
    """An idle scheduler of an older version, configuration or key makes room for a new one; one at work is left alone, and told of."""
    if _newer(record.version):
        return record
    from nodus_tui.remote.holding import held_words  # noqa: PLC0415 - see above

    held = await _held(attached_to(scheduler, record, waiting))
    if not held:
        await scheduler.stop()
        return None
    what = (
        f"version {record.version}" if _newer(__version__, than=record.version) else "the configuration and keys that it was started with"
    )
    tell(
        f"the scheduler is at work with {what}, and is not replaced while it holds {held_words(held)}; `nodus-tui scheduler restart` hands "
        "its work over to a new one"
    )
    return record


async def _held(backend: RemoteBackend) -> list[str]:
    """What it is needed for; where it cannot tell, that is told."""
    from nodus_tui.remote.holding import held_at  # noqa: PLC0415 - see above

    async with backend:
        with suppress(NodusError):
            return (await held_at(backend)).names
    return ["work that it could not be asked about"]


async def open_backend(options: BackendOptions) -> Backend:
    """Open the backend that NODUS_BACKEND names, by default the embedded one. Raises NodusError when it cannot be opened."""
    from nodus_tui.contract.backend import ENTRY_POINT_GROUP  # noqa: PLC0415 - see above

    point = _chosen(ENTRY_POINT_GROUP, os.environ.get("NODUS_BACKEND"), "backend")
    factory: BackendFactory = _loaded(point, "backend")  # type: ignore[assignment]  # an entry point is what it is registered as
    return await factory(options)


def demo_factory() -> DemoFactory:
    """What prepares the demonstration campaigns for the chosen backend. Raises NodusError when it brings none."""
    from nodus_tui.contract.demo import DEMO_ENTRY_POINT_GROUP  # noqa: PLC0415 - needed by one verb

    point = _chosen(DEMO_ENTRY_POINT_GROUP, os.environ.get("NODUS_BACKEND"), "demonstration for the backend")
    factory: DemoFactory = _loaded(point, "demonstration")  # type: ignore[assignment]  # an entry point is what it is registered as
    return factory


def hosting() -> Hosting:
    """What runs the chosen backend outside this process. Raises NodusError when it brings nothing for that."""
    from nodus_tui.contract.hosting import HOSTING_ENTRY_POINT_GROUP  # noqa: PLC0415 - see local_scheduler

    point = _chosen(HOSTING_ENTRY_POINT_GROUP, os.environ.get("NODUS_BACKEND"), "scheduler or API for the backend")
    host: Hosting = _loaded(point, "host")  # type: ignore[assignment]  # an entry point is what it is registered as
    return host
