"""The runner's side of an image: what a container of the harness sees of this machine, and the command that runs a program in one.

All that it sees is at the path at which this machine has it, so that commands are the same inside and outside.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_backend.jobs.launching import PLACES_VARIABLE
from local_backend.jobs.telling import VARIABLE
from local_backend.training.container import INSIDE, ContainerRequest
from local_backend.training.order import EvaluationOrder, OrderedImage

PROBLEM_FILE = "container-problem.json"
"""In the work folder: why a program could not be run, as a sentence."""

_REQUEST_FILE = "container.json"
_EXIT_FILE = "container-exit"
_CLIENT = "local_backend.training.container_client"
_CACHES = ("HF_HUB_CACHE", "HF_DATASETS_CACHE")
_CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_OF_THIS_MACHINE = frozenset(
    {"PATH", "PYTHONPATH", "HOME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "NODUS_CACHE"}
)
"""Variables that say nothing to an image."""


def hub_cache(environ: Mapping[str, str]) -> Path:
    """Where the libraries of the hub keep what they fetch."""
    if named := environ.get("HF_HOME"):
        return Path(named).expanduser()
    cache = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", "/")) / ".cache")
    return Path(cache).expanduser() / "huggingface"


def command_in(
    image: OrderedImage, order: EvaluationOrder, work: Path, environ: Mapping[str, str], command: Sequence[str], *, network: bool
) -> list[str]:
    """The command that runs a command in the order's image, with its environment as the container's. Raises OSError."""
    listed = environ.get("NVIDIA_VISIBLE_DEVICES", "void")
    uuids = listed.split(",") if listed not in {"", "void"} else []
    request = ContainerRequest(
        image=image.reference,
        name=order.job,
        workspace=order.workspace,
        python=order.python,
        command=tuple(command),
        folder=str(work),
        exit_file=str(work / _EXIT_FILE),
        cpus=order.cpus,
        memory_bytes=image.memory_bytes,
        network=network,
        mounts=tuple(_mounts(image, order, work, environ)),
        devices=tuple(zip(uuids, environ.get(PLACES_VARIABLE, "").split(","), strict=True)) if uuids else (),
    )
    (work / PROBLEM_FILE).unlink(missing_ok=True)
    (work / _REQUEST_FILE).write_text(request.to_text(), encoding="utf-8")
    return [sys.executable, "-P", "-m", _CLIENT, str(work / _REQUEST_FILE), str(work / PROBLEM_FILE)]


def problem_of(work: Path) -> str:
    """Why the last program could not be run in its container; empty where it could."""
    try:
        return str(json.loads((work / PROBLEM_FILE).read_text(encoding="utf-8"))["problem"])
    except (OSError, ValueError, KeyError):
        return ""


def container_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """What a container has of the environment of whoever runs it."""
    kept = {name: value for name, value in environ.items() if name not in _OF_THIS_MACHINE and not name.startswith("DOCKER_")}
    kept.pop(VARIABLE, None)
    kept.pop(PLACES_VARIABLE, None)
    temporary = environ.get("TMPDIR", "/tmp")  # noqa: S108 - the image's own
    return {**kept, "LANG": "C.UTF-8", "HOME": temporary, "HF_HOME": str(hub_cache(environ))}


def _mounts(image: OrderedImage, order: EvaluationOrder, work: Path, environ: Mapping[str, str]) -> list[tuple[str, str, str]]:
    written = [work, hub_cache(environ), *(Path(environ[name]) for name in ("TMPDIR", *_CACHES) if environ.get(name))]
    for folder in written:
        folder.mkdir(parents=True, exist_ok=True)
    read = [INSIDE, *(Path(each) for each in order.include_paths)]
    read += [Path(environ[name]) for name in _CERTIFICATES if environ.get(name)]
    if order.model.kind == "local":
        read += _of_model(Path(order.model.place))
    found = {str(path): (str(path), str(path), "ro") for path in read}
    found |= {str(path): (str(path), str(path), "rw") for path in written}
    return list((found | {mount[1]: mount for mount in image.mounts}).values())


def _of_model(place: Path) -> list[Path]:
    """A model's folder, and those in which its files really lie where they are links."""
    folder = place.parent if place.is_file() else place
    if not folder.is_dir():
        return []  # That it is not there is told where its files are looked at.
    linked = {each.resolve().parent for each in folder.iterdir() if each.is_symlink() and each.exists()}
    return [folder, *sorted(linked - {folder.resolve()})]
