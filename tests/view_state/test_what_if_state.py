"""What if: a group under another maxActive, beside the present, from the same records as the group's own view."""

from datetime import timedelta

import pytest
from console_records import NOW, changed, group, run, snapshot, usd

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.statistics.queueing import forecast
from nodus_tui.values import replace
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.what_if import (
    WHAT_IF_COLUMNS,
    WhatIfState,
    end_text,
    head_lines,
    left_text,
    row_words,
    value_problem,
    what_if_rows,
)

MEANS = {"mean_run_seconds": 60.0, "mean_run_usd": usd("0.04")}


def busy(**more) -> AgentGroup:
    """Seven of twenty runs of ten cents go, and the cap of a dollar has room for no more."""
    return group(cap="1.00", tasks=20, **{"max_active": 10, "spent": "0.25", "reserved": "0.70", **MEANS, **more})


def roomy(**more) -> AgentGroup:
    """The same with a cap that has room for all of them."""
    return group(cap="9.00", tasks=20, **{"spent": "0.25", "reserved": "0.70", "pending": 15, "verdicts": {"Correct": 5}, **MEANS, **more})


def runs():
    going = [run(case, cap="0.10", phase=RunPhase.RUNNING, started_at=NOW - timedelta(seconds=30)) for case in range(7)]
    return [*going, *(run(case, cap="0.10", reason=Reason.MAX_COST_REACHED) for case in range(7, 20))]


def state(of: AgentGroup | None = None, **more) -> WhatIfState:
    known = GroupState("fleet")
    known.load(snapshot(of or busy(**more), runs=runs()))
    made = WhatIfState(known)
    made.refresh(NOW)
    return made


def values(made: WhatIfState) -> list[int]:
    return [int(made.rows.key_at(place)) for place in range(len(made.rows))]


def test_the_usual_values_are_told_with_the_present_and_as_many_as_there_are_runs() -> None:
    made = state()
    assert values(made) == [1, 2, 5, 10, 20]
    present = made.rows.item("10")
    assert present.is_present
    assert made.load is not None
    assert present.forecast == forecast(made.load)
    made.added.add(7)
    made.refresh(NOW)
    assert values(made) == [1, 2, 5, 7, 10, 20]


def test_the_cap_that_admits_only_seven_at_once_is_told_with_what_is_reserved() -> None:
    made = state()
    words = " ".join(plain(each) for each in row_words(made.rows.item("20"), NOW))
    assert "At most 7 go at once and reserve $0.70, and the cap admits only 7 at once as it stands" in words
    assert plain(WHAT_IF_COLUMNS[5].cell(made.rows.item("20"), NOW)) == "‖ 7 at once"
    assert plain(WHAT_IF_COLUMNS[5].cell(made.rows.item("5"), NOW)) == "● yes"


def test_fewer_at_once_end_later_than_now_and_that_is_said() -> None:
    made = state()
    fewer, present = made.rows.item("1"), made.rows.item("10")
    assert fewer.end is not None
    assert present.end is not None
    assert fewer.end > present.end
    assert "later than now" in plain(row_words(fewer, NOW)[0])
    assert plain(row_words(present, NOW)[0]).startswith("maxActive 10, as now: it comes to a stop ~14:")


def test_a_group_whose_cap_is_too_small_says_how_many_never_start() -> None:
    made = state(busy(mean_run_usd=usd("0.10")))
    row = made.rows.item("10")
    assert row.forecast.stranded == 13
    assert "13 never start, whatever maxActive is" in plain(row_words(row, NOW)[-1])


def test_without_a_run_that_came_to_an_answer_times_are_unknown_and_money_is_not() -> None:
    made = state(busy(mean_run_seconds=None, mean_run_usd=None))
    row = made.rows.item("10")
    assert row.end is None
    assert plain(WHAT_IF_COLUMNS[1].cell(row, NOW)) == "unknown"
    assert row.forecast.admitted == 7
    assert made.load is not None
    assert "nothing is known of how long one takes" in plain(head_lines(busy(), made.load)[1])


