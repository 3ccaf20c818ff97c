"""How far an engine can be trusted, from what it says of itself. Pure; whether it keeps its word is the probe run's to see."""

from collections.abc import Mapping
from typing import Any

from local_backend.sandboxes.interface import EngineFacts, SandboxError

_CONTROLLERS = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "CPU"}


def engine_facts(version: Mapping[str, Any], info: Mapping[str, Any]) -> EngineFacts:
    """Raises SandboxError for an engine that cannot make sandboxes."""
    if any("podman" in str(part.get("Name", "")).lower() for part in version.get("Components") or ()):
        # Tried with 4.3: folders in memory are root's whatever is asked, there are user namespaces inside, and stdin breaks off.
        raise SandboxError("what answers is Podman's service, which cannot give folders to the agent: use a Docker engine, or bubblewrap")
    if info.get("OSType", "linux") != "linux":
        raise SandboxError(f"the Docker engine runs {info['OSType']} containers: switch it to Linux containers")
    security = [str(option) for option in info.get("SecurityOptions") or ()]
    weaknesses = []
    lacking = [name for field, name in _CONTROLLERS.items() if not info.get(field)]
    old_rootless = is_rootless(info) and str(info.get("CgroupVersion", "1")) == "1"
    if old_rootless:
        weaknesses.append(
            "The engine is rootless on cgroup v1, which ignores limits without a word: boot with systemd.unified_cgroup_hierarchy=1, "
            "or use an engine that runs as root."
        )
    elif lacking:
        weaknesses.append(f"The engine cannot limit {' and '.join(lacking)}: enable the cgroup controllers of the engine's machine.")
    if not any("seccomp" in option for option in security):
        weaknesses.append("The engine filters no system calls: start it with seccomp.")
    if not info.get("SwapLimit") and not lacking:
        weaknesses.append("The engine cannot keep sandboxes from swapping: boot its machine with swapaccount=1, or without swap.")
    return EngineFacts(
        engine="docker",
        version=str(version.get("Version", "")),
        isolation="weaker" if old_rootless or lacking else "full",
        weaknesses=tuple(weaknesses),
        images=True,
    )


def takes_filter(info: Mapping[str, Any]) -> bool:
    """Whether sandboxes get our own filter of system calls."""
    return any("name=seccomp" in str(option) for option in info.get("SecurityOptions") or ())


def is_rootless(info: Mapping[str, Any]) -> bool:
    """Whether a user runs it without being root."""
    return any("name=rootless" in str(option) for option in info.get("SecurityOptions") or ())
