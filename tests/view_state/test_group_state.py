"""The group's state: a snapshot and what comes after it, counted, shown with honest figures."""

from datetime import timedelta
from decimal import Decimal

from console_records import NOW, changed, conversation, created, every_kind_of_run, group, run, snapshot, usd

from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.view_state.campaigns import group_detail, status_of
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.filtering import parse_filter
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.money import money_parts
from nodus_tui.view_state.run import RunState
from nodus_tui.view_state.run_columns import RUN_COLUMNS, run_status, why_line


def loaded() -> GroupState:
    state = GroupState("fleet")
    state.load(snapshot(group(), group("other"), runs=[*every_kind_of_run(), run(50, of="other")]))
    return state


def cells_of(state: GroupState, name: str) -> dict[str, str]:
    item = state.rows.item(name)
    return {column.key: plain(column.cell(item, NOW)) for column in RUN_COLUMNS}


def head_text(state: GroupState, width: int = 200) -> str:
    return "\n".join(plain(each) for each in state.head(width, NOW))


def test_the_snapshot_gives_the_runs_of_this_group_only() -> None:
    state = loaded()
    assert len(state.rows) == 12
    assert state.unfinished() == 7


def test_the_cap_that_frees_a_run_is_rounded_up_the_same_in_its_row_and_in_its_facts() -> None:
    caps = {"needed_cap_usd": usd("0.074412"), "phase": RunPhase.WAITING, "reason": Reason.MAX_COST_REACHED}
    waiting = run(1, **caps)
    state = GroupState("fleet")
    state.load(snapshot(group(), runs=[waiting]))
    assert cells_of(state, waiting.name)["why"] == "its own cap, $0.0745 frees it"
    alone = RunState(waiting.name)
    alone.run = waiting
    alone.take_transcript(conversation(waiting.name))
    assert "waits  its own cap · its next call needs at least $0.0745 (e extends it)" in [plain(each) for each in alone.facts(120, NOW)]


def test_an_event_changes_its_fields_and_keeps_the_others() -> None:
    state = loaded()
    name = "fleet-0004-a1"
    assert state.fold(changed("AgentRun", name, 101, of="fleet", phase="Succeeded", verdict="Correct", costUSD="0.02"))
    status = run_status(state.rows.item(name))
    assert (status.phase, status.verdict, status.cost_usd) == (RunPhase.SUCCEEDED, "Correct", Decimal("0.02"))
    assert status.input_tokens == 640
    assert state.unfinished() == 6


def test_what_the_snapshot_already_has_is_not_folded_again() -> None:
    state = loaded()
    assert not state.fold(changed("AgentRun", "fleet-0004-a1", 100, of="fleet", phase="Failed"))
    assert run_status(state.rows.item("fleet-0004-a1")).phase is RunPhase.RUNNING


def test_events_that_overtake_the_snapshot_are_kept_for_it() -> None:
    state = GroupState("fleet")
    assert not state.fold(changed("AgentRun", "fleet-0008-a1", 99, of="fleet", message="older than the snapshot"))
    assert not state.fold(changed("AgentRun", "fleet-0008-a1", 105, of="fleet", message="newer than the snapshot"))
    state.load(snapshot(group(), runs=every_kind_of_run(), cursor=100))
    assert run_status(state.rows.item("fleet-0008-a1")).message == "newer than the snapshot"


def test_other_groups_change_nothing() -> None:
    state = loaded()
    assert not state.fold(changed("AgentRun", "other-0050-a1", 101, of="other", phase="Running"))
    assert not state.fold(changed("AgentGroup", "other", 102, phase="Completed"))


def test_a_successor_takes_the_place_of_its_predecessor() -> None:
    state = loaded()
    old = "fleet-0006-a1"
    state.fold(changed("AgentRun", old, 101, of="fleet", phase="Superseded", reason="Superseded", current=False))
    state.fold(
        created(
            run(6, attempt=2, predecessor=old, cap="0.12", phase=RunPhase.RUNNING, cost_usd=usd("0.0511"), carried_usd=usd("0.0511")), 102
        )
    )
    assert state.rows.find(old) is None
    assert len(state.rows) == 12
    follower = state.successor(old)
    assert follower is not None
    assert follower.name == "fleet-0006-a2"
    earlier = state.run(old)
    assert earlier is not None
    assert run_status(earlier).phase is RunPhase.SUPERSEDED
    assert "try 2" in cells_of(state, "fleet-0006-a2")["task"]


def test_a_deleted_run_and_a_deleted_group_are_gone() -> None:
    state = loaded()
    state.fold(Event(cursor=101, at=NOW, change="Deleted", kind="AgentRun", name="fleet-0000-a1", group="fleet"))
    assert state.run("fleet-0000-a1") is None
    state.fold(Event(cursor=102, at=NOW, change="Deleted", kind="AgentGroup", name="fleet"))
    assert state.gone


