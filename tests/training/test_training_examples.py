"""The examples of TrainingJobs: each is valid where there is the harness. One's own tasks are scored in test_real_harness."""

from pathlib import Path

import pytest
from training_place import TrainingPlace

from nodus_tui.contract.evaluation import requirements
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.loader import SpecSource, load_configuration, load_specs

EXAMPLES = Path(__file__).parents[2] / "examples" / "training"


def bundle(path: Path) -> SpecBundle:
    return load_specs([SpecSource(str(path), path.read_bytes(), path.parent)])


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
async def test_every_example_is_valid(path: Path, place: TrainingPlace) -> None:
    async with place.backend() as backend:
        outcome = await backend.apply(bundle(path), dry_run=True)
    told = {each.kind: each.message for each in outcome.documents}
    # This machine need not have the GPUs that one of them asks for.
    assert told.get("TrainingJob", "") == "" or path.name == "benchmark.yaml"
    assert {"TrainingJob", "Sweep"} & set(told)


def test_the_examples_image_is_named_as_its_dockerfile_makes_it() -> None:
    config = EXAMPLES / "image" / "config.yaml"
    settings = load_configuration(config.name, config.read_bytes()).evaluate
    made = (EXAMPLES / "image" / "Dockerfile").read_text(encoding="utf-8")
    assert (settings.image, f"-t {settings.image} " in made) == ("lm-eval:0.4.13", True)
    assert all(each in made for each in requirements("cpu"))
