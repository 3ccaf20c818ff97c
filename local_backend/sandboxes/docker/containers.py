"""What a sandbox is as a container: its configuration, and what its labels tell. Pure: nothing is asked or started here."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from local_backend.sandboxes.docker.seccomp import profile
from local_backend.sandboxes.interface import (
    AGENT_HOME,
    GRADER_FOLDER,
    FoundSandbox,
    Owner,
    SandboxRefusedError,
    SandboxRequest,
    device_variables,
)

RUN_LABEL = "nodus.run"
"""Every container of ours has it, and nobody else's."""

TEMPORARY = "/tmp"  # noqa: S108 - the sandbox's own, not this machine's.
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - likewise.
_SHARED_MEMORY_BYTES = 64 << 20
_BYTES_PER_INODE = 4096
_PLAIN = re.compile(r"[^:,\x00-\x1f]+")
"""The engine's options separate by colons and commas."""

_FORBIDDEN = ("/proc", "/sys", "/dev", GRADER_FOLDER)


class ImageFacts(Struct, frozen=True):
    """What is known of an image that is here."""

    id: str
    reference: str
    """Its name with its digest, or its id where no registry gave it one."""
    volumes: tuple[str, ...] = ()
    """Folders that the image declares as volumes."""


def check_request(request: SandboxRequest) -> None:
    """Raise SandboxRefusedError for what no container can be."""
    _check_folder("the work folder", request.workdir)
    for each in request.extra_folders:
        _check_folder("an extra folder", each)


def _check_folder(what: str, path: str) -> None:
    folder = PurePosixPath(path)
    if not folder.is_absolute() or ".." in folder.parts or len(folder.parts) < 2 or not _PLAIN.fullmatch(path):
        raise SandboxRefusedError(f"{what} {path!r} is no absolute path of a folder in a sandbox, in plain letters")
    if any(folder == PurePosixPath(each) or PurePosixPath(each) in folder.parents for each in _FORBIDDEN):
        raise SandboxRefusedError(f"{what} cannot be {path!r}: a sandbox has its own files there")


