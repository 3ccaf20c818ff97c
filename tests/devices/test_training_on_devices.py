"""A TrainingJob on several devices, from spec to scores: torchrun starts a process for each. The harness and torch are STAND-INS."""

from decimal import Decimal
from pathlib import Path

import pytest
from cards_here import own_card
from nvml_here import GIB, Nvml
from training_place import TrainingPlace, log_of, output, stand_in_python, until

from local_backend.devices.machine_claims import held

pytestmark = pytest.mark.timeout(60)


async def test_torchrun_has_a_process_for_each_device_that_was_given_and_what_it_took_is_measured(tmp_path: Path, nvml: Nvml) -> None:
    one, two, small = own_card(0), own_card(1), own_card(2, "NVIDIA L4", memory_total=24 * GIB)
    nvml.tell(one, two, small)
    place = TrainingPlace(tmp_path, stand_in_python(tmp_path))
    place.sums(40)
    place.behave(hold_after=20, hold=str(tmp_path / "go"))
    # None of the first kind is here, and of the second there is one too few: the third will do.
    resources = {"hardware": ["L40S", "L4", "H100"], "accelerators": 2, "cpus": 1}
    bundle = place.benchmark("sums", parameters={"limit": 40}, resources=resources)
    async with place.backend() as backend:
        await backend.apply(bundle)
        status = await until(backend, lambda status: (status.progress or 0) >= 0.5)
        assert (status.hardware, status.devices) == ("H100", (one.uuid, two.uuid))
        assert {one.uuid, two.uuid} <= held().keys()
        (tmp_path / "go").touch()
        status = await until(backend)
        log = await log_of(backend)
        assert status.phase == "Succeeded", log
        assert all(f"STAND-IN, rank {rank}" in log for rank in (0, 1))
        seen = (await output(backend, "harness/results_now.json"))["seen"]
        assert seen["environ"]["CUDA_VISIBLE_DEVICES"] == f"{one.uuid},{two.uuid}"
        assert (seen["environ"]["WORLD_SIZE"], seen["arguments"]["device"]) == ("2", "cuda")
        assert (await output(backend, "provenance.json"))["hardware"] == {"name": "H100", "devices": 2, "cpus": 1.0}
        assert not {one.uuid, two.uuid} & held().keys()
        (estimate,) = await backend.estimate(bundle, minutes_per_case=Decimal(1))
        assert any("measured here on H100, over 40 samples" in note for note in estimate.notes), estimate.notes
