"""Columns drop out by priority, and the rest shares the width."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from console_records import NOW, every_kind_of_run, group, run, usd
from hypothesis import given
from hypothesis import strategies as st
from job_records import job

from nodus_tui.contract.phases import GroupPhase, RunPhase
from nodus_tui.contract.resources.agent_group import Coverage
from nodus_tui.text import width_of
from nodus_tui.view_state.campaigns import CAMPAIGN_COLUMNS
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.columns import GAP, place, usual
from nodus_tui.view_state.jobs import JOB_COLUMNS
from nodus_tui.view_state.money import usd_forms
from nodus_tui.view_state.run_columns import RUN_COLUMNS
from nodus_tui.view_state.telling_apart import told_apart


@pytest.mark.parametrize("later", [timedelta(seconds=1), timedelta(minutes=61), timedelta(days=40)], ids=str)
def test_a_cell_that_is_said_to_stay_reads_the_same_at_any_time(later: timedelta) -> None:
    runs = [
        *every_kind_of_run(),
        run(90, phase=RunPhase.INTERRUPTED, started_at=NOW, rested_at=NOW + timedelta(seconds=3)),
        run(91, phase=RunPhase.WAITING, started_at=NOW, until=NOW + timedelta(minutes=2)),
        run(92, phase=RunPhase.RUNNING, started_at=NOW),
        run(93, phase=RunPhase.PENDING, created_at=NOW),
    ]
    moving = {column.key for each in runs for column in RUN_COLUMNS if not column.stays(each)}
    assert moving == {"time", "queued", "why", "started", "ended"}
    for each in runs:
        for column in RUN_COLUMNS:
            if column.stays(each):
                assert column.cell(each, NOW + later) == column.cell(each, NOW)


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
    assert len(place(usual(RUN_COLUMNS), 200)) == len(usual(RUN_COLUMNS))
    assert len(place(CAMPAIGN_COLUMNS, 160)) == len(CAMPAIGN_COLUMNS)


def test_columns_that_always_stay_do_so_however_narrow() -> None:
    kept = {each.column.key for each in place(RUN_COLUMNS, 10)}
    assert kept == {column.key for column in RUN_COLUMNS if column.priority == 0}


WIDTHS = (60, 80, 100, 120, 160)
"""Of the terminal: what a table has of it is two cells for the cursor's mark and one for the scrollbar less."""
MONEY = re.compile(r"<?\$[0-9][0-9,.]*[kMG]?")


def shown(columns, item, width: int) -> dict[str, str]:
    return {each.column.key: plain(each.column.fitted(item, NOW, each.width)) for each in place(usual(columns), width - 3)}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("cost", ["0", "0.00033", "0.0012", "0.0074", "0.0511", "12.5"])
@pytest.mark.parametrize("cap", ["0.0074", "0.06", "1.00", "1234.56"])
@pytest.mark.parametrize("unconfirmed", ["0", "0.0003"])
def test_money_is_shown_whole_or_not_at_all(width: int, cost: str, cap: str, unconfirmed: str) -> None:
    whole = {form for amount in (usd(cost), usd(cap)) for form in usd_forms(amount)}
    item = run(1, cap=cap, cost_usd=usd(cost), unconfirmed_usd=usd(unconfirmed))
    of_group = group(cap=cap, spent=cost, reserved="0", unconfirmed=unconfirmed)
    for text in (shown(RUN_COLUMNS, item, width)["cost"], shown(CAMPAIGN_COLUMNS, of_group, width)["spent"]):
        assert "…" not in text
        assert set(MONEY.findall(text)) <= whole
        assert MONEY.findall(text)
        assert text.startswith("u ") == (unconfirmed != "0")


def test_jobs_at_eighty_columns_keep_their_caps_and_say_what_they_are_about() -> None:
    placed = {each.column.key: each.width for each in place(JOB_COLUMNS, 77)}
    assert placed["what"] >= 20
    for cost, text in (("0.0000167", "<$0.01/$0.50"), ("0.12", "$0.12/$0.50")):
        cells = shown(JOB_COLUMNS, job("evaluate-qwen-large-02", phase="Succeeded", cost_usd=usd(cost)), 80)
        assert (cells["name"], cells["spent"]) == ("evaluat…rge-02", text)


def test_names_that_differ_at_their_ends_stay_apart_when_they_are_cut() -> None:
    names = [shown(CAMPAIGN_COLUMNS, group(f"agents-by-shards-of-many-{number:02}"), 60)["name"] for number in range(1, 31)]
    assert len(set(names)) == len(names)
    assert all("…" in name for name in names)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5), st.integers(1, 20))
def test_texts_that_are_told_apart_fit(texts: list[str], width: int) -> None:
    assert all(width_of(short) <= width for short in told_apart(tuple(texts), width).values())


