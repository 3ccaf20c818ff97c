"""Columns drop out by priority, and the rest shares the width."""

from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.view_state.campaigns import CAMPAIGN_COLUMNS
from nodus_tui.view_state.columns import GAP, place
from nodus_tui.view_state.run_columns import RUN_COLUMNS


@given(st.integers(76, 250))
def test_the_tables_never_exceed_a_width_from_eighty_on(width: int) -> None:
    for columns in (RUN_COLUMNS, CAMPAIGN_COLUMNS):
        placed = place(columns, width)
        assert sum(each.width for each in placed) + GAP * (len(placed) - 1) <= width
        assert [each.column.key for each in placed] == [
            column.key for column in columns if column.key in {each.column.key for each in placed}
        ]


def test_at_eighty_columns_what_matters_is_there() -> None:
    assert [each.column.key for each in place(RUN_COLUMNS, 78)] == ["case", "task", "phase", "verdict", "cost", "why"]
    assert [each.column.key for each in place(CAMPAIGN_COLUMNS, 78)] == ["name", "phase", "pass", "spent", "active", "note"]


def test_with_room_everything_is_there() -> None:
    assert len(place(RUN_COLUMNS, 200)) == len(RUN_COLUMNS)
    assert len(place(CAMPAIGN_COLUMNS, 160)) == len(CAMPAIGN_COLUMNS)


def test_columns_that_always_stay_do_so_however_narrow() -> None:
    kept = {each.column.key for each in place(RUN_COLUMNS, 10)}
    assert kept == {column.key for column in RUN_COLUMNS if column.priority == 0}
