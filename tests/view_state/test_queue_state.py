"""The queue: who waits for what and until when, in which order, folded into few rows; and what ten thousand waiting runs cost."""

from datetime import timedelta
from decimal import Decimal

import pytest
from box_records import box
from budget_records import BLOCKS, budget
from console_records import NOW, START, changed, group, run, usd
from hypothesis import given
from hypothesis import strategies as st
from job_records import job
from sweep_records import sweep

from nodus_tui.contract.events import Snapshot
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.values import replace
from nodus_tui.view_state.boxes import BoxesState
from nodus_tui.view_state.budgets import BudgetsState
from nodus_tui.view_state.campaigns import CampaignsState
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.filtering import parse_filter
from nodus_tui.view_state.folding import run_after
from nodus_tui.view_state.jobs import JobsState
from nodus_tui.view_state.queue import FOLD_SHOWN, LOOK_SECONDS, QueueState
from nodus_tui.view_state.queue_columns import QUEUE_COLUMNS, reasons_line, waiter_details
from nodus_tui.view_state.sweeps import SweepsState
from nodus_tui.view_state.waiting import Waiter, When, when_text

BUSY = {"mean_run_seconds": 20.0, "mean_run_usd": usd("0.02"), "spent": "1.00", "reserved": "0.12"}


def pending(case: int, reason: Reason = Reason.WAITING_FOR_SLOT, of: str = "fleet", **more) -> AgentRun:
    return run(case, of=of, reason=reason, message=f"waits: {reason.value}", **more)


def going(case: int, **more) -> AgentRun:
    return run(case, phase=RunPhase.RUNNING, started_at=NOW - timedelta(seconds=15), **more)


def queue(*runs: AgentRun, groups=None, jobs=(), boxes=(), sweeps=(), budgets=()) -> QueueState:
    snapshot = Snapshot(
        cursor=1,
        groups=tuple(groups if groups is not None else [group(max_active=2, **BUSY)]),
        jobs=tuple(jobs),
        sandboxes=tuple(boxes),
        sweeps=tuple(sweeps),
        budgets=tuple(budgets),
    )
    states = CampaignsState(), JobsState(), BoxesState(), SweepsState(), BudgetsState()
    for state in states:
        state.load(snapshot)
    made = QueueState(*(state.rows for state in states))
    made.load(runs)
    made.refresh(NOW)
    return made


def shown(state: QueueState) -> list[Waiter]:
    return [state.rows.item(state.rows.key_at(place)) for place in range(len(state.rows))]


def told(state: QueueState) -> list[tuple[str, str, str]]:
    return [(each.key, each.wants, when_text(each.end, NOW)) for each in shown(state)]


def test_what_a_monthly_budget_holds_waits_until_the_month_ends_at_the_latest() -> None:
    stopped = [group(phase=GroupPhase.STALLED, reason=Reason.BUDGET_EXCEEDED)]
    runs = [pending(case, Reason.BUDGET_EXCEEDED) for case in range(3)]
    train = job("train", phase="Pending", reason="BudgetExceeded")
    month, total = budget("month", period="Monthly", status=BLOCKS), budget("all", status=BLOCKS)
    elsewhere = budget("elsewhere", status=BLOCKS, scope={"project": "elsewhere"})
    ends = month.status.period_ends_at if month.status is not None else None
    at_latest = when_text(When("AtLatest", ends), NOW)
    assert at_latest.startswith("≤ ")

    state = queue(*runs, groups=stopped, jobs=[train], budgets=[month, elsewhere])
    assert {until for _, _, until in told(state)} == {at_latest}
    words = "\n".join(map(plain, waiter_details(shown(state)[0], NOW)))
    assert "at the latest: the month of its budget ends then" in words
    # A budget without an end, too, and nothing frees it by itself.
    both = queue(*runs, groups=stopped, jobs=[train], budgets=[month, total])
    assert {until for _, _, until in told(both)} == {"by hand", "unknown"}