def writable_folders(request: SandboxRequest, volumes: Sequence[str]) -> dict[str, int]:
    """All writable folders with their sizes in bytes, together what the request's limits let it store: half for the work folder, the rest
    in equal parts, and /dev/shm out of the part of /tmp. An image's volumes are among them, for a volume of the engine's would have no
    limit.
    """
    work = str(PurePosixPath(request.workdir))
    named = [TEMPORARY, AGENT_HOME, *request.extra_folders, *volumes, *([GRADER_FOLDER] if _for_grader(request) else ())]
    others = [path for path in dict.fromkeys(named) if path != work]
    half = request.limits.storable_bytes // 2
    sizes = {work: half} | {path: half // len(others) for path in others}
    shared_memory = min(_SHARED_MEMORY_BYTES, half // len(others) // 4)
    sizes[TEMPORARY] -= shared_memory
    return sizes | {SHARED_MEMORY: shared_memory}


def labels(run: str, purpose: str, owner: Owner, image: str, *, network: bool) -> dict[str, str]:
    """What every container of ours carries: by it the reaper knows whose it is, and whether its owner still lives."""
    return {
        RUN_LABEL: run,
        "nodus.purpose": purpose,
        "nodus.host": owner.host,
        "nodus.pid": str(owner.pid),
        "nodus.started": owner.started,
        "nodus.workspace": owner.workspace,
        "nodus.image": image,
        "nodus.network": "yes" if network else "no",
    }


def container_config(
    request: SandboxRequest, image: ImageFacts, *, filtered: bool = True, gpus: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The body of the engine's create request.

    `filtered`: with our own filter of system calls, which not every engine takes. `gpus`: how this engine gives the request's devices.
    """
    limits = request.limits
    folders = writable_folders(request, image.volumes)
    shared_memory = folders.pop(SHARED_MEMORY)
    tmpfs = {path: _tmpfs(size, _owner(path, request)) for path, size in folders.items()}
    owner = request.owner
    # Without devices: an image may name some in its own environment, which an engine might give it.
    seen = device_variables([each.uuid for each in request.devices]) if request.devices else {"NVIDIA_VISIBLE_DEVICES": "void"}
    environ = {**request.environ, **seen}
    return {
        "Image": image.id,
        # The init reaps what the agent leaves, and ends with the one program that it runs. Both are root's: the agent cannot touch them.
        "Entrypoint": ["sleep"],
        "Cmd": [str(max(1, math.ceil(request.lifetime_seconds)))],
        "User": "0:0",
        "Hostname": "sandbox",
        "WorkingDir": "/",
        "Env": [f"{name}={value}" for name, value in environ.items()],
        "Healthcheck": {"Test": ["NONE"]},
        "StopTimeout": 1,
        "Labels": labels(request.run, request.purpose, owner, image.reference, network=request.network),
        "HostConfig": {
            "Init": True,
            # It goes by itself when its lifetime is over, also when nobody of ours lives any more.
            "AutoRemove": True,
            "NetworkMode": "default" if request.network else "none",
            "CapDrop": ["ALL"],
            # Root ends the agent's programs, whatever they do against it. The grader also starts code as the other user.
            "CapAdd": ["SETUID", "SETGID", "KILL"] if _for_grader(request) else ["KILL"],
            "SecurityOpt": ["no-new-privileges", *([f"seccomp={profile()}"] if filtered else [])],
            "Privileged": False,
            "ReadonlyRootfs": True,
            # As engines have it without being asked, and /dev, which is a file system in memory that root could fill.
            "ReadonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/dev"],
            "Tmpfs": tmpfs,
            "ShmSize": shared_memory,
            "IpcMode": "private",
            "Memory": limits.memory_bytes,
            "MemorySwap": limits.memory_bytes,  # Memory and swap together: no swap.
            "NanoCpus": round(limits.cpus * 1e9),
            "PidsLimit": limits.pids,
            "DeviceRequests": list(gpus),
            "Ulimits": [
                {"Name": "nofile", "Soft": limits.open_files, "Hard": limits.open_files},
                {"Name": "core", "Soft": 0, "Hard": 0},
                {"Name": "fsize", "Soft": limits.disk_bytes, "Hard": limits.disk_bytes},
            ],
            "LogConfig": {"Type": "none", "Config": {}},
            "RestartPolicy": {"Name": "no"},
        },
    }


def found_sandbox(listed: Mapping[str, Any]) -> FoundSandbox:
    """A container of the engine's list. Labels that are missing or damaged give an owner that nobody is."""
    labels: Mapping[str, str] = listed.get("Labels") or {}
    pid = labels.get("nodus.pid", "")
    created = listed.get("Created")
    return FoundSandbox(
        id=str(listed["Id"]),
        engine="docker",
        run=labels.get(RUN_LABEL, ""),
        purpose=labels.get("nodus.purpose", ""),
        owner=Owner(
            host=labels.get("nodus.host", ""),
            pid=int(pid) if pid.isdecimal() else 0,
            started=labels.get("nodus.started", ""),
            workspace=labels.get("nodus.workspace", ""),
        ),
        image=labels.get("nodus.image") or str(listed.get("Image", "")),
        created_at=datetime.fromtimestamp(created, UTC) if isinstance(created, int | float) else None,
        network=labels.get("nodus.network") == "yes",
    )


def _for_grader(request: SandboxRequest) -> bool:
    return request.purpose not in {"episode", "sandbox"}


def _owner(path: str, request: SandboxRequest) -> tuple[str, int]:
    """Mode and uid of a folder."""
    if path == GRADER_FOLDER:
        return "0700", 0
    # Both users write to these, and neither removes the other's files.
    return ("1777", 0) if path == TEMPORARY or path in request.extra_folders else ("0755", 1000)


def _tmpfs(size: int, owner: tuple[str, int]) -> str:
    mode, uid = owner
    # At least a page and some files: 0 would mean no limit.
    return f"rw,exec,nosuid,nodev,size={max(size, 4096)},nr_inodes={max(size // _BYTES_PER_INODE, 64)},mode={mode},uid={uid},gid={uid}"
