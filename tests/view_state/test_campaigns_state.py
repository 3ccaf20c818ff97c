"""The campaigns' state: groups come, change and go; forecasts and marks are honest."""

from datetime import timedelta

from console_records import NOW, START, changed, created, group, snapshot, usd

from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent_group import Coverage
from nodus_tui.view_state.campaigns import CAMPAIGN_COLUMNS, CampaignsState, finished_cases, group_detail, seconds_left, status_of
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.filtering import parse_filter


def cells(item) -> dict[str, str]:
    return {column.key: plain(column.cell(item, NOW)) for column in CAMPAIGN_COLUMNS}


def names(state: CampaignsState) -> list[str]:
    return [state.rows.key_at(index) for index in range(len(state.rows))]


def test_newest_first_and_events_fold() -> None:
    state = CampaignsState()
    state.load(snapshot(group("old", created_at=START - timedelta(hours=1)), group("new")))
    assert names(state) == ["new", "old"]
    assert state.fold(created(group("newest", created_at=NOW), 101))
    assert names(state) == ["newest", "new", "old"]
    assert state.fold(changed("AgentGroup", "old", 102, phase="Completed", pending=0))
    assert status_of(state.rows.item("old")).phase is GroupPhase.COMPLETED
    assert state.fold(Event(cursor=103, at=NOW, change="Deleted", kind="AgentGroup", name="new"))
    assert names(state) == ["newest", "old"]


def test_runs_and_old_cursors_change_nothing_here() -> None:
    state = CampaignsState()
    state.load(snapshot(group()))
    assert not state.fold(changed("AgentRun", "fleet-0000-a1", 101, of="fleet", phase="Running"))
    assert not state.fold(changed("AgentGroup", "fleet", 99, phase="Failed"))
    assert not state.fold(changed("AgentGroup", "nobody-told-of", 101, phase="Failed"))


def test_a_pass_rate_cell_always_has_its_coverage() -> None:
    assert cells(group())["pass"] == "70.0% ±14.2 40/100"
    assert cells(group(pass_rate=1.0, ci95=(0.722, 1.0)))["pass"] == "100% [72–100] 40/100"
    assert cells(group(pass_rate=None, ci95=None, coverage=Coverage(scored=0, total=100)))["pass"] == "– 0/100"
    assert cells(group(ci95=None, standard_error=None))["pass"] == "70.0% (no SE) 40/100"


def test_marks() -> None:
    assert cells(group())["note"] == "simulated"
    assert cells(group(simulated=False, notional_price=True))["note"] == "notional"
    assert cells(group(unconfirmed="0.02"))["spent"].startswith("u ")


def test_a_forecast_is_marked_as_one_and_needs_a_pace() -> None:
    item = group()
    left = seconds_left(item, NOW)
    assert left is not None
    assert round(left) == round(188 / 42 * 58)
    assert cells(item)["eta"] == "~4m"
    assert cells(group(pending=98))["eta"] == "–"
    assert cells(group(phase=GroupPhase.STALLED))["eta"] == "–"


def test_a_group_whose_cap_comes_to_its_end_before_its_cases_do_foretells_a_stall_and_no_end() -> None:
    enough = group(mean_run_usd=usd("0.02"), spent="0.70", cap="2.00", pending=58, going=8)
    assert cells(enough)["eta"] == "~4m"
    assert cells(group(mean_run_usd=usd("0.02"), spent="0.70", cap="1.60", pending=58, going=8))["eta"] == "stalls"


def test_only_real_money_counts_as_real() -> None:
    state = CampaignsState()
    state.load(snapshot(group("a"), group("b", simulated=False, model="0.25"), group("c", simulated=False, notional_price=True)))
    assert plain(state.summary()) == "3 running · real spend $0.25"


def test_the_filter_finds_simulated_groups_and_phases() -> None:
    state = CampaignsState()
    state.load(snapshot(group("a"), group("b", simulated=False, phase=GroupPhase.STALLED)))
    state.filter(parse_filter("simulated"))
    assert names(state) == ["a"]
    state.filter(parse_filter("state:stalled"))
    assert names(state) == ["b"]


def test_the_detail_says_why_first() -> None:
    lines = [plain(each) for each in group_detail(group(phase=GroupPhase.STALLED, message="raise the cap by $0.54"), NOW, 200)]
    assert lines[0] == "‖ raise the cap by $0.54"
    assert lines[1] == "70.0% ± 14.2 (SE 7.2), 40/100 scored · times out 14:30:00 · created 14:00:00"


def test_a_forecast_goes_by_cases_that_came_to_their_own_ends() -> None:
    known = {"pending": 50, "started_at": NOW - timedelta(seconds=100), "verdicts": {"Correct": 8, "InfrastructureFailure": 2}}
    status = status_of(group(**{**known, "pending": 90}))
    assert (finished_cases(status), seconds_left(group(**{**known, "pending": 90}), NOW)) == (10, 900)
    killed = {**known, "verdicts": {**known["verdicts"], "Killed": 38, "BudgetExceeded": 2}}
    assert (finished_cases(status_of(group(**killed))), seconds_left(group(**killed), NOW)) == (10, 500)
    assert seconds_left(group(**{**known, "pending": 60, "verdicts": {"Correct": 2, "Killed": 38}}), NOW) is None
    slow = group(**{**known, "started_at": NOW - timedelta(hours=3)}, mean_run_seconds=4.0, going=10)
    assert seconds_left(slow, NOW) == 4.0 * 45 / 10, "hours at a cap are no time at work"


def test_facts_of_the_selected_group_are_broken_between_facts_only() -> None:
    told = [plain(each) for each in group_detail(group(), NOW, 70)]
    assert told == [
        "► Running · times out 14:30:00 · created 14:00:00",
        "70.0% ± 14.2 (SE 7.2), 40/100 scored",
        "$1.00 spent | $0.50 reserved | $4.50 left · simulated",
        "agent solver r1 · sim-small (simulated-1)",
        "nodus/arithmetic-v2@2.0.0 test, 100 tasks, seed 7",
    ]
    assert len(group_detail(group(), NOW, None)) == 4
