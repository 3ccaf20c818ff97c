"""Two groups compared in the console: the tasks that came out differently, what is told of them, and which groups are offered."""

from decimal import Decimal

from console_records import NOW
from result_records import cases, group_of, results_of

from nodus_tui.contract.resources.agent_group import Shard
from nodus_tui.statistics.comparing import compared_groups, difference_text
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.comparison import COMPARED_COLUMNS, ComparisonState, comparable_groups, compared_lines
from nodus_tui.view_state.filtering import parse_filter

PLAIN, CAREFUL = ("CC", "CI", "II", "CF"), ("CC", "CC", "CC", "CC", "II")


def results(name: str, tasks: tuple[str, ...]):
    return results_of(group_of(name, tasks), cases(name, tasks))


def loaded() -> ComparisonState:
    state = ComparisonState("plain", "careful")
    state.load(results("plain", PLAIN), results("careful", CAREFUL))
    return state


def keys(state: ComparisonState) -> list[str]:
    return [state.rows.key_at(place) for place in range(len(state.rows))]


def cell(state: ComparisonState, task: str, key: str) -> str:
    column = next(each for each in COMPARED_COLUMNS if each.key == key)
    return plain(column.cell(state.rows.item(task), NOW)).strip()


def test_only_tasks_that_came_out_differently_are_rows_until_all_are_asked_for() -> None:
    state = loaded()
    assert keys(state) == ["sum-001", "sum-002"]
    state.show_all(wanted=True)
    assert keys(state) == ["sum-000", "sum-001", "sum-002", "sum-003", "sum-004"]
    state.filter(parse_filter("verdict:incorrect"))
    assert keys(state) == ["sum-001", "sum-002", "sum-004"]
    state.show_all(wanted=False)
    assert keys(state) == ["sum-001", "sum-002"]


def test_rows_stand_in_the_order_of_the_column_that_is_marked() -> None:
    state = ComparisonState("plain", "careful")
    first, second = (
        each.model_copy(update={"results": each.results[::-1]}) for each in (results("plain", PLAIN), results("careful", CAREFUL))
    )
    state.load(first, second)
    assert state.rows.order == (("task", False),)
    assert keys(state) == ["sum-001", "sum-002"]


def test_both_sides_stand_beside_each_other_with_their_difference() -> None:
    state = loaded()
    assert (cell(state, "sum-001", "first"), cell(state, "sum-001", "second")) == ("± 1/2 correct", "✓ 2/2 correct")
    assert (cell(state, "sum-002", "first"), cell(state, "sum-002", "second"), cell(state, "sum-002", "points")) == (
        "✗ 0/2 correct",
        "✓ 2/2 correct",
        "-100",
    )
    assert (cell(state, "sum-003", "first"), cell(state, "sum-003", "points")) == ("✓ 1/1, 1 missing", "0")
    assert (cell(state, "sum-004", "first"), cell(state, "sum-004", "points"), cell(state, "sum-004", "cost1")) == ("–", "–", "–")
    assert state.rows.item("sum-002").sides[1].cost == Decimal("0.0426")


def test_the_head_tells_what_the_command_line_tells() -> None:
    state = loaded()
    difference = compared_groups(results("plain", PLAIN), results("careful", CAREFUL))
    shown = "\n".join(plain(each) for each in state.head())
    assert f"plain − careful: {difference_text(difference)}" in shown
    assert "2 solved by both, 0 by plain alone, 2 by careful alone, 0 by neither." in shown
    assert "Left out: 0 and 1 tasks that one alone answered." in shown
    assert all(note in shown for note in difference.notes)
    assert len(state.head(low=True)) == 2


def test_the_chosen_side_stands_between_brackets_and_an_answer_that_is_wrong_is_shown_first() -> None:
    state = loaded()
    state.select("sum-001", 0)
    assert cell(state, "sum-001", "first").startswith("[")
    first, second = (plain(each) for each in compared_lines(state.rows.item("sum-001"), state.names, ()))
    assert first == "▌ plain · ✗ Incorrect · plain-c004"
    assert second == "  careful · ✓ Correct · careful-c003"
    state.select("sum-001", 1)
    assert cell(state, "sum-001", "second").startswith("[")
    left_out = compared_lines(state.rows.item("sum-004"), state.names, ())
    assert plain(left_out[0]) == "  plain · was not asked this task"


def test_newer_results_take_the_place_of_the_old_ones_and_what_was_chosen_stays() -> None:
    state = loaded()
    state.select("sum-002", 1)
    state.load(results("plain", ("CC", "CI", "IC", "CC")), results("careful", CAREFUL[:4]))
    assert cell(state, "sum-002", "second") == "[✓ 2/2 correct]"
    assert state.rows.find("sum-004") is None


def test_groups_that_were_asked_the_same_are_offered_first_and_words_narrow_them() -> None:
    groups = [group_of("other", PLAIN, seed=8), group_of("plain", PLAIN), group_of("careful", PLAIN)]
    assert [each.name for each in comparable_groups(groups, "plain")] == ["careful", "other"]
    assert [each.name for each in comparable_groups(groups, "plain", "seed 8")] == ["other"]
    assert comparable_groups(groups, "plain", "zzz") == []


def test_other_shards_of_the_same_tasks_were_not_asked_the_same() -> None:
    def shard(name: str, index: int):
        made = group_of(name, PLAIN)
        evaluation = made.spec.evaluation.model_copy(update={"shard": Shard(index=index, of=5)})
        return made.model_copy(update={"spec": made.spec.model_copy(update={"evaluation": evaluation})})

    groups = [shard("plain-1", 1), shard("plain-2", 2), shard("careful-1", 1)]
    assert [each.name for each in comparable_groups(groups, "plain-1")] == ["careful-1", "plain-2"]
