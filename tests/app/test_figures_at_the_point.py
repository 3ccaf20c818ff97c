"""Figures of one column of a table stand at their decimal points, as far as there is room, and stay there."""

from console_records import NOW
from msgspec import Struct

from nodus_tui.view_state.cells import line, plain
from nodus_tui.view_state.columns import Column, Placed
from nodus_tui.widgets.row_cells import RowCells


class Amount(Struct, frozen=True):
    text: str


def column(*, width: int = 8, right: bool = True) -> Column[Amount]:
    return Column("cost", "COST", width, lambda item, _now: line(item.text), lambda item: item.text, right=right, still=True)


def made(cells: RowCells[Amount], placed: tuple[Placed[Amount], ...], *texts: str) -> list[str]:
    return [plain(cells.of(text, Amount(text), NOW, placed, ())[0]) for text in texts]


def shown(*texts: str, width: int = 8, right: bool = True) -> list[str]:
    """The cells once all of them were seen."""
    cells: RowCells[Amount] = RowCells()
    placed = (Placed(column(width=width, right=right), width),)
    items = {text: Amount(text) for text in texts}
    for _ in range(2):
        told = [plain(cells.of(text, items[text], NOW, placed, ())[0]) for text in texts]
    return told


def test_amounts_leave_room_for_the_digits_that_others_have_behind_the_point() -> None:
    assert shown("$0.02", "$0.0225", "$1.00", "–", "3") == ["$0.02  ", "$0.0225", "$1.00  ", "–", "3     "]


def test_what_has_no_room_keeps_its_digits() -> None:
    assert shown("$123.45", "$0.0225", width=8) == ["$123.45 ", "$0.0225"]


def test_columns_of_whole_numbers_of_times_and_at_the_left_are_as_they_were() -> None:
    assert shown("3", "12", "1,000") == ["3", "12", "1,000"]
    assert shown("4m05s", "0.4s", "12s") == ["4m05s", "0.4s", "12s"]
    assert shown("$0.02", "$0.0225", right=False) == ["$0.02", "$0.0225"]


def test_a_column_needs_room_for_whole_digits_and_for_those_behind_the_point() -> None:
    cells: RowCells[Amount] = RowCells()
    placed = (Placed(column(width=12), 12),)
    made(cells, placed, "$123.45", "$0.0225")
    assert cells.shifted
    assert made(cells, placed, "$123.45", "$0.0225") == ["$123.45  ", "$0.0225"]
    assert cells.widest["cost"] == len("$123.4500")
    cells.forget_widths()
    assert made(cells, placed, "$123.45") == ["$123.45"]