def test_who_is_next_stands_first_with_what_it_waits_for_and_until_when() -> None:
    state = queue(
        going(1),
        going(2, reason=Reason.RATE_LIMITED, message="a pause", until=NOW + timedelta(seconds=12)),
        pending(3),
        pending(4),
        pending(5),
        run(6, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED, needed_cap_usd=usd("0.09")),
    )
    assert told(state) == [
        ("run/fleet-0003-a1", "a slot", "soon"),
        ("run/fleet-0004-a1", "a slot", "soon"),
        ("run/fleet-0002-a1", "the rate limit", "14:03:22"),
        ("run/fleet-0005-a1", "a slot", "~14:04"),
        ("run/fleet-0006-a1", "its own cap", "by hand"),
    ]
    # Both that go have run for 15 of some 20 seconds.
    assert [each.end.at for each in shown(state)[:2]] == [NOW + timedelta(seconds=5)] * 2
    assert [each.ahead for each in shown(state)] == [0, 1, None, 2, None]


def test_nothing_is_forecast_before_a_run_has_come_to_an_answer() -> None:
    state = queue(going(1), going(2), pending(3), pending(4), groups=[group(max_active=2)])
    assert {each.end.kind for each in shown(state)} == {"Unknown"}
    words = "\n".join(plain(each) for each in waiter_details(shown(state)[0], NOW))
    assert "until when is not known (no run of the group has come to an answer yet)" in words


def test_runs_that_the_cap_has_no_room_for_wait_for_somebody_when_nothing_else_goes_on() -> None:
    stalled = group(phase=GroupPhase.STALLED, cap="1.02", **{**BUSY, "reserved": "0"})
    state = queue(pending(1, Reason.MAX_COST_REACHED), groups=[stalled])
    assert told(state) == [("run/fleet-0001-a1", "the group's cap", "by hand")]


def test_many_of_one_group_and_reason_are_told_in_one_row_that_unfolds() -> None:
    state = queue(going(1), *(pending(case) for case in range(2, 40)))
    keys = [each.key for each in shown(state)]
    bundle = shown(state)[-1]
    assert keys[:FOLD_SHOWN] == [f"run/fleet-{case:04d}-a1" for case in (2, 3, 4)]
    assert (bundle.key, bundle.who, bundle.count) == ("more/fleet/Pending/WaitingForSlot", "35 more, cases 5–39", 35)
    assert bundle.last is not None
    assert plain(reasons_line(state.reasons)) == "38 for a slot"
    assert plain(waiter_details(bundle, NOW)[0]).startswith("35 more, cases 5–39 of fleet wait for a slot")
    assert plain(waiter_details(shown(state)[0], NOW)[0]).startswith("run fleet-0002-a1 of fleet waits for a slot")
    state.turn(bundle.bundle)
    state.refresh(NOW)
    assert len(state.rows) == 38
    state.turn_all()
    state.refresh(NOW)
    assert len(state.rows) == FOLD_SHOWN + 1
    state.turn_all()
    state.refresh(NOW)
    assert len(state.rows) == 38


def test_a_bundle_says_from_when_to_when_and_one_time_once() -> None:
    bundle = shown(queue(going(1), *(pending(case) for case in range(2, 40))))[-1]
    until = next(column for column in QUEUE_COLUMNS if column.key == "until")
    first, last = plain(until.cell(bundle, NOW)).split("–")
    assert first.startswith("~")
    assert f"~{last}" == when_text(bundle.last or bundle.end, NOW)
    assert plain(until.cell(replace(bundle, last=bundle.end), NOW)) == first


