"""Figures of one column stand at their decimal points."""

import pytest

from nodus_tui.cli.output import table_text
from nodus_tui.decimal_point import at_the_point, behind_the_point


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("$0.02", 3),
        ("$1,234.5678", 5),
        ("<$0.0001", 5),
        ("-0.5", 2),
        ("1,000", 0),
        ("7", 0),
        ("4m05s", None),
        ("0.4s", None),
        ("$0.02/$0.10", None),
        ("–", None),
        ("", None),
    ],
)
def test_a_figure_goes_on_behind_its_point(text: str, cells: int | None) -> None:
    assert behind_the_point(text) == cells


def test_figures_are_padded_to_their_point_and_nothing_else_is() -> None:
    assert at_the_point(["$0.02", "$0.022", "$12.00", "-", "3"]) == ["$0.02 ", "$0.022", "$12.00 ", "-", "3    "]
    assert at_the_point(["4m05s", "-"]) == ["4m05s", "-"]
    assert at_the_point([]) == []


def test_a_table_of_the_command_line_has_its_amounts_at_the_point() -> None:
    rows = [("one", "$0.02", "3"), ("two", "$0.0225", "12"), ("three", "-", "7")]
    assert table_text(("NAME", "COST", "TURNS"), rows, right=frozenset({"COST", "TURNS"})).splitlines() == [
        "NAME      COST  TURNS",
        "one    $0.02        3",
        "two    $0.0225     12",
        "three        -      7",
    ]
