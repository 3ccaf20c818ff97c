"""The example question set loads and can be graded."""

from pathlib import Path

import yaml

from local_backend.environments.catalogue import own_environment
from local_backend.environments.client import EnvironmentWorker, check
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER

FOLDER = Path(__file__).parents[2] / "examples" / "environments"


async def test_the_example_environment() -> None:
    document = next(yaml.safe_load_all((FOLDER / "general.yaml").read_text()))
    document["spec"]["file"] = str(FOLDER / document["spec"]["file"])
    resolved = own_environment(Environment.model_validate(document))
    assert (await check(resolved)).tasks == {"train": 4, "test": 20}
    async with await EnvironmentWorker.start(resolved, split="test", seed=0, tasks=20) as worker:
        for task in worker.batch.tasks:
            assert (await worker.grade(task.id, REFERENCE_PLACEHOLDER, simulated=True)).verdict is Verdict.CORRECT
