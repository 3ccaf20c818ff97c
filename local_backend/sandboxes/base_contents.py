"""What goes into the base image: this machine's own Python, pytest, shell and tools, with every shared library that they load.

Pure of caching: it reads the machine's files and makes a plan, path in the image by path. `base_image.py` writes the plan out.
"""

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from local_backend.sandboxes.interface import AGENT_HOME, GRADER_FOLDER, WORK_FOLDER, SandboxError

FORMAT = 1
"""Part of the digest; to be raised when the same files are laid out in another way."""

# fmt: off
TOOLS = (
    "awk", "base64", "basename", "bash", "bzip2", "cat", "chmod", "chown", "cksum", "clear", "cmp", "comm", "cp", "csplit", "cut",
    "date", "dd", "df", "diff", "diff3", "dirname", "du", "echo", "egrep", "env", "expand", "expr", "factor", "false", "fgrep", "find",
    "fmt", "fold", "git", "grep", "gunzip", "gzip", "head", "hostname", "id", "install", "join", "kill", "less", "link", "ln", "ls",
    "md5sum", "mkdir", "mkfifo", "mktemp", "more", "mv", "nice", "nl", "nohup", "nproc", "numfmt", "od", "paste", "patch", "pathchk",
    "pgrep", "pkill", "pr", "printenv", "printf", "prlimit", "ps", "pwd", "readlink", "realpath", "rm", "rmdir", "sed", "seq",
    "setpriv", "setsid", "sh", "sha1sum", "sha256sum", "sha512sum", "shred", "shuf", "sleep", "sort", "split", "stat", "stdbuf", "stty",
    "sum", "sync", "tac", "tail", "tar", "tee", "test", "timeout", "touch", "tput", "tr", "true", "truncate", "tsort", "tty", "uname",
    "unexpand", "uniq", "unlink", "unxz", "uptime", "wc", "which", "who", "whoami", "xargs", "xz", "yes", "zcat",
)
"""Programs by name; those that this machine lacks are left out, except the ones below."""
# fmt: on

NEEDED_TOOLS = ("cat", "head", "id", "mkdir", "sh", "tar")
"""Without these no sandbox can be driven."""

PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
"""Pure Python packages that hidden tests need; those that are not installed here are left out."""

_LEFT_OUT = re.compile(
    r"(^|/)(__pycache__|test|tests|idlelib|tkinter|turtledemo|ensurepip|lib2to3|site-packages|dist-packages|config-\d[^/]*|EXTERNALLY-MANAGED)(/|$)"
    r"|(^|/)turtle\.py$|\.a$|\.py[co]$"
)
_LOADED = re.compile(r"(?:=>\s+)?(/\S+)\s+\(0x[0-9a-f]+\)")
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64")
_DATA_FOLDERS = ("/usr/lib/locale/C.utf8", "/usr/share/git-core/templates")
_TERMINFO = ("/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo", "/usr/share/terminfo")
_TERMINALS = (
    *("ansi", "dumb", "linux", "rxvt", "screen", "screen-256color", "tmux", "tmux-256color", "vt100", "vt220"),
    *("xterm", "xterm-256color", "xterm-color"),
)
"""What people sit at: without its description a shell in a sandbox can draw no line anew."""
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_LDD_SECONDS = 120


class Entry(Struct, frozen=True):
    """One path of the image; exactly one of the three says what it is, and a folder has none of them."""

    source: Path | None = None
    text: bytes | None = None
    link: str | None = None
    mode: int = 0o644
    uid: int = 0

    def content(self) -> bytes:
        """The bytes of a file. Raises OSError."""
        return self.source.read_bytes() if self.source is not None else self.text or b""


Plan = Mapping[str, Entry]
"""By path in the image, without the leading slash; parents come before what is in them."""


def plan_digest(plan: Plan) -> str:
    """The sha256 over every path with its mode, owner and content, in order, as hexadecimal digits. Raises OSError."""
    total = hashlib.sha256(f"nodus base image, format {FORMAT}\n".encode())
    for path, entry in plan.items():
        if entry.link is not None:
            what = f"link {entry.link}"
        elif entry.source is None and entry.text is None:
            what = "folder"
        else:
            what = f"file {hashlib.sha256(entry.content()).hexdigest()}"
        total.update(f"{path}\0{entry.mode:o}\0{entry.uid}\0{what}\n".encode())
    return total.hexdigest()


