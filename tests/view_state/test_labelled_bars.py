"""Bars with legends: under each other they are equally long; no legend loses a part, and none is wider than its line."""

import pytest

from nodus_tui.view_state.cells import Tone, line, line_width, plain
from nodus_tui.view_state.labelled_bars import LABEL, BarPart, LabelledBar, bar_lines

CASES = LabelledBar(
    "cases",
    (
        BarPart(28, Tone.GOOD, "█", "28 correct", "28 right"),
        BarPart(10, Tone.BAD, "▓", "10 incorrect", "10 wrong"),
        BarPart(62, Tone.MUTED, "⋅", "62 pending"),
    ),
)
MONEY = LabelledBar(
    "money",
    (BarPart(1, Tone.INFO, "█", "$1.00 spent"), BarPart(5, Tone.TRACK, "░", "$5.00 left of $6.00", "$5.00 left")),
    more=(line("$0.02 unconfirmed"),),
)


def bar_length(text: str) -> int:
    return len(text[LABEL:].split(" ", 1)[0])


@pytest.mark.parametrize("width", [72, 80, 100, 118, 198])
def test_bars_beside_their_legends_are_equally_long(width: int) -> None:
    (cases,), (money,) = bar_lines((CASES, MONEY), width)
    assert bar_length(plain(cases)) == bar_length(plain(money)) >= 14
    assert line_width(cases) <= width
    assert line_width(money) <= width


def test_the_legend_comes_closer_before_the_bar_gets_too_short() -> None:
    ((roomy,),), ((close,),) = bar_lines((CASES,), 66), bar_lines((CASES,), 60)
    assert plain(roomy).endswith("  █ 28 correct  ▓ 10 incorrect  ⋅ 62 pending")
    assert plain(close).endswith("  █28 correct ▓10 incorrect ⋅62 pending")
    assert bar_length(plain(close)) >= 14


def test_legends_under_each_other_read_alike() -> None:
    narrow = LabelledBar("few", (BarPart(1, Tone.GOOD, "█", "1 correct"),))
    (cases,), (few,) = bar_lines((CASES, narrow), 60)
    assert plain(cases).endswith("  █28 correct ▓10 incorrect ⋅62 pending")
    assert plain(few).endswith("  █1 correct")


def test_without_room_for_both_the_legend_stands_below_the_bar_or_alone() -> None:
    ((bar, legend),) = bar_lines((CASES,), 46)
    assert plain(bar).startswith("cases  █")
    assert plain(legend) == " " * LABEL + "█28 correct ▓10 incorrect ⋅62 pending"
    ((alone,),) = bar_lines((CASES,), 46, fold=False)
    assert plain(alone) == "cases  █28 correct ▓10 incorrect ⋅62 pending"


def test_words_with_fewer_letters_are_the_last_to_be_taken() -> None:
    ((_, legend),) = bar_lines((CASES,), 38)
    assert plain(legend).strip() == "█28 right ▓10 wrong ⋅62 pending"


def test_no_part_of_a_legend_is_cut_off_where_the_window_is_narrow() -> None:
    ((bar, *below),) = bar_lines((CASES,), 20)
    assert line_width(bar) == 20
    assert [plain(each).strip() for each in below] == ["█28 right", "▓10 wrong", "⋅62 pending"]