def test_a_wait_says_for_what_and_until_when() -> None:
    state = loaded()
    assert plain(why_line(state.rows.item("fleet-0005-a1"), NOW)).startswith("the rate limit until 14:03:22 · ")
    assert plain(why_line(state.rows.item("fleet-0006-a1"), NOW)).startswith("its own cap · its next call might cost $0.0312")
    assert plain(why_line(state.rows.item("fleet-0009-a1"), NOW)).startswith("the group's cap · waits for $0.04 of the group's cap")
    assert why_line(state.rows.item("fleet-0000-a1"), NOW) == ()


def test_a_reason_is_not_said_twice() -> None:
    def said(message: str, **status) -> str:
        return plain(why_line(run(1, message=message, **status), NOW))

    assert said("killed by ops", phase=RunPhase.CANCELLED, reason=Reason.KILLED) == "killed by ops"
    assert said("", phase=RunPhase.CANCELLED, reason=Reason.KILLED) == "killed"
    assert said("superseded by fleet-0001-a2", phase=RunPhase.SUPERSEDED, reason=Reason.SUPERSEDED) == "superseded by fleet-0001-a2"


def test_unscored_is_never_shown_as_a_verdict() -> None:
    cells = cells_of(loaded(), "fleet-0010-a1")
    assert cells["verdict"] == "– unscored"
    assert cells_of(loaded(), "fleet-0003-a1")["verdict"] == "! Infra fail"


def test_unconfirmed_and_simulated_are_marked() -> None:
    state = loaded()
    assert cells_of(state, "fleet-0003-a1")["cost"].startswith("u ")
    assert "simulated" in head_text(state)


def test_the_head_never_shows_a_pass_rate_without_its_coverage() -> None:
    state = loaded()
    assert "70.0% ± 14.2 (SE 7.2), 40/100 scored" in head_text(state)


def test_what_going_runs_spent_is_spent_and_the_parts_add_up_to_the_cap() -> None:
    item = group(spent="1.00", reserved="0.50", model="1.20")
    status = status_of(item)
    parts = money_parts(status.money)
    assert (parts.spent, parts.reserved, parts.left) == (Decimal("1.20"), Decimal("0.30"), Decimal("4.50"))
    assert parts.spent + parts.reserved + parts.left == status.money.cap_usd
    state = GroupState("fleet")
    state.load(snapshot(item))
    for shown in (head_text(state), "\n".join(plain(each) for each in group_detail(item, NOW, 200))):
        assert "$1.20 spent" in shown
        assert "$0.30 reserved" in shown
        assert "$4.50 left" in shown


def test_money_in_the_head_adds_up_in_words() -> None:
    assert "$1.00 spent" in head_text(loaded())
    assert "$0.50 reserved" in head_text(loaded())
    assert "$4.50 left of $6.00" in head_text(loaded())


def test_a_stalled_group_names_its_cap_and_the_amount_at_eighty_columns() -> None:
    state = GroupState("fleet")
    message = "9 cases wait on the group's cap of $6.00: raise it to $6.54 and all can go on"
    state.load(snapshot(group(phase=GroupPhase.STALLED, reason=Reason.MAX_COST_REACHED, message=message), runs=[]))
    assert message in head_text(state, 78)


def test_case_counts_add_up_to_all_cases() -> None:
    state = loaded()
    shown = [int(word.split()[0][1:] or word.split()[1]) for word in _legend(state)]
    assert sum(shown) == 100


def _legend(state: GroupState) -> list[str]:
    words = plain(state.head(78, NOW)[2]).split()
    return [f"{number} {word}" for number, word in zip(words[::2], words[1::2], strict=True)]


def test_the_filter_sees_states_verdicts_and_costs() -> None:
    state = loaded()
    state.filter(parse_filter("state:maxcost"))
    assert len(state.rows) == 2
    state.filter(parse_filter("verdict:infra"))
    assert [state.rows.key_at(index) for index in range(len(state.rows))] == ["fleet-0003-a1"]
    state.filter(parse_filter("cost>0.05"))
    assert len(state.rows) == 1
    state.filter(None)
    assert len(state.rows) == 12


def test_times_come_from_the_argument_only() -> None:
    state = loaded()
    later = NOW + timedelta(minutes=5)
    column = next(column for column in RUN_COLUMNS if column.key == "time")
    item = state.rows.item("fleet-0004-a1")
    assert plain(column.cell(item, NOW)) == "1m10s"
    assert plain(column.cell(item, later)) == "6m10s"
