"""The sweeps view and a sweep's facts: kept true by events, money that adds up to the cap, forecasts only where there is a pace."""

from datetime import timedelta

import pytest
from console_records import NOW, START, usd
from sweep_records import sweep

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.filtering import parse_filter
from nodus_tui.view_state.sweeps import SweepsState, axes_text, seconds_left, sweep_bars, sweep_facts, sweep_status


def changed(name: str, cursor: int, **status: object) -> Event:
    return Event(cursor=cursor, at=NOW, change="Changed", kind="Sweep", name=name, status=status)


def loaded() -> SweepsState:
    state = SweepsState()
    state.load(Snapshot(cursor=100, sweeps=(sweep(), sweep("night", phase=GroupPhase.STALLED, reason="MaxCostReached"))))
    return state


def test_events_are_folded_once_and_deletion_forgets() -> None:
    state = loaded()
    assert state.fold(changed("shootout", 101, ended=5, costUSD="2.00"))
    assert (sweep_status(state.rows.item("shootout")).ended, sweep_status(state.rows.item("shootout")).cost_usd) == (5, usd("2.00"))
    assert not state.fold(changed("shootout", 100, ended=1)), "the snapshot has it"
    assert not state.fold(changed("nobody", 102, ended=1))
    assert state.fold(Event(cursor=103, at=NOW, change="Deleted", kind="Sweep", name="shootout"))
    assert state.rows.find("shootout") is None


def test_a_new_cap_and_more_places_come_by_events() -> None:
    state = loaded()
    event = changed("shootout", 101, capUSD="8.00", leftUSD="5.20").model_copy(update={"spec": {"maxCostUSD": "8.00", "maxParallel": 4}})
    assert state.fold(event)
    found = state.rows.item("shootout")
    assert (found.spec.max_parallel, found.spec.max_cost_usd, sweep_status(found).cap_usd) == (4, usd("8.00"), usd("8.00"))


def test_other_views_are_told_what_goes_on_and_what_stalls() -> None:
    state = loaded()
    assert plain(state.words()) == "W 1 sweep going, ‖ 1 stalled"
    assert plain(state.summary()) == "1 running · 1 stalled"
    state.fold(changed("shootout", 101, phase="Completed"))
    state.fold(changed("night", 102, phase="Interrupted"))
    assert state.words() == ()


def test_the_filter_finds_by_state_and_cost() -> None:
    state = loaded()
    state.filter(parse_filter("state:stalled"))
    assert [state.rows.key_at(place) for place in range(len(state.rows))] == ["night"]
    state.filter(parse_filter("cost>5"))
    assert len(state.rows) == 0


def test_axes_in_words() -> None:
    assert axes_text(sweep()) == "AgentGroup: 2 agents × 5 shards"


@pytest.mark.parametrize("width", [58, 78, 100, 160])
def test_money_and_cells_are_told_whole_at_any_width(width: int) -> None:
    cells, money = map(plain, sweep_bars(sweep(), width))
    # What the two going cells spent, $0.30, is spent; the rest of their caps is reserved.
    assert all(part in money for part in ("$1.90 spent", "$0.90 reserved", "$3.20 left of $6.00"))
    assert all(part in cells for part in ("3 ended", "1 broken", "2 going", "1 stalled", "3 waiting"))
    assert len(money) <= width
    assert len(cells) <= width


def test_in_the_smallest_window_the_legends_stand_alone() -> None:
    cells, money = map(plain, sweep_bars(sweep(), 58))
    assert money == "money  █$1.90 spent ▒$0.90 reserved ░$3.20 left of $6.00"
    assert cells == "cells  █3 ended !1 broken ►2 going ‖1 stalled ⋅3 waiting"


def test_why_it_is_as_it_is_names_the_key_that_changes_it() -> None:
    def why(**status: object) -> str:
        return plain(sweep_facts(sweep(**status), NOW, 100)[-1])

    assert why(phase=GroupPhase.INTERRUPTED, message="paused: 3 cells wait").endswith("¦ paused: 3 cells wait: u lets it go on")
    assert why(reason="Paused", message="paused: 3 cells wait").startswith("► paused")
    assert why(phase=GroupPhase.STALLED, message="raise the sweep's cap by $1.00").startswith("‖ raise")
    assert "AgentGroup" in why(), "there is nothing to say beside the phase"


def test_a_forecast_takes_a_pace() -> None:
    # 3 minutes for four of ten cells; six are left.
    assert seconds_left(sweep(), NOW) == pytest.approx(180 / 4 * 6)
    assert seconds_left(sweep(ended=1), NOW) is None, "the cells that started first have not ended"
    assert seconds_left(sweep(ended=1), NOW, 1.5) == pytest.approx(180 / 2.5 * 7.5), "what goes tells how far it is"
    assert seconds_left(sweep(ended=0), NOW, 0.3) is None
    assert seconds_left(sweep(phase=GroupPhase.STALLED), NOW, 1.5) is None
    assert seconds_left(sweep(started_at=None), START + timedelta(hours=1)) is None
