"""The examples of served models: each is valid, and the small one is run with the real model and server of the extra `local-model`."""

import os
import sys
from pathlib import Path

import pytest
from engine_place import at_rest, runs
from free_ports import free_port
from job_place import until, workspace

from local_backend.models.local_server import local_model_problem
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

pytestmark = pytest.mark.timeout(110)
EXAMPLES = Path(__file__).parents[2] / "examples" / "serving"


def bundle(path: Path, text: str | None = None) -> SpecBundle:
    return load_specs([SpecSource(str(path), path.read_bytes() if text is None else text.encode(), path.parent)])


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
async def test_every_example_is_valid(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "token")
    async with workspace(tmp_path, "") as backend:
        outcome = await backend.apply(bundle(path), dry_run=True)
        assert "Job" in {each.kind for each in outcome.documents}


async def test_a_real_model_is_served_for_its_group_and_stopped_after(tmp_path: Path) -> None:
    if problem := local_model_problem():
        assert not os.environ.get("CI"), f"CI must have the local model: {problem}"
        pytest.skip(problem)
    path = EXAMPLES / "local-model.yaml"
    text = path.read_text().replace("8377", str(free_port())).replace("command: [python,", f"command: [{sys.executable},")
    text = text.replace("tasks: 10", "tasks: 4").replace("startTimeout: 2m", "startTimeout: 2m\n    stopAfter: 0s")
    async with workspace(tmp_path, "") as backend:
        await backend.apply(bundle(path, text))
        status = await at_rest(backend, "smollm2-arithmetic")
        assert (status.phase, status.coverage.scored) == ("Completed", 4)
        assert not status.simulated
        assert status.money.model_usd == 0
        for run in await runs(backend, name="smollm2-arithmetic"):
            assert run.status is not None
            assert run.status.output_tokens > 0
        ended = await until(backend, name="smollm2-server")
        assert (ended.phase, ended.reason) == ("Succeeded", "NoLongerUsed")
        assert ended.cost_usd > 0
