"""Jobs that are images, on devices, at a real Docker engine without GPUs: its refusal is told in words that help."""

import sys
from pathlib import Path

import pytest
from cards_here import own_card
from job_place import job, until, whole_log, workspace
from nvml_here import Nvml, compile_library

sys.path.append(str(Path(__file__).parent.parent / "sandboxes"))
from docker_engines import user_engine

from local_backend.devices.machine_claims import held
from local_backend.sandboxes.docker.gpus import NO_GPUS

pytestmark = pytest.mark.timeout(100)


@pytest.fixture
def nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nvml:
    made = Nvml(tmp_path / "nvml", compile_library(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(made.folder))
    return made


async def test_an_engine_without_gpus_says_what_to_install_and_the_device_is_free_again(tmp_path: Path, nvml: Nvml) -> None:
    nvml.tell(one := own_card(0))
    async with user_engine() as engine:
        image = f"nodus/base:{(await engine.prepare(None)).partition('@sha256:')[2]}"
        async with workspace(tmp_path, 'rates: {H100: "0"}') as backend:
            await backend.apply(job(command="true", image=image, hardware="H100"))
            failed = await until(backend)
            assert (failed.phase, failed.reason, failed.devices) == ("Failed", "NotStarted", (one.uuid,))
            assert NO_GPUS in failed.message
            assert one.uuid not in held()
            await backend.apply(job("without", "echo $NVIDIA_VISIBLE_DEVICES.$CUDA_VISIBLE_DEVICES.", image=image))
            assert (await until(backend, name="without")).phase == "Succeeded"
            assert await whole_log(backend, "without") == "void..\n"