@pytest.mark.parametrize(
    "values",
    [
        ("hf://organisation/model-7b-instruct-v1", "hf://organisation/model-13b-instruct-v1"),
        ("a-very-long-name-that-ends-in-1", "a-very-long-name-that-ends-in-2"),
        ("first-of-names-that-end-alike-here", "other-of-names-that-end-alike-here"),
    ],
)
def test_values_stay_apart_wherever_they_differ(values: tuple[str, ...]) -> None:
    for width in range(6, 30):
        assert len(set(told_apart(values, width).values())) == len(values)


def test_a_small_cap_stands_beside_its_cost_where_both_fit() -> None:
    item = run(1, cap="0.0074", cost_usd=usd("0.0012"))
    assert [shown(RUN_COLUMNS, item, width)["cost"] for width in (60, 80, 120)] == ["$0.0012", "$0.0012/$0.0074", "$0.0012/$0.0074"]
    smaller = run(1, cap="0.0074", cost_usd=usd("0.00033"), unconfirmed_usd=usd("0.00033"))
    assert [shown(RUN_COLUMNS, smaller, width)["cost"] for width in (80, 120)] == ["u $0.00033", "u $0.00033/$0.0074"]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_of_a_group_is_whole_or_left_out(width: int) -> None:
    large = group(
        tasks=100,
        pending=0,
        going=1000,
        max_active=1000,
        coverage=Coverage(scored=1000, total=1000),
        pass_rate=1.0,
        ci95=(0.722, 1.0),
        created_at=NOW - timedelta(days=400),
    )
    cells = shown(CAMPAIGN_COLUMNS, large, width)
    assert cells["pass"] in {"100% [72–100] 1000/1000", "100% 72–100 1000/1000", "72–100% 1000/1000"}
    assert cells.get("active", "1000") in {"1000", "1000/1000"}
    assert cells.get("done", "1000") in {"1000", "1000/1000"}
    assert cells.get("age", "400d") == "400d"


@pytest.mark.parametrize("width", WIDTHS)
def test_every_phase_of_a_group_is_a_whole_word_from_eighty_columns_on(width: int) -> None:
    cell = shown(CAMPAIGN_COLUMNS, group(phase=GroupPhase.INTERRUPTED), width)["phase"]
    assert cell == "¦ Interrupted" or width < 80


def test_a_task_is_cut_before_the_try_that_tells_it_from_others_of_its_name() -> None:
    item = run(39, task="errand-39", attempt=2)
    assert [shown(RUN_COLUMNS, item, width)["task"] for width in (80, 160)] == ["err…39 try 2", "errand-39 try 2"]


@given(st.integers(57, 76))
def test_from_sixty_columns_on_nothing_is_cut_off_at_the_edge(width: int) -> None:
    for columns in (RUN_COLUMNS, CAMPAIGN_COLUMNS):
        placed = place(columns, width)
        assert sum(each.width for each in placed) + GAP * (len(placed) - 1) <= width


@given(st.decimals(min_value=0, max_value=10**9, places=9))
def test_every_form_of_an_amount_is_near_it_or_says_less_than(amount: Decimal) -> None:
    for form in usd_forms(amount):
        if form.startswith("<"):
            assert amount < Decimal(form[2:])
            continue
        unit = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000}.get(form[-1], 1)
        value = Decimal(form.strip("$kMG").replace(",", "")) * unit
        assert abs(value - amount) <= max(amount / 2, Decimal("0.005"))
        assert (value == 0) == (amount == 0)


def test_columns_whose_contents_are_known_take_no_more_and_leave_the_rest_to_names() -> None:
    plain_widths = {each.column.key: each.width for each in place(RUN_COLUMNS, 77)}
    seen = {"task": 17, "phase": 11, "verdict": 11, "cost": 12, "why": 11}
    widths = {each.column.key: each.width for each in place(RUN_COLUMNS, 77, seen)}
    assert widths["task"] == 17 > plain_widths["task"]
    assert (widths["phase"], widths["verdict"], widths["cost"]) == (11, 11, 12)


@given(st.integers(40, 250), st.fixed_dictionaries({column.key: st.integers(0, 90) for column in RUN_COLUMNS}))
def test_whatever_the_contents_a_table_keeps_to_its_width_and_no_column_takes_more_than_it_needs(width: int, seen: dict[str, int]) -> None:
    placed = place(RUN_COLUMNS, width, seen)
    least = sum(max(column.least, min(column.width, len(column.title) + 1)) for column in RUN_COLUMNS if column.priority == 0)
    assert sum(each.width for each in placed) + GAP * (len(placed) - 1) <= max(width, least + GAP * len(placed))
    for each in placed:
        assert each.width <= max(seen[each.column.key], len(each.column.title) + 1)
