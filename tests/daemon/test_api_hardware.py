"""The route to the server's machine: what viewers see of other people's processes."""

import re
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from api_place import ApiPlace, over_tcp

sys.path.append(str(Path(__file__).parent.parent / "view_state"))
from console_records import group
from job_records import job, training_job

from local_backend.daemon.access import Role
from local_backend.daemon.server import TcpListen
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.events import Snapshot
from nodus_tui.contract.hardware_view import GpuDevice, GpuProcess, HardwareView, MachineFact, MigDevice
from nodus_tui.contract.resources.budget import Budget

NAMED = GpuProcess(pid=7, kind="compute", user="ann", command="python train.py --api-key sk-secret", memory_bytes=1)
NAMELESS = GpuProcess(pid=8, kind="compute", user=None, command=None, memory_bytes=None)
ODD = 'H"1\\0\n0'
VIEW = HardwareView(
    at="2026-01-01T00:00:00Z",  # type: ignore[arg-type]  # pydantic reads it
    machine=MachineFact(host="here"),
    devices=(
        GpuDevice(index=0, uuid="GPU-0", name=ODD, processes=(NAMED, NAMELESS)),
        GpuDevice(
            index=1,
            uuid="GPU-1",
            name="H100",
            memory_used_bytes=85899345921,
            mig_devices=(MigDevice(index=0, uuid="MIG-0", name="1g", memory_used_bytes=7, processes=(NAMED,)),),
        ),
    ),
)


BUDGET = Budget.model_validate(
    {
        "metadata": {"name": "month"},
        "spec": {"limitUSD": "200"},
        "status": {"spentUSD": "160.25", "leftUSD": "39.75", "blocking": True, "periodStartedAt": VIEW.at, "updatedAt": VIEW.at},
    }
)


class Machine:
    """As much of a backend as these routes ask."""

    async def snapshot(self, *, runs_of: str | None = None) -> Snapshot:
        groups = (group("hello", cap="12.345678901", spent="0.1"),)
        jobs = (job("serve", cost_usd="0.00000002"), job("train", progress=0.25, cap_usd="2"))
        return Snapshot(cursor=1, groups=groups, runs=(), jobs=jobs, training_jobs=(training_job("score"),), budgets=(BUDGET,))

    async def info(self, *, probe: bool = False) -> BackendInfo:
        return BackendInfo(name="m", version="0", workspace="w", scheduling=True, scheduler_elsewhere=False, sandboxes_running=3)

    async def gpus(self, *, history: bool = False, rates: bool = True) -> HardwareView:
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


SERIES = re.compile(r'[a-z_]+(\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"(,[a-z]+="(?:[^"\\\n]|\\["\\n])*")*\})? [0-9.e+-]+')
"""A line of the text format, as its documentation has it."""


async def test_prometheus_reads_devices_groups_jobs_budgets_and_sandboxes_with_a_viewers_token(tmp_path: Path) -> None:
    place = ApiPlace(tmp_path)
    place.home.mkdir()
    token = place.token("prometheus", Role.VIEWER)
    async with (
        place.serving(cast("Backend", Machine()), listen=TcpListen(metrics=True)) as served,
        over_tcp(served, token) as client,
    ):
        answer = await client.get("/v1/metrics")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        lines = answer.text.splitlines()
        assert [each for each in lines if not each.startswith("#") and not SERIES.fullmatch(each)] == []
        assert r'nodus_gpu_up{gpu="0",uuid="GPU-0",name="H\"1\\0\n0"} 1' in lines
        assert 'nodus_gpu_memory_used_bytes{gpu="1",uuid="GPU-1",name="H100"} 85899345921' in lines
        assert not any("nodus_gpu_utilization_ratio{" in each for each in lines), "what is not told has no series"
        assert "nodus_sandboxes_running 3" in lines
        assert 'nodus_group_cap_usd{group="hello"} 12.345678901' in lines
        assert 'nodus_mig_memory_used_bytes{gpu="1",uuid="MIG-0",name="1g"} 7' in lines
        told = {name: float(value) for name, _, value in (each.rpartition(" ") for each in lines if not each.startswith("#"))}
        assert told['nodus_job_phase{job="serve",phase="Running"}'] == told['nodus_job_phase{job="score",phase="Running"}'] == 1
        assert (told['nodus_job_cost_usd{job="serve"}'], told['nodus_job_cap_usd{job="serve"}']) == (2e-8, 0.5)
        assert (told['nodus_job_progress_ratio{job="train"}'], told['nodus_job_cap_usd{job="train"}']) == (0.25, 2)
        spent, limit, blocking = (told[f'nodus_budget_{each}{{budget="month"}}'] for each in ("spent_usd", "limit_usd", "blocking"))
        assert (spent, limit, blocking) == (160.25, 200, 1)
        names = [each.split()[2] for each in lines if each.startswith("# TYPE")]
        assert len(names) == len(set(names))


async def test_without_being_asked_for_there_are_no_metrics(tmp_path: Path) -> None:
    place = ApiPlace(tmp_path)
    place.home.mkdir()
    async with place.serving(cast("Backend", Machine())) as served, over_tcp(served, place.token("a", Role.OPERATOR)) as client:
        assert (await client.get("/v1/metrics")).status_code == 404
