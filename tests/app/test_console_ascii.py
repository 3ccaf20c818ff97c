"""Nothing but ASCII, in as many cells. Every view and dialog is looked at in test_console_everywhere."""

import string

import pytest
from console_records import every_kind_of_run, group, snapshot
from rich.cells import cell_len
from test_console_hostile_text import ATTACKS

from nodus_tui.ascii_cells import ascii_cells
from nodus_tui.text import safe_text
from nodus_tui.view_state.figures import bar
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.hardware_words import sparkline
from nodus_tui.view_state.words import BUDGET_SIGNS, GROUP_SIGNS, JOB_SIGNS, RUN_SIGNS, VERDICT_SIGNS


def test_ascii_stays_as_it_is() -> None:
    assert ascii_cells(string.printable) == string.printable


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("62.0% ± 9.5 (SE 4.9)", "62.0% +-9.5 (SE 4.9)"),
        ("62.0% ±9.5 97/100", "62.0%+-9.5 97/100"),
        ("sum-00…", "sum-00\\"),
        ("the cap …", "the cap.."),
        ("nodus › campaigns · 3", "nodus / campaigns - 3"),
        ("✓ Correct ✗ Incorrect", "+ Correct X Incorrect"),
        ("Zürich, naïve, ﬁ", "Zurich, naive, ?"),
        ("日本語x", "??????x"),
        ("e\u0301", "e"),
        ("╭──╮│", "+--+|"),
        ("43°C PCIe 4×16", "43 C PCIe 4x16"),
    ],
)
def test_what_looks_like_it_is_drawn(text: str, drawn: str) -> None:
    assert ascii_cells(text) == drawn


@pytest.mark.parametrize("evil", ATTACKS.values(), ids=ATTACKS.keys())
def test_any_safe_text_takes_the_same_cells_in_ascii(evil: str) -> None:
    safe = safe_text(evil)
    drawn = ascii_cells(safe)
    assert drawn.isascii()
    assert len(drawn) == cell_len(safe)


def test_every_character_of_one_cell_or_two_keeps_its_cells() -> None:
    for code in (*range(0xA0, 0x3000), *range(0x4E00, 0x4E80), *range(0x1F300, 0x1F400)):
        char = safe_text(chr(code))
        drawn = ascii_cells(char)
        assert (drawn.isascii(), len(drawn)) == (True, cell_len(char)), hex(code)


def test_signs_of_one_column_stay_apart() -> None:
    for signs in (GROUP_SIGNS, RUN_SIGNS, JOB_SIGNS, VERDICT_SIGNS, BUDGET_SIGNS):
        glyphs = {sign.glyph: ascii_cells(sign.glyph) for sign in signs.values()}
        assert len(set(glyphs.values())) == len(glyphs)


def test_no_sign_of_a_row_stands_for_two_things() -> None:
    # The selected row, what is cut off, a running state, the part of a cell in a bar, what separates, what is queued.
    # What runs, crumbs, a folded and an unfolded tool call stand on one screen, too.
    signs = ("▌", "…", "►", "›", "▸", "▾", "▍", "│", "✗", "⋅", "○", "●", "■", "✓", "×")
    drawn = [ascii_cells(sign) for sign in signs]
    assert len(set(drawn)) == len(signs) - 1, "a pending and a queued case look alike"
    assert ascii_cells("·") not in {ascii_cells(sign) for sign in ("✗", "⋅", "…", "▌")}
    assert "▌" not in "".join(span.text for step in range(65) for span in bar(step / 64, 8))


def test_parts_of_one_bar_stay_apart() -> None:
    state = GroupState("fleet")
    state.load(snapshot(group("fleet"), runs=every_kind_of_run()))
    glyphs = {part.glyph for part in state._progress_parts(group().status)} | {"░"}
    assert len({ascii_cells(glyph) for glyph in glyphs}) == len(glyphs)


def test_bars_and_sparklines_still_tell_more_from_less() -> None:
    drawn = ["".join(ascii_cells(span.text) for span in bar(fraction, 8)) for fraction in (0, 0.001, 0.5, 0.999, 1)]
    assert drawn == ["........", "-.......", "####....", "#######-", "########"]
    levels = ascii_cells(sparkline([0, 15, 30, 40, 55, 70, 80, 100], 8))
    assert levels == "_.:-=+*#"
