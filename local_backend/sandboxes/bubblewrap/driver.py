"""The driver's libraries of this machine for sandboxes with accelerators: they must be of the kernel's driver, so no image has them."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

FOLDER = "/opt/nvidia"
"""Where a sandbox finds them."""

_LIBRARY = re.compile(r"^\s*((?:libcuda|libnvidia-[\w-]+|libcudadebugger|libnvoptix)\.so\.\d+) \(([^)]*)\) => (\S+)$", re.MULTILINE)
_NEEDED = frozenset(
    {"libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler", "libnvidia-nvvm", "libnvidia-gpucomp", "libnvidia-opencl", "libcudadebugger"}
)
"""What programs that compute load; what draws is left out."""
_PROGRAMS = ("nvidia-smi",)
_SEARCHED = ("/usr/bin", "/usr/local/bin", "/usr/local/nvidia/bin")
_SECONDS = 10.0


def driver_files() -> dict[str, str]:
    """Where each file is here, by where it is in a sandbox. Blocking; empty where there is no driver."""
    try:
        told = subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, timeout=_SECONDS, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    programs = [path for name in _PROGRAMS for folder in _SEARCHED if (path := Path(folder) / name).is_file()]
    return {**libraries_in(told.stdout), **{f"{FOLDER}/bin/{path.name}": str(path) for path in programs[:1]}}


def libraries_in(listed: str) -> dict[str, str]:
    """The same of libraries, from the loader's list. Of one name the first counts, as for the loader; those for other machines do not."""
    found: dict[str, str] = {}
    for name, kind, path in _LIBRARY.findall(listed):
        if name.partition(".")[0] in _NEEDED and ("x86-64" in kind or "AArch64" in kind):
            found.setdefault(f"{FOLDER}/lib/{name}", path)
    return found


def variables(files: Iterable[str], path: str) -> Mapping[str, str]:
    """By what programs find them. `path`: the folders of programs that they search anyway."""
    return {"LD_LIBRARY_PATH": f"{FOLDER}/lib", "PATH": f"{path}:{FOLDER}/bin"} if any(files) else {}