def test_a_bundle_stands_behind_those_of_its_own_that_are_told_by_themselves() -> None:
    pauses = [9, 2, 7, 1, 1, 1, 1, 1]
    runs = [
        going(case, reason=Reason.RATE_LIMITED, message="a pause", until=NOW + timedelta(seconds=seconds))
        for case, seconds in enumerate(pauses, start=1)
    ]
    by_hand = [run(case, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED) for case in range(20, 30)]
    keys = [each.key for each in shown(queue(*runs, *by_hand))]
    assert keys[:4] == ["run/fleet-0002-a1", "run/fleet-0003-a1", "run/fleet-0001-a1", "more/fleet/Running/RateLimited"]
    assert keys[4:] == [f"run/fleet-{case:04d}-a1" for case in (20, 21, 22)] + ["more/fleet/Waiting/MaxCostReached"]


def test_groups_jobs_sandboxes_and_cells_of_sweeps_wait_in_the_same_queue() -> None:
    state = queue(
        pending(1, Reason.BUDGET_EXCEEDED, of="resting"),
        groups=[
            group("making", phase=GroupPhase.PENDING, pending=20),
            group("resting", phase=GroupPhase.INTERRUPTED, pending=7, reason=Reason.INTERRUPTED),
        ],
        jobs=[
            job(name="train", phase="Pending", reason="WaitingForDevice", until=NOW + timedelta(minutes=4), until_kind="About"),
            job(name="done", phase="Succeeded"),
        ],
        boxes=[box("desk", phase="Pending", reason="WaitingForSandbox"), box("open")],
        sweeps=[sweep("grid", cells=12, ended=3, going=2, stalled=1)],
    )
    first, *unknown, last = told(state)
    assert first == ("job/train", "a device", "~14:08")
    assert sorted(unknown) == [
        ("group/making", "its tasks", "unknown"),
        ("sandbox/desk", "a sandbox", "unknown"),
        ("sweep/grid", f"one of {sweep('grid').spec.max_parallel} places", "unknown"),
    ]
    assert last == ("group/resting", "a resume", "by hand")
    assert state.rows.item("sweep/grid").count == 6
    assert state.reasons["a resume"] == 7


def test_a_queue_narrowed_to_a_group_has_nothing_else() -> None:
    state = queue(pending(1), pending(1, of="other"), groups=[group(), group("other")], jobs=[job(name="train", phase="Pending")])
    assert len(state.rows) == 3
    state.narrow("other")
    state.refresh(NOW)
    assert [each.group for each in shown(state)] == ["other"]
    state.narrow("")
    state.refresh(NOW)
    assert len(state.rows) == 3


def test_events_take_runs_in_and_out_and_say_what_they_wait_for_now() -> None:
    state = queue(going(1), pending(2), pending(3))
    state.fold(changed("AgentRun", "fleet-0002-a1", cursor=5, phase="Running", reason=None, message=""))
    state.fold(changed("AgentRun", "fleet-0001-a1", cursor=6, reason="RateLimited", message="a pause of 5 s"))
    state.fold(changed("AgentRun", "fleet-0003-a1", cursor=7, phase="Cancelled"))
    state.refresh(NOW)
    assert [(each.name, each.message) for each in shown(state)] == [("fleet-0001-a1", "a pause of 5 s")]
    state.fold(changed("AgentRun", "fleet-0001-a1", cursor=8, current=False, phase="Superseded"))
    state.refresh(NOW)
    assert shown(state) == []


def test_what_is_told_while_the_runs_are_asked_for_is_not_lost() -> None:
    state = queue(pending(2))
    state.await_runs()
    state.fold(changed("AgentRun", "fleet-0003-a1", cursor=7, phase="Running", reason="Retrying", message="again"))
    state.load([pending(2), going(3)])
    state.refresh(NOW)
    assert {each.name: each.wants for each in shown(state)} == {"fleet-0002-a1": "a slot", "fleet-0003-a1": "the next try"}


