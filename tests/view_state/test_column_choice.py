"""The columns that a person chooses: shown, hidden, moved, sorted by; and what the configuration may say of them."""

from nodus_tui.view_state.cells import line, plain
from nodus_tui.view_state.column_choice import ColumnChoice, order_sign
from nodus_tui.view_state.columns import Column, chosen, place
from nodus_tui.view_state.table_columns import column_findings

COLUMNS = tuple(
    Column(key, key.upper(), 10, lambda item, _now: line(item), lambda item: item, priority=priority, extra=key == "turns")
    for key, priority in (("name", 0), ("phase", 0), ("cost", 0), ("why", 4), ("turns", 6))
)


def choice(*keys: str) -> ColumnChoice:
    return ColumnChoice(COLUMNS, keys, (("name", False),))


def test_what_nobody_chose_is_the_usual_and_is_not_remembered() -> None:
    assert choice().keys == ("name", "phase", "cost", "why")
    assert choice().kept == ()
    assert choice().all_keys() == ("name", "phase", "cost", "why", "turns")


def test_columns_are_shown_hidden_moved_and_the_usual_again() -> None:
    chosen_ones = choice()
    assert chosen_ones.toggle("turns")
    assert chosen_ones.toggle("phase")
    chosen_ones.move("turns", -1)
    assert chosen_ones.kept == ("name", "cost", "turns", "why")
    chosen_ones.move("name", -5)
    chosen_ones.move("name", 99)
    assert chosen_ones.keys[-1] == "name"
    chosen_ones.reset()
    assert chosen_ones.kept == ()


def test_the_last_column_stays() -> None:
    alone = choice("cost", "gone")
    assert not alone.toggle("cost")
    assert alone.keys == ("cost",)


def test_sorting_by_one_and_by_further_ones() -> None:
    sorting = choice()
    sorting.sort("cost")
    assert sorting.order == (("cost", False),)
    sorting.sort("cost")
    sorting.sort("phase", further=True)
    sorting.sort("name", further=True)
    sorting.sort("phase", further=True)
    assert sorting.order == (("cost", True), ("phase", True), ("name", False))
    assert [order_sign(sorting.order, key) for key in ("cost", "phase", "name", "why")] == ["▼1", "▼2", "▲3", ""]
    sorting.sort("phase", further=True)
    assert sorting.order == (("cost", True), ("name", False))
    sorting.sort("name")
    assert sorting.order == (("name", False),)
    assert order_sign(sorting.order, "name") == "▲"
    # Of ages the stamps are sorted: where those rise, the ages fall.
    assert order_sign(sorting.order, "name", since=True) == "▼"


def test_the_list_says_what_is_shown_and_how_a_filter_asks_for_it() -> None:
    rows = choice().rows()
    shown = {key: "|".join(plain(column.cell(key, None)) for column in rows.columns) for key in choice().all_keys()}
    assert shown["name"] == "✓|NAME|▲|"
    assert shown["turns"] == "·|TURNS||"


def test_where_the_width_is_short_the_last_of_the_chosen_columns_go_first() -> None:
    own = chosen(COLUMNS, ("turns", "why", "cost", "name", "phase"))
    assert [placed.column.key for placed in place(own, 32)] == ["turns", "why", "cost"]
    assert [placed.column.key for placed in place(own, 10)] == ["turns"]
    assert [column.key for column in chosen(COLUMNS, ("gone",))] == ["name", "phase", "cost", "why"]


def test_faults_in_the_configuration_are_told_with_the_nearest_name() -> None:
    written = {"console": {"columns": {"group": ("case", "verdikt"), "grupp": ("case",), "sweep": ("any",), "gpus/devices": ("gpu",)}}}
    told = [(finding.path, finding.suggestion) for finding in column_findings(written)]
    assert told == [(("console", "columns", "group", 1), "verdict"), (("console", "columns", "grupp"), "group")]
    assert column_findings({"console": {"columns": 3}}) == []