def source_stamp() -> str:
    """A digest over names, sizes and times of what a plan starts from: when it is unchanged, so is the plan. Reads no content."""
    total = hashlib.sha256(f"{sys.version} {_interpreter()}\n".encode())
    total.update(Path(__file__).read_bytes())  # What it takes, and how it lays it out.
    for path in _stamped():
        try:
            found = path.stat()
        except OSError:
            continue
        total.update(f"{path}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return total.hexdigest()


def make_plan() -> Plan:
    """Everything that the base image holds. Raises SandboxError when this machine lacks what every sandbox needs, OSError."""
    entries: dict[str, Entry] = {}
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    stdlib = f"usr/local/{sys.platlibdir}/{version}"
    binaries: list[Path] = [_interpreter()]
    entries[f"usr/local/bin/{version}"] = Entry(source=_interpreter(), mode=0o755)
    for name in ("python", "python3"):
        entries[f"usr/local/bin/{name}"] = Entry(link=version)
    for path, relative in _stdlib_files():
        entries[f"{stdlib}/{relative}"] = Entry(source=path)
        if path.suffix == ".so":
            binaries.append(path)
    for path, relative in _package_files():
        entries[f"{stdlib}/site-packages/{relative}"] = Entry(source=path)
    if f"{stdlib}/site-packages/pytest/__main__.py" in entries:
        entries["usr/local/bin/pytest"] = Entry(text=_pytest_script(), mode=0o755)
    for name, path in _tools().items():
        entries[f"usr/bin/{name}"] = Entry(source=path, mode=0o755)
        binaries.append(path)
    entries.update(_libraries(binaries, entries))
    entries.update(_data())
    return _with_folders(entries)


def _interpreter() -> Path:
    # In a virtual environment sys.executable is a link or a launcher; the base executable is the program itself.
    return Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()


def _stamped() -> Iterator[Path]:
    yield _interpreter()
    for path, _ in _stdlib_files():
        yield path
    for path, _ in _package_files():
        yield path
    yield from _tools().values()
    # A new C library comes with a new loader cache.
    yield Path("/etc/ld.so.cache")
    yield Path(_CERTIFICATES)


def _stdlib_files() -> Iterator[tuple[Path, str]]:
    seen = set()
    for key in ("stdlib", "platstdlib"):
        root = Path(
            sysconfig.get_path(key, vars={"base": sys.base_prefix, "platbase": sys.base_exec_prefix, "installed_base": sys.base_prefix})
        )
        if root in seen or not root.is_dir():
            continue
        seen.add(root)
        for folder, folders, files in os.walk(root):
            relative = Path(folder).relative_to(root)
            folders[:] = sorted(name for name in folders if not _LEFT_OUT.search(f"{relative.as_posix()}/{name}/".removeprefix("./")))
            for name in sorted(files):
                inside = (relative / name).as_posix()
                path = Path(folder, name)
                if not _LEFT_OUT.search(inside) and path.is_file():
                    yield path.resolve(), inside


def _package_files() -> Iterator[tuple[Path, str]]:
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - for whoever makes an image

    for name in PACKAGES:
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        for file in sorted(found.files or (), key=str):
            inside = file.as_posix()
            path = Path(str(found.locate_file(file)))
            if ".." not in file.parts and not _generated(inside) and path.is_file():
                yield path, inside


def _generated(inside: str) -> bool:
    return "__pycache__/" in inside or inside.endswith((".pyc", "direct_url.json", "/RECORD", "/INSTALLER", "/REQUESTED"))


def _tools() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name in TOOLS:
        where = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin")
        if where is not None:
            found[name] = Path(where).resolve()
    if missing := [name for name in NEEDED_TOOLS if name not in found]:
        raise SandboxError(f"The base image needs {', '.join(missing)}, which this machine does not have; install them.")
    return found


def _loaded_by(binaries: Iterable[Path]) -> list[Path]:
    """The closure of shared libraries, as the machine's own loader finds them. Raises SandboxError."""
    ldd = shutil.which("ldd", path="/usr/bin:/bin")
    if ldd is None:
        raise SandboxError("The base image is made with ldd, which this machine does not have; it comes with the C library's tools.")
    # What is no dynamic program is said so on stderr, and the others go on; the exit code means nothing.
    try:
        answer = subprocess.run(  # noqa: S603 - a fixed program over this machine's own files.
            [ldd, *map(str, binaries)],
            capture_output=True,
            text=True,
            timeout=_LDD_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"ldd did not answer within {_LDD_SECONDS} s; the base image could not be made.") from error
    return sorted({Path(match.group(1)) for line in answer.stdout.splitlines() if (match := _LOADED.search(line))})


def _libraries(binaries: Iterable[Path], taken: Plan) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    libraries = _loaded_by(binaries)
    if not libraries:
        raise SandboxError("ldd named no shared library of this machine's programs; the base image could not be made.")
    # Where the C library lies, every loader looks without being told.
    common = next((_image_path(each.parent) for each in libraries if each.name.startswith(("libc.so", "libc.musl"))), "usr/lib")
    prefix = Path(sys.base_prefix)
    for path in libraries:
        if path.is_relative_to(prefix) and prefix != Path("/usr"):
            inside = f"usr/local/{path.relative_to(prefix).as_posix()}"
        else:
            inside = _image_path(path)
        if inside not in taken:
            entries[inside] = Entry(source=path.resolve(), mode=0o755)
    for inside in list(entries):
        beside = f"{common}/{PurePosixPath(inside).name}"
        if PurePosixPath(inside).parent.as_posix() not in {common, "usr/lib", "usr/lib64"} and beside not in entries:
            entries[beside] = Entry(link=f"/{inside}")
    return entries


def _image_path(path: Path) -> str:
    inside = path.as_posix().lstrip("/")
    return f"usr/{inside}" if inside.split("/", 1)[0] in _MERGED else inside


def _data() -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for folder in _DATA_FOLDERS:
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and not path.is_symlink():
                executable = bool(path.stat().st_mode & stat.S_IXUSR)
                entries[path.as_posix().lstrip("/")] = Entry(source=path, mode=0o755 if executable else 0o644)
    for name in _TERMINALS:
        found = next((path for folder in _TERMINFO if (path := Path(folder, name[0], name)).is_file()), None)
        if found is not None:
            entries[f"usr/share/terminfo/{name[0]}/{name}"] = Entry(source=found.resolve())
    texts = {
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
        f"agent:x:1000:1000:agent:{AGENT_HOME}:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/:/bin/false\n",
        "etc/group": "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "etc/hostname": "sandbox\n",
        # What has a network gets the machine's own in its place.
        "etc/resolv.conf": "",
    }
    entries.update({path: Entry(text=text.encode()) for path, text in texts.items()})
    certificates = Path(_CERTIFICATES)
    if certificates.is_file():
        entries[_CERTIFICATES.lstrip("/")] = Entry(source=certificates.resolve())
    entries.update({name: Entry(link=f"usr/{name}") for name in ("bin", "lib", "lib64", "sbin")})
    entries["usr/sbin"] = Entry(link="bin")
    return entries


def _pytest_script() -> bytes:
    return b"#!/usr/local/bin/python3\nimport sys\nimport pytest\nsys.exit(pytest.main())\n"


def _with_folders(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    folders = {
        path: Entry(mode=0o755)
        for path in (
            "dev",
            "etc",
            "home",
            "opt",
            "proc",
            "root",
            "run",
            "sys",
            "usr/bin",
            "usr/lib",
            "usr/lib64",
            "usr/local/lib",
            "var/tmp",
        )
    }
    folders["tmp"] = Entry(mode=0o1777)
    folders[WORK_FOLDER.lstrip("/")] = Entry(mode=0o755, uid=1000)
    folders[AGENT_HOME.lstrip("/")] = Entry(mode=0o755, uid=1000)
    folders[GRADER_FOLDER.lstrip("/")] = Entry(mode=0o700)
    for path in [*entries, *folders]:
        for parent in PurePosixPath(path).parents:
            if parent.as_posix() != ".":
                folders.setdefault(parent.as_posix(), Entry(mode=0o755))
    whole = {**folders, **entries}
    # A folder's name is a prefix of what is in it, so it sorts first.
    return {path: whole[path] for path in sorted(whole)}
