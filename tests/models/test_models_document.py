"""docs/models.md: its examples are valid and usable, and its tables say what the code does."""

import re
from pathlib import Path

import pytest
import yaml

from local_backend.models.catalogue import ModelCatalogue
from local_backend.models.default_families import DEFAULT_FAMILIES
from local_backend.models.endpoints import public_key_variable
from nodus_tui.contract.base import camel_case
from nodus_tui.contract.configuration import Configuration, ModelEntry, SimulatedBehaviour

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(models:.*?)```", TEXT, re.DOTALL)
KEYS = {"EVAL_ANTHROPIC_KEY": "a-key", "OPENAI_API_KEY": "a-key", "OPENROUTER_API_KEY": "a-key"}


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_entry_of_the_examples_can_be_used(example: str) -> None:
    configuration = Configuration.model_validate(yaml.safe_load(example))
    catalogue = ModelCatalogue(configuration, KEYS)
    for entry in configuration.models:
        assert catalogue.resolve([entry.family]).price.source


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("entry", DEFAULT_FAMILIES, ids=lambda entry: entry.family)
def test_the_built_in_families_are_listed(entry: ModelEntry) -> None:
    rows = [line for line in TEXT.splitlines() if f"`{entry.family}`" in line and f"`{entry.name}`" in line]
    key = "none" if entry.provider == "simulated" else public_key_variable(entry.provider)
    assert any(key in row for row in rows)


@pytest.mark.parametrize("entry", DEFAULT_FAMILIES, ids=lambda entry: entry.family)
def test_the_built_in_families_are_what_a_checked_file_would_give(entry: ModelEntry) -> None:
    assert ModelEntry.model_validate(entry.to_document()) == entry


def test_every_field_is_explained() -> None:
    for name in ModelEntry.model_fields:
        assert f"| `{camel_case(name)}` |" in TEXT
    for name in SimulatedBehaviour.model_fields:
        assert re.search(rf"^ +{camel_case(name)}: ", TEXT, re.MULTILINE)
