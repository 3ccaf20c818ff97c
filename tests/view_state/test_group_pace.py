"""What a group spends in a minute and comes to at its end: estimates that say so, and none where too little is known."""

from datetime import timedelta
from decimal import Decimal

from console_records import NOW, START, changed, group, run, scored, snapshot, usd

from nodus_tui.contract.phases import GroupPhase, RunPhase, Verdict
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import line, plain
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.group_pace import Pace, pace_forms

FLEET = status_of(group(mean_run_usd=usd("0.02"), model=usd("1.20")))


def spending(minutes: float, cost: str, **more):
    return run(phase=RunPhase.RUNNING, started_at=NOW - timedelta(minutes=minutes), cost_usd=usd(cost), **more)


def test_the_rate_is_what_runs_spent_in_the_last_minutes_spread_over_their_time() -> None:
    old = status_of(group(started_at=NOW - timedelta(hours=1)))
    pace = Pace()
    pace.take(spending(10, "0.10", name="long"))
    pace.take(run(name="over", phase=RunPhase.SUCCEEDED, started_at=START - timedelta(hours=1), ended_at=START, cost_usd=usd("5")))
    burn = pace.burn(old, NOW + timedelta(minutes=2))
    assert burn is not None
    # Ten and two minutes for 0.10, of which the last five count; the other ended 3m10s before now, and nothing of its hour is older.
    assert burn[1] == 300.0
    pace.forget("over")
    alone = pace.burn(old, NOW + timedelta(minutes=2))
    assert alone is not None
    assert abs(alone[0] - Decimal("0.10") / 12) < Decimal("0.000001")


def test_what_a_predecessor_paid_is_not_spent_again() -> None:
    pace = Pace()
    pace.take(spending(1, "0.10", carried_usd=usd("0.10")))
    burn = pace.burn(FLEET, NOW)
    assert burn is not None
    assert burn[0] == 0


def test_too_little_is_known_at_the_beginning_and_nothing_is_spent_at_rest() -> None:
    pace = Pace()
    pace.take(spending(1, "0.10"))
    assert pace.burn(status_of(group(started_at=NOW - timedelta(seconds=5))), NOW) is None
    assert pace.burn(status_of(group(phase=GroupPhase.INTERRUPTED)), NOW) is None
    assert pace.burn(status_of(group(started_at=None)), NOW) is None


def test_with_many_runs_the_rate_is_that_of_the_second() -> None:
    pace = Pace()
    for case in range(600):
        pace.take(spending(1, "0.01", name=f"r-{case}"))
    before = pace.burn(FLEET, NOW)
    pace.take(spending(1, "5", name="r-0"))
    assert pace.burn(FLEET, NOW) == before
    after = pace.burn(FLEET, NOW + timedelta(seconds=1))
    assert before is not None
    assert after is not None
    assert after[0] > before[0]


def test_at_the_end_open_cases_cost_what_answered_ones_did_less_what_they_have_spent() -> None:
    pace = Pace()
    assert pace.at_the_end(FLEET) == Decimal("1.20") + 58 * Decimal("0.02")
    pace.take(spending(1, "0.16"))
    assert pace.at_the_end(FLEET) == Decimal("1.20") + 58 * Decimal("0.02") - Decimal("0.16")
    assert pace.at_the_end(status_of(group())) is None
    assert pace.at_the_end(status_of(group(mean_run_usd=usd("0.02"), pending=0))) is None


def test_the_words_mark_estimates_and_give_way_where_there_is_no_room() -> None:
    said = [plain(form) for form in pace_forms(Pace(), FLEET, line("~2m left"), NOW)]
    assert said[0] == "~$0.00/min over 3m · ~$2.36 at the end if 58 left cost $0.02 each · ~2m left"
    assert said[2] == "~$0.00/min · ~$2.36 at the end if 58 left cost $0.02 each"
    assert said[3] == "~$0.00/min · ~$2.36 at the end"
    over = pace_forms(Pace(), status_of(group(cap="1.80", mean_run_usd=usd("0.02"))), (), NOW)
    assert plain(over[2]) == "~$0.00/min · ~$2.16 at the end if 58 left cost $0.02 each, above the cap"


def test_the_head_shows_it_while_the_group_goes_on_and_follows_its_runs() -> None:
    state = GroupState("fleet")
    runs = [scored(1, Verdict.CORRECT, cost="0.0300"), spending(1, "0.01", name="fleet-0002-a1")]
    state.load(snapshot(group(mean_run_usd=usd("0.02")), runs=runs))
    before = [plain(each) for each in state.head(100, NOW) if plain(each).startswith("pace")]
    assert len(before) == 1
    assert "/min over 3m" in before[0]
    state.fold(changed("AgentRun", "fleet-0002-a1", 101, of="fleet", costUSD="0.09"))
    assert [plain(each) for each in state.head(100, NOW) if plain(each).startswith("pace")] != before
    state.fold(changed("AgentGroup", "fleet", 102, phase="Stalled"))
    assert not [each for each in state.head(100, NOW) if plain(each).startswith("pace")]
