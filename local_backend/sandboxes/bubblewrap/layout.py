"""Which folders of a sandbox are writable, whose they are, and how large: the same in every engine."""

from msgspec import Struct

from local_backend.sandboxes.interface import AGENT_HOME, GRADER_FOLDER, SandboxRequest

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - of the sandbox.
_TEMPORARY = "/tmp"  # noqa: S108 - of the sandbox.
_SHARED_MEMORY_MOST = 64 << 20


class WritableFolder(Struct, frozen=True):
    """One writable folder, a file system in memory of its own."""

    path: str
    size_bytes: int
    mode: int
    uid: int
    """Its owner, inside."""


def writable_folders(request: SandboxRequest) -> tuple[WritableFolder, ...]:
    """All of them, outer ones before those inside them. Their sizes together are what its limits let it store.

    Half is the work folder's. The rest is shared alike by /tmp (of which /dev/shm takes a part), the agent's home, the extra folders, and
    /grader where the sandbox is for a grader.
    """
    half = request.limits.storable_bytes // 2
    others = dict.fromkeys((_TEMPORARY, AGENT_HOME, *request.extra_folders))
    if request.purpose in {"grading", "check", "probe"}:
        others[GRADER_FOLDER] = None
    others.pop(request.workdir, None)
    share = half // max(1, len(others))
    shared_memory = min(_SHARED_MEMORY_MOST, share // 4)
    folders = [WritableFolder(request.workdir, half, 0o755, 1000), WritableFolder(_SHARED_MEMORY, shared_memory, 0o1777, 0)]
    for path in others:
        if path == GRADER_FOLDER:
            folders.append(WritableFolder(path, share, 0o700, 0))
        elif path == AGENT_HOME:
            folders.append(WritableFolder(path, share, 0o755, 1000))
        elif path == _TEMPORARY:
            folders.append(WritableFolder(path, share - shared_memory, 0o1777, 0))
        else:
            folders.append(WritableFolder(path, share, 0o1777, 0))
    return tuple(sorted(folders, key=lambda folder: folder.path))