def test_a_group_that_has_nothing_to_do_has_nothing_to_forecast() -> None:
    known = GroupState("fleet")
    known.load(snapshot(busy(phase=GroupPhase.COMPLETED), runs=[]))
    made = WhatIfState(known)
    made.refresh(NOW)
    assert made.load is not None
    assert plain(head_lines(busy(), made.load)[0]).startswith("No run of the group goes or waits in line")
    assert row_words(made.rows.item("10"), NOW) == ()


def test_what_happens_is_in_the_next_forecast() -> None:
    made = state()
    assert not made.old(NOW, 5)
    assert made.old(NOW + timedelta(seconds=5), 5)
    made.group.fold(changed("AgentRun", "fleet-0007-a1", 101, of="fleet", phase="Cancelled"))
    made.refresh(NOW)
    assert values(made)[-1] == 19


@pytest.mark.parametrize("text", ["", "0", "1001", "-3", "2.5", "many"])
def test_what_is_no_max_active_is_said(text: str) -> None:
    assert value_problem(text) == "Type a whole number from 1 to 1,000."
    assert value_problem(" 12 ") == ""


def test_a_higher_cap_that_a_run_was_given_counts_as_its_own() -> None:
    carried = run(7, cap="0.20", cost_usd=usd("0.08"), carried_usd=usd("0.08"), reason=Reason.WAITING_FOR_SLOT)
    known = GroupState("fleet")
    known.load(snapshot(busy(), runs=[carried]))
    made = WhatIfState(known)
    made.refresh(NOW)
    assert made.load is not None
    assert [(each.cap, each.spent) for each in made.load.waiting] == [(120_000_000, 0)]
    assert forecast(replace(made.load, left=119_999_999)).admitted == 0


@pytest.mark.parametrize("since", [timedelta(minutes=2), timedelta(hours=3)])
def test_the_groups_own_forecast_is_that_of_its_present_maxactive_however_long_runs_waited_at_caps(since: timedelta) -> None:
    made = state(pending=15, verdicts={"Correct": 5}, started_at=NOW - since)
    told = f"stalls in {left_text(made.rows.item('10'))}"
    assert made.rows.item("10").forecast.stranded
    assert plain(made.group.left_words(NOW)) == told, "the cap has no room for all that is left"
    assert any(told in plain(each) for each in made.group.head(200, NOW, roomy=True))
    ample = state(roomy(started_at=NOW - since))
    assert plain(ample.group.left_words(NOW)) == f"{left_text(ample.rows.item('10'))} left"


def test_a_group_of_which_runs_wait_at_their_own_caps_stalls_when_the_others_have_ended() -> None:
    known = GroupState("fleet")
    waiting = run(19, cap="0.10", phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED)
    known.load(snapshot(roomy(), runs=[*runs()[:-1], waiting]))
    assert plain(known.left_words(NOW)).startswith("stalls in ~")


def test_where_nothing_goes_and_nothing_can_start_no_end_is_foretold() -> None:
    waiting = [each for each in runs() if each.status.phase is RunPhase.PENDING]
    _, rows = what_if_rows(busy(reserved="0.00", spent="0.95"), waiting, NOW)
    row = next(each for each in rows if each.is_present)
    assert [plain(column.cell(row, NOW)) for column in WHAT_IF_COLUMNS if column.key in {"end", "left"}] == ["–", "–"]
    assert (end_text(row, NOW), left_text(row)) == ("-", "-")
    first, second = (plain(each) for each in row_words(row, NOW))
    assert first == "Nothing goes, and none of the 13 in line can start, whatever maxActive is: the cap has no room for one."
    assert second == "A higher cap of the group lets them start."


def test_a_pace_of_a_clock_that_was_set_foresees_no_moment() -> None:
    made = state(busy(mean_run_seconds=1e11))
    row = made.rows.item("1")
    assert row.end is None
    assert plain(WHAT_IF_COLUMNS[1].cell(row, NOW)) == "unknown"
    assert row_words(row, NOW)
