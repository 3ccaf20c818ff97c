"""BaseImage: the image that needs no registry. Made once from this machine's own files, and used by both engines.

bubblewrap binds its folder read-only; Docker imports its tar. It lies in the cache under the digest of what went in, so that two
workspaces share it and a new interpreter makes a new one. Blocking: call it in a thread.
"""

import contextlib
import fcntl
import importlib.util
import io
import json
import marshal
import os
import secrets
import shutil
import sys
import tarfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import platformdirs
from msgspec import Struct

from local_backend.sandboxes.base_contents import Entry, Plan, make_plan, plan_digest, source_stamp
from local_backend.sandboxes.interface import SandboxError

REPOSITORY = "nodus/base"
"""The image's name; its reference is `nodus/base@sha256:…`."""

_UNCHECKED = 0b01
_CODE_HEADER = 16


class BaseImage(Struct, frozen=True):
    """The base image as it lies on this machine."""

    root: Path
    """The folder that is the root file system. Nobody writes to it."""
    tar: Path
    """The same as an archive, for `docker import`."""
    digest: str
    """`sha256:…` over what went in."""

    @property
    def reference(self) -> str:
        """Its name with its digest."""
        return f"{REPOSITORY}@{self.digest}"

    @classmethod
    def ensure(cls, cache: Path | None = None) -> "BaseImage":
        """The image for this interpreter, made if it is not there. Blocks (milliseconds when it is there, seconds when not).

        Two processes that ask at once wait for each other. Raises SandboxError with what is wrong.
        """
        folder = (cache or cache_folder()) / "sandbox-base"
        try:
            with _IN_PROCESS:
                return _ensure(folder)
        except (OSError, ValueError) as error:  # The latter where a path or a program's words are no text.
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise SandboxError(f"The base image could not be made in {folder}: {why}. NODUS_CACHE can name another folder.") from error


_IN_PROCESS = threading.Lock()
"""A file lock does not keep two threads of one process apart."""


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where things that can be made again are kept: NODUS_CACHE, or the user's cache folder."""
    named = (os.environ if environ is None else environ).get("NODUS_CACHE", "")
    return Path(named).expanduser().absolute() if named else platformdirs.user_cache_path("nodus-tui")


def _ensure(folder: Path) -> BaseImage:
    stamp = folder / f"{source_stamp()}.json"
    if (known := _known(folder, stamp)) is not None:
        return known
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "lock"):
        if (known := _known(folder, stamp)) is not None:
            return known
        plan = make_plan()
        digest = plan_digest(plan)
        if not (folder / digest / "base.tar").exists():
            _make(folder, plan, digest)
        _write_whole(stamp, json.dumps({"digest": digest}).encode())
        return _image(folder, digest)


def _known(folder: Path, stamp: Path) -> BaseImage | None:
    try:
        digest = json.loads(stamp.read_text(encoding="utf-8"))["digest"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None  # Not made yet, or a torn note: it is made again.
    image = _image(folder, str(digest))
    return image if image.tar.exists() and image.root.is_dir() else None


def _image(folder: Path, digest: str) -> BaseImage:
    return BaseImage(root=folder / digest / "rootfs", tar=folder / digest / "base.tar", digest=f"sha256:{digest}")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(folder: Path, plan: Plan, digest: str) -> None:
    for stale in folder.glob("making-*"):  # Whoever made it is dead, for the lock is ours.
        shutil.rmtree(stale, ignore_errors=True)
    making = folder / f"making-{secrets.token_hex(6)}"
    try:
        for each in (making, making / "rootfs"):
            each.mkdir(exist_ok=True)
            each.chmod(0o755)  # Whatever the umask: the sandboxes' users read it.
        with tarfile.open(making / "base.tar", "w", format=tarfile.GNU_FORMAT) as archive:
            for path, entry in {**plan, **_compiled(plan)}.items():
                _add(archive, making / "rootfs" / path, path, entry)
        _flush(making / "base.tar")
        shutil.rmtree(folder / digest, ignore_errors=True)  # A torn one, without its tar.
        making.rename(folder / digest)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _add(archive: tarfile.TarFile, target: Path, path: str, entry: Entry) -> None:
    info = tarfile.TarInfo(path)
    info.mode, info.uid, info.gid = entry.mode, entry.uid, entry.uid
    if entry.link is not None:
        info.type, info.linkname = tarfile.SYMTYPE, entry.link
        archive.addfile(info)
        target.symlink_to(entry.link)
    elif entry.source is None and entry.text is None:
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
        target.mkdir(parents=True, exist_ok=True)
        # All of it is for every user to read: bubblewrap mounts over the folders that are not.
        target.chmod(0o755)
    else:
        content = entry.content()
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
        target.write_bytes(content)
        target.chmod(entry.mode)


def _compiled(plan: Plan) -> dict[str, Entry]:
    """Byte code for each module, valid whatever the times of files: without it every Python in a sandbox compiles its library anew."""
    tag = sys.implementation.cache_tag
    entries: dict[str, Entry] = {}
    for path, entry in plan.items():
        if not path.endswith(".py") or entry.source is None:
            continue
        folder, _, name = path.rpartition("/")
        if (code := _code(entry.source, path)) is not None:
            entries.setdefault(f"{folder}/__pycache__", Entry(mode=0o755))
            entries[f"{folder}/__pycache__/{name[:-3]}.{tag}.pyc"] = Entry(text=code)
    return entries


def _code(source: Path, path: str) -> bytes | None:
    text = source.read_bytes()
    header = importlib.util.MAGIC_NUMBER + _UNCHECKED.to_bytes(4, "little") + importlib.util.source_hash(text)
    body = _machines_own(source, text)
    if body is None:
        try:
            body = marshal.dumps(compile(text, f"/{path}", "exec", dont_inherit=True))
        except (SyntaxError, ValueError):
            return None  # A template or a sample, not a module.
    return header + body


def _machines_own(source: Path, text: bytes) -> bytes | None:
    """The byte code that this machine has for the module, when it is of this very text: a tenth of the time of compiling it."""
    try:
        code = Path(importlib.util.cache_from_source(str(source))).read_bytes()
        stat = source.stat()
    except (OSError, NotImplementedError):
        return None
    fresh = (
        (0).to_bytes(4, "little") + (int(stat.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + (len(text) & 0xFFFFFFFF).to_bytes(4, "little")
    )
    if code[:4] != importlib.util.MAGIC_NUMBER or code[4:_CODE_HEADER] != fresh:
        return None
    return code[_CODE_HEADER:]


def _write_whole(path: Path, data: bytes) -> None:
    new = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    new.write_bytes(data)
    new.replace(path)


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
