"""The documents list every attack with what holds it, as the tests have it."""

from pathlib import Path

from listing import attacks, table

DOCUMENT = Path(__file__).parents[2] / "docs" / "sandboxes.md"


def test_the_documents_list_is_the_tests() -> None:
    assert table() in DOCUMENT.read_text(encoding="utf-8"), "run tests/red_team/listing.py and put its table into docs/sandboxes.md"


def test_there_are_attacks_of_both_families() -> None:
    named = list(attacks())
    assert len(named) == len(set(named)) >= 100