def test_forecasts_are_made_anew_when_they_are_old_and_not_before() -> None:
    state = queue(going(1), going(2), pending(3))
    first = shown(state)[0].end.at
    state.refresh(NOW + timedelta(seconds=LOOK_SECONDS - 1))
    assert not state.due(NOW + timedelta(seconds=LOOK_SECONDS - 1))
    assert shown(state)[0].end.at == first
    late = NOW + timedelta(minutes=1)
    assert state.due(late)
    state.refresh(late)
    # Both are late: a slot is expected to come free at any moment.
    assert shown(state)[0].end.at == late
    assert not state.due(late)


@pytest.mark.parametrize("text", ["state:waitingforslot", "group:fleet", "slot", "who:sum-002"])
def test_the_queue_is_filtered_like_every_table(text: str) -> None:
    state = queue(pending(2), run(3, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED, of="other"), groups=[group(), group("other")])
    state.filter(parse_filter(text, state.rows.fields))
    assert [each.name for each in shown(state)] == ["fleet-0002-a1"]


def test_of_ten_thousand_waiting_runs_a_change_makes_the_rows_of_its_group_alone() -> None:
    groups = [group(f"g{number}", max_active=2, tasks=100, **BUSY) for number in range(10)]
    runs = [pending(case, of=each.name) for each in groups for case in range(1000)]
    state = queue(*runs, groups=groups)
    assert state.rows.total == 10 * (FOLD_SHOWN + 1)
    assert state.reasons["a slot"] == 10_000
    before = {key: state.rows.item(key) for key in state.rows.keys()}  # noqa: SIM118 - Rows is no dict
    state.fold(changed("AgentRun", "g3-0000-a1", cursor=5, phase="Running", reason=None))
    state.refresh(NOW)
    after = {key: state.rows.item(key) for key in state.rows.keys()}  # noqa: SIM118 - Rows is no dict
    assert {key.split("/")[1][:2] for key in before if after.get(key) is not before[key]} == {"g3"}
    assert state.reasons["a slot"] == 9_999


def test_a_row_says_since_when_by_the_stretch_that_it_is_in() -> None:
    since = START + timedelta(minutes=1)
    waits = pending(2, stretches=[{"activity": "Queued", "reason": Reason.WAITING_FOR_SLOT, "since": since}])
    assert shown(queue(waits))[0].since == since
    rested = pending(2, started_at=START, rested_at=since)
    assert shown(queue(rested))[0].since == since


def test_every_column_has_a_cell_for_every_row() -> None:
    state = queue(going(1), *(pending(case) for case in range(2, 40)), jobs=[job(name="train", phase="Pending")])
    for waiter in shown(state):
        assert all(plain(column.cell(waiter, NOW)) or column.key == "message" for column in QUEUE_COLUMNS)
        assert waiter.cost >= Decimal(0)


STATES = st.sampled_from(
    [
        {"phase": "Pending", "reason": "WaitingForSlot"},
        {"phase": "Pending", "reason": "MaxCostReached"},
        {"phase": "Running", "reason": None},
        {"phase": "Running", "reason": "RateLimited", "message": "a pause"},
        {"phase": "Waiting", "reason": "MaxCostReached"},
        {"phase": "Succeeded"},
        {"costUSD": "0.03", "calls": 4},
        {"message": "something else"},
    ]
)


@given(st.lists(st.tuples(st.integers(1, 14), STATES), max_size=60))
def test_whatever_was_told_the_rows_are_those_of_who_asks_now(told) -> None:
    runs = {f"fleet-{case:04d}-a1": pending(case) for case in range(1, 15)}
    state = queue(*runs.values())
    for cursor, (case, status) in enumerate(told, start=2):
        event = changed("AgentRun", f"fleet-{case:04d}-a1", cursor, **status)
        known = runs.get(event.name)
        state.fold(event)
        if known is not None:
            now = run_after(known, event)
            if now.status.phase.ended:
                del runs[event.name]
            else:
                runs[event.name] = now
        if cursor % 3:
            state.refresh(NOW)
    state.refresh(NOW)
    assert {each.key: each for each in shown(state)} == {each.key: each for each in shown(queue(*runs.values()))}
