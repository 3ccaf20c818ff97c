"""Rows keep order and filter under any sequence of changes, and one change never sorts everything again."""

from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.view_state.cells import line
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.rows import Rows

COLUMNS = (Column("value", "VALUE", 5, lambda item, _now: line(str(item)), lambda item: item),)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcdefgh"), st.one_of(st.none(), st.integers(0, 5))),
        st.tuples(st.just("remove"), st.sampled_from("abcdefgh"), st.none()),
    ),
    max_size=40,
)


@given(CHANGES, st.booleans(), st.booleans())
def test_order_is_that_of_a_whole_sort(changes, descending: bool, filtered: bool) -> None:
    rows: Rows[int | None] = Rows(COLUMNS, sort="value", descending=descending)
    if filtered:
        rows.keep_only(lambda item: item is None or item % 2 == 0)
    items: dict[str, int | None] = {}
    arrival: dict[str, int] = {}
    for what, key, value in changes:
        if what == "put":
            rows.put(key, value)
            items[key] = value
            arrival.setdefault(key, len(arrival))
        else:
            rows.remove(key)
            items.pop(key, None)
    kept = [key for key, value in items.items() if not filtered or value is None or value % 2 == 0]
    expected = sorted(kept, key=lambda key: (items[key] is None, items[key] or 0, arrival[key]), reverse=descending)
    assert [rows.key_at(index) for index in range(len(rows))] == expected
    assert [rows.index_of(key) for key in expected] == list(range(len(expected)))
    assert rows.total == len(items)


def test_ten_thousand_changes_sort_nothing_wholly() -> None:
    rows: Rows[int] = Rows(COLUMNS, sort="value")
    for key in range(10_000):
        rows.put(str(key), key % 97)
    for key in range(10_000):
        rows.put(str(key), key % 89)
    assert rows.sorted_wholly == 0
    assert len(rows) == 10_000
    assert rows.item(rows.key_at(0)) == 0


PAIRS = (
    Column("one", "ONE", 5, lambda item, _now: line(str(item)), lambda item: item[0]),
    Column("two", "TWO", 5, lambda item, _now: line(str(item)), lambda item: item[1]),
)


@given(st.lists(st.tuples(st.integers(0, 9), st.tuples(st.integers(0, 2), st.integers(0, 3)))), st.booleans(), st.booleans())
def test_rows_that_are_alike_in_the_first_key_follow_the_second(changes, one_falls: bool, two_falls: bool) -> None:
    rows: Rows[tuple[int, int]] = Rows(PAIRS)
    rows.sort_by_all((("one", one_falls), ("two", two_falls)))
    for key, pair in changes:
        rows.put(str(key), pair)
    shown = [rows.item(rows.key_at(index)) for index in range(len(rows))]
    assert shown == sorted(shown, key=lambda pair: (-pair[0] if one_falls else pair[0], -pair[1] if two_falls else pair[1]))
    assert [rows.index_of(rows.key_at(index)) for index in range(len(rows))] == list(range(len(rows)))
