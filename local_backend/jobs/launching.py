"""From a job's spec to the order for its supervisor: its folder, its environment, its limits. Says what this version cannot run."""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from local_backend.jobs.deadlines import Deadlines
from local_backend.jobs.order import LOG_FOLDER, NEW_REPORT_FILE, TEMPORARY_FOLDER, WORK_FOLDER, ImageOrder, NeededImage, Order
from local_backend.jobs.outputs import KEPT_FOLDER
from local_backend.jobs.ports import port_problem
from local_backend.jobs.process_tree import MARK
from local_backend.jobs.removing import remove_tree
from local_backend.jobs.telling import TOLD_FILE, VARIABLE
from local_backend.own_code import own_code
from local_backend.sandboxes.interface import device_variables
from local_backend.storage.job_records import JobRecord
from nodus_tui.contract.resources.job import JobSpec

_GIB = 1 << 30
_KEPT_NAMES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""What a command gets of the scheduler's environment without asking. Keys are not among it."""
_ENGINE_NAMES = (
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_TLS",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
    "HOME",
    "PATH",
    "XDG_RUNTIME_DIR",
)
"""What the supervisor of an image needs to find the engine and the registries' credentials."""
PLACES_VARIABLE = "NODUS_DEVICE_PLACES"
"""Where a command finds the numbers of its devices as the driver counts them, in the order of NVIDIA_VISIBLE_DEVICES."""
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


class NotStartedError(Exception):
    """It cannot be started as its spec has it; the text is a sentence about it."""


def unsupported(spec: JobSpec) -> str:
    """Why this version has no engine for a job, as a sentence without its subject; empty where it has one."""
    if spec.mounts and spec.image is None:
        return "a command without an image sees this machine's files where they are: leave mounts out"
    return ""


def job_folder(home: Path, name: str) -> Path:
    """Where everything of a job lies. A job's name is a DNS label, so it is a safe file name."""
    return home / "jobs" / name


def work_folder(home: Path, record: JobRecord) -> Path:
    """Where its command starts, and its outputs lie."""
    spec = record.job
    named = spec.working_dir
    if named is None or spec.image is not None:
        return job_folder(home, record.name) / WORK_FOLDER
    return Path(record.folder or "/") / named


def missing(spec: JobSpec, folder: str | None, environ: Mapping[str, str]) -> str:
    """What of it this machine does not have, as a sentence without its subject; empty where all is there."""
    absent = [name for name in spec.env_from if name not in environ]
    if spec.serve is not None and (key := spec.serve.api_key_env) is not None and not environ.get(key):
        return f"serve.apiKeyEnv names {key}, which the scheduler's environment does not have"
    if absent:
        return f"envFrom names {', '.join(absent)}, which the scheduler's environment does not have"
    if spec.image is not None:
        gone = [str(source) for source in _sources(spec, folder) if not source.exists()]
        return f"its mounts name {', '.join(gone)}, which is not there" if gone else ""
    if spec.working_dir is not None and not (found := Path(folder or "/") / spec.working_dir).is_dir():
        return f"its workingDir {found} is no folder here"
    return ""


def _sources(spec: JobSpec, folder: str | None) -> list[Path]:
    return [Path(folder or "/") / mount.source for mount in spec.mounts]


def prepare(home: Path, record: JobRecord) -> Path:
    """Make its folder afresh, for its owner alone. Blocking. Raises OSError."""
    folder = job_folder(home, record.name)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Work of an image's is what was fetched out of its container; a command's may be there before. Why an attempt ended is in its log.
    again = {TEMPORARY_FOLDER, KEPT_FOLDER, TOLD_FILE, NEW_REPORT_FILE, *((WORK_FOLDER,) if record.job.image else ())}
    for name in again if record.attempt > 1 else {*again, LOG_FOLDER}:
        _remove(folder / name)
    for left in folder.iterdir():
        # What a command put in the place of a file of ours, a pipe say, would hold up who opens it.
        if not (left.is_file() or left.is_dir()):
            left.unlink()
    for name in (TEMPORARY_FOLDER, WORK_FOLDER):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    return folder


def _remove(path: Path) -> None:
    """Whatever the command made of it: a folder where a file was, say."""
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def needed_image(image: str, environ: Mapping[str, str]) -> NeededImage:
    """An image that a command uses by itself, for its supervisor."""
    return NeededImage(image, _engine_environ(environ))


def _engine_environ(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in _ENGINE_NAMES if name in environ}


def order_for(
    home: Path,
    record: JobRecord,
    deadlines: Deadlines,
    environ: Mapping[str, str],
    *,
    grace: timedelta,
    log_bytes: int,
    min_free_bytes: int = 0,
    devices: Sequence[tuple[str, str]] = (),
    claims: Sequence[int] = (),
) -> Order:
    """The order. Raises NotStartedError when the environment lacks what it needs, or its port is taken. Blocking, for a moment.

    `devices`: uuid and place of each accelerator that it was given; `claims`: what its supervisor must inherit for them.
    """
    spec = record.job
    if lacking := missing(spec, record.folder, environ):
        raise NotStartedError(lacking)
    if spec.serve is not None and spec.image is None and (taken := port_problem(spec.serve.port)):
        raise NotStartedError(taken)
    folder = job_folder(home, record.name)
    port = {} if spec.serve is None else {"PORT": str(spec.serve.port), "NODUS_PORT": str(spec.serve.port)}
    asked = {**port, **{name: environ[name] for name in spec.env_from}, **spec.env, "NODUS_JOB": record.name}
    # Last, whatever the spec says: which devices it sees is not its own to choose.
    asked |= device_variables([uuid for uuid, _ in devices])
    own = {
        "PATH": os.defpath or _DEFAULT_PATH,
        "LANG": "C.UTF-8",
        "TMPDIR": str(folder / TEMPORARY_FOLDER),
        "NODUS_HARDWARE": record.hardware or spec.hardware,
        VARIABLE: str(folder / TOLD_FILE),
        **({PLACES_VARIABLE: ",".join(place for _, place in devices)} if devices else {}),
        # Its runner is a process of ours, and so are the graders that it starts.
        **({"PYTHONPATH": own_code(environ)} if record.kind == "TrainingJob" else {}),
        **{name: environ[name] for name in _KEPT_NAMES if name in environ},
    }
    image = None
    if spec.image is not None:
        image = ImageOrder(
            image=spec.image,
            name=record.name,
            workspace=str(home),
            mounts=[
                (str(source), mount.target, "ro" if mount.read_only else "rw")
                for source, mount in zip(_sources(spec, record.folder), spec.mounts, strict=True)
            ],
            outputs=spec.outputs,
            engine_environ=_engine_environ(environ),
            port=spec.serve.port if spec.serve is not None else None,
            devices=[list(each) for each in devices],
        )
    return Order(
        folder=str(folder),
        token=record.token,
        command=spec.command,
        working_dir=str(work_folder(home, record)) if image is None else spec.working_dir or "",
        environ={**own, **asked, MARK: record.token} if image is None else asked,
        network=spec.network,
        cpus=spec.cpus,
        memory_bytes=round(spec.memory_gib * _GIB),
        ask_us=deadlines.ask_us,
        ask_reason=deadlines.reason,
        last_us=deadlines.last_us,
        grace_us=grace // timedelta(microseconds=1),
        log_bytes=log_bytes,
        min_free_bytes=min_free_bytes,
        attempt=record.attempt,
        claims=list(claims),
        image=image,
    )
