"""The route to the server's machine: what viewers see of other people's processes."""

from pathlib import Path
from typing import Any, cast

import pytest
from api_place import ApiPlace, over_tcp

from local_backend.daemon.access import Role
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.hardware_view import GpuDevice, GpuProcess, HardwareView, MachineFact, MigDevice

NAMED = GpuProcess(pid=7, kind="compute", user="ann", command="python train.py --api-key sk-secret", memory_bytes=1)
NAMELESS = GpuProcess(pid=8, kind="compute", user=None, command=None, memory_bytes=None)
VIEW = HardwareView(
    at="2026-01-01T00:00:00Z",  # type: ignore[arg-type]  # pydantic reads it
    machine=MachineFact(host="here"),
    devices=(
        GpuDevice(index=0, uuid="GPU-0", name="H100", processes=(NAMED, NAMELESS)),
        GpuDevice(index=1, uuid="GPU-1", name="H100", mig_devices=(MigDevice(index=0, uuid="MIG-0", name="1g", processes=(NAMED,)),)),
    ),
)


class Machine:
    """As much of a backend as this route asks."""

    async def gpus(self, *, history: bool = False) -> HardwareView:
        return VIEW


@pytest.mark.parametrize(("role", "command"), [(Role.OPERATOR, NAMED.command), (Role.VIEWER, "python")])
async def test_a_viewer_sees_programs_without_their_arguments(role: Role, command: str, tmp_path: Path) -> None:
    place = ApiPlace(tmp_path)
    place.home.mkdir()
    token = place.token("somebody", role)
    async with place.serving(cast("Backend", Machine())) as served, over_tcp(served, token) as client:
        told: dict[str, Any] = (await client.get("/v1/gpus")).json()
        assert [each["command"] for each in told["devices"][0]["processes"]] == [command, None]
        assert told["devices"][1]["processes"] is None
        assert told["devices"][1]["migDevices"][0]["processes"][0]["command"] == command
        assert (await client.get("/v1/gpus?histroy=true")).status_code == 422
