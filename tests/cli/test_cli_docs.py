"""The documents tell every name that programs rely on."""

import re
from pathlib import Path

import pytest

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.main import VERBS
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.results import CaseResult, GroupResults, PairedDifference, ResultAgent, ResultCost, ResultEnvironment
from nodus_tui.contract.sweep_results import PooledCells, PooledTask, Rate, SweepAxis, SweepCell, SweepCost, SweepResults

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    "model",
    [
        *(GroupResults, CaseResult, ResultCost, ResultEnvironment, ResultAgent, Estimate, KindEstimate, PairedDifference),
        *(SweepResults, SweepAxis, SweepCell, SweepCost, PooledCells, PooledTask, Rate),
    ],
)
def test_every_name_of_the_json_is_documented(model: type[ContractModel]) -> None:
    words = set(re.findall(r"\w+", (DOCS / "results.md").read_text(encoding="utf-8")))
    assert {field.alias or name for name, field in model.model_fields.items()} <= words


def test_every_verb_and_exit_code_is_documented() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert {verb for verb in VERBS if f"| `{verb}" not in text} == set()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, flags=re.MULTILINE)} == {int(code) for code in Exit}
