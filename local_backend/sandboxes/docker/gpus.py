"""How an engine gives accelerators to a container: by NVIDIA's runtime, or by CDI (the Container Device Interface). Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from local_backend.sandboxes.interface import SandboxDevice, SandboxRefusedError

_CDI_KIND = "nvidia.com/gpu="
_NO_WAY = "could not select device driver"
"""What an engine says that has neither."""

NO_GPUS = (
    "the Docker engine cannot give GPUs to containers: install the NVIDIA Container Toolkit on its machine and register it "
    "(`nvidia-ctk runtime configure --runtime=docker`, or `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`), then restart the engine"
)


def device_requests(devices: Sequence[SandboxDevice], info: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`HostConfig.DeviceRequests` for an engine that says this of itself. Raises SandboxRefusedError."""
    if not devices:
        return []
    discovered = {str(each.get("ID")) for each in info.get("DiscoveredDevices") or () if each.get("Source") == "cdi"}
    listed = any(name.startswith(_CDI_KIND) for name in discovered)
    if "nvidia" in (info.get("Runtimes") or {}) or not listed:
        return [{"Driver": "", "DeviceIDs": [each.uuid for each in devices], "Capabilities": [["gpu"]]}]
    return [{"Driver": "cdi", "DeviceIDs": [_cdi_name(each, discovered) for each in devices]}]


def _cdi_name(device: SandboxDevice, discovered: set[str]) -> str:
    """The uuid's where there is one, for the number may be another after a restart of the driver."""
    for name in (f"{_CDI_KIND}{device.uuid}", f"{_CDI_KIND}{device.place}"):
        if name in discovered:
            return name
    raise SandboxRefusedError(
        f"the Docker engine knows no device {device.place} ({device.uuid}): write its CDI specification anew (`nvidia-ctk cdi generate "
        "--output=/etc/cdi/nvidia.yaml`)"
    )


def explained(message: str) -> str:
    """What an engine says of a failed start, in words that help where it gives no GPUs at all."""
    return NO_GPUS if _NO_WAY in message else message
