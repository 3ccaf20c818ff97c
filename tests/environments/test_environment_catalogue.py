"""References to environments: found, or refused with the nearest known one."""

import subprocess
import sys
from pathlib import Path

import pytest
from environment_builders import environment_of, no_own

from local_backend.environments.catalogue import EnvironmentCatalogue, UnknownEnvironmentError, own_environment
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.environment import Environment

MINE = environment_of(Path("/tasks/t.jsonl"), {"type": "exact"})


def own(name: str) -> Environment | None:
    return MINE if name == "mine" else None


def test_what_is_known_is_found() -> None:
    catalogue = EnvironmentCatalogue()
    arithmetic = catalogue.resolve("nodus/arithmetic-v2@2.0.0", "test", own=no_own)
    assert (arithmetic.name, arithmetic.version, arithmetic.source) == ("nodus/arithmetic-v2", "2.0.0", "catalogue")
    mine = catalogue.resolve("mine@1.0", "train", own=own)
    assert (mine.name, mine.version, mine.source) == ("mine", "1.0", "file")


@pytest.mark.parametrize(
    ("reference", "split", "words", "suggestion"),
    [
        ("nodus/arithmetic-v3@2.0.0", "test", 'no environment "nodus/arithmetic-v3"', "nodus/arithmetic-v2@2.0.0"),
        ("arithmetic-v2@2.0.0", "test", "no environment", "nodus/arithmetic-v2@2.0.0"),
        ("nodus/arithmetic-v2@2.0", "test", 'no version "2.0"; it has 2.0.0', "nodus/arithmetic-v2@2.0.0"),
        ("nodus/arithmetic-v2@2.0.0", "tst", 'no split "tst"', "test"),
        ("nodus/arithmetic-v2@2.0.0", "validation", "train and test", ""),
        ("reasoning-gym/chain-sum@0.1.25", "test", "no environment", "reasoning-gym/chain_sum@0.1.25"),
        ("reasoning-gym/chain_sum@1", "test", "it has 0.1.25", "reasoning-gym/chain_sum@0.1.25"),
        ("reasoning-gym/composite@0.1.25", "test", "no environment", None),
        ("mine@2", "test", "it has 1.0", "mine@1.0"),
        ("mini@1.0", "test", "no environment", "mine@1.0"),
        ("zzzz@1", "test", "no environment", ""),
        ("nodus/arithmetic-v2", "test", "is not name@version", ""),
        ("@1", "test", "is not name@version", ""),
        ("a@", "test", "is not name@version", ""),
        ("\x1b[31m@1", "test", r"\\x1b", ""),
    ],
)
def test_what_is_unknown_is_refused_with_the_nearest(reference: str, split: str, words: str, suggestion: str | None) -> None:
    with pytest.raises(UnknownEnvironmentError, match=words) as caught:
        EnvironmentCatalogue().resolve(reference, split, own=own, own_names=["mine"])
    assert caught.value.code is ErrorCode.NOT_FOUND
    if suggestion is not None:
        assert caught.value.suggestion == suggestion


def test_a_relative_file_has_no_folder_to_start_from() -> None:
    with pytest.raises(NodusError, match="relative path"):
        own_environment(environment_of(Path("t.jsonl"), {"type": "exact"}))


def test_entries_name_everything_once() -> None:
    entries = EnvironmentCatalogue().entries()
    assert entries[0].name == "nodus/arithmetic-v2"
    assert len({entry.name for entry in entries}) == len(entries) == 107
    assert all(entry.version and entry.description and entry.splits == ("train", "test") for entry in entries)
    assert [entry.size for entry in entries[:3]] == [None, 26, 500]


def test_listing_imports_neither_the_package_nor_any_answer() -> None:
    code = (
        "import sys; from local_backend.environments.catalogue import EnvironmentCatalogue; EnvironmentCatalogue().entries();"
        "print([name for name in sys.modules if name.startswith(('reasoning_gym.', 'sympy', 'numpy'))"
        " or name.endswith(('.secret_tasks', '.arithmetic', '.expectations', '.task_file'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
