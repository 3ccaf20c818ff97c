"""What frees a stalled group, with the command to type."""

from decimal import Decimal

from cli_builders import group_status, run

from nodus_tui.cli.stalls import room_for_all, rounded_cap, stall_advice
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase

CAP = Reason.MAX_COST_REACHED
STALLED = group_status(phase=GroupPhase.STALLED, message="every unfinished case waits on a cap")


def test_cases_that_cannot_start_name_the_group_cap_that_gives_all_of_them_room() -> None:
    waiting = [run(number, RunPhase.PENDING, CAP, cap="0.30") for number in range(3)]
    # 0.50 is left, 0.90 is needed: 0.40 more than the cap of 1.00.
    assert room_for_all(STALLED, waiting) == Decimal("1.40")
    assert "`nodus-tui extend-cap group/hello 1.40`" in "\n".join(stall_advice("hello", STALLED, waiting))


def test_a_run_at_its_own_cap_is_named_with_twice_its_cap() -> None:
    advice = stall_advice("hello", STALLED, [run(7, RunPhase.WAITING, CAP, cap="0.0085")])
    assert "`nodus-tui extend-cap run/hello-007 0.017`" in advice[-1]
    assert "$0.0085" in advice[-1]
    needs_more = run(8, RunPhase.WAITING, CAP, cap="0.0004", needed_cap_usd=Decimal("0.001181"))
    assert "`nodus-tui extend-cap run/hello-008 0.0012`" in stall_advice("hello", STALLED, [needs_more])[-1]


def test_many_runs_at_their_caps_are_raised_together_to_what_the_dearest_needs() -> None:
    waiting = [run(number, RunPhase.WAITING, CAP, cap="0.01") for number in range(9)]
    dear = run(9, RunPhase.WAITING, CAP, cap="0.01", needed_cap_usd=Decimal("0.031"))
    advice = stall_advice("hello", STALLED, [*waiting, dear])
    assert advice[1:] == ["10 runs wait at their own caps; all of them go on with `nodus-tui extend-cap group/hello --waiting 0.031`"]


def test_the_backend_s_own_words_come_first() -> None:
    assert stall_advice("hello", STALLED, [])[0] == "hello is stalled: every unfinished case waits on a cap"


def test_a_proposed_cap_is_never_below_what_is_needed() -> None:
    assert rounded_cap(Decimal("1.0001")) == Decimal("1.01")
    assert rounded_cap(Decimal("0.0075")) == Decimal("0.0075")
