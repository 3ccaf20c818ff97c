"""One new cap for many: what it comes to, by their own needs and by what is above them."""

from decimal import Decimal

from console_records import group, run, usd

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.view_state.cap_raise import Capped, CapRaise, runs_cap
from nodus_tui.view_state.cells import plain


def waiting(case: int, cap: str = "0.06", needed: str = "0.0823", **more):
    return run(
        case, cap=cap, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED, cost_usd=usd("0.05"), needed_cap_usd=usd(needed), **more
    )


def words(raised: CapRaise) -> str:
    return "\n".join((raised.title, *map(plain, raised.lines())))


def test_extending_runs_proposes_what_suffices_for_each_and_counts_what_it_takes_of_the_group() -> None:
    raised = runs_cap((waiting(1), waiting(2, needed="0.3101"), waiting(3, cap="0.12")), group(spent="5.50", reserved="0.30"))
    assert raised.proposal == Decimal("0.32")
    assert raised.least_cap == Decimal("0.06")
    said = words(raised)
    assert "New cap of 3 runs of fleet, in US dollars" in said
    assert "3 runs of fleet with caps of $0.06 to $0.12, $0.15 spent together." in said
    assert "The group's cap of $6.00 leaves $0.20." in said
    assert "For all of them to go on: a cap of $0.3101, and $0.78 of the group's." in said
    assert plain(raised.remark(Decimal("0.32"))) == (
        "Extends 3 runs; all at once they set aside $0.81. ! The group's cap leaves $0.20: some wait for it (E raises it)."
    )
    assert plain(raised.remark(Decimal("0.10"))) == (
        "Extends 2 runs; all at once they set aside $0.10. ! 1 of them would wait again: up to $0.3101 is needed."
    )
    assert [each.name for each in raised.below(Decimal("0.10"))] == ["fleet-0001-a1", "fleet-0002-a1"]
    assert raised.question(Decimal("0.32")).typed == ""
    assert raised.question(Decimal("0.32")).title == "Extend 3 runs of fleet?"


def test_what_a_going_run_holds_is_not_set_aside_twice_and_who_has_ended_is_left_out() -> None:
    going = run(4, cap="0.06", phase=RunPhase.RUNNING, cost_usd=usd("0.02"))
    raised = runs_cap((going, run(5, phase=RunPhase.CANCELLED)), group())
    assert plain(raised.remark(Decimal("0.10"))) == "Extends 1 run; it sets aside $0.04."
    assert "1 of the 2 picked can have no higher cap" in words(raised)


def test_an_interrupted_group_is_said_to_wait() -> None:
    assert "nothing of it goes on until u resumes it" in words(runs_cap((waiting(1),), group(phase=GroupPhase.INTERRUPTED)))
    assert "nothing of it goes on" not in words(runs_cap((waiting(1),), group()))


def test_extending_ten_at_once_needs_their_number_typed() -> None:
    assert runs_cap([waiting(case) for case in range(10)], group()).question(Decimal("0.12")).typed == "10"


def test_what_has_nothing_above_it_says_by_how_much_it_is_raised() -> None:
    fit = (
        Capped("a", "Job", Decimal("0.06"), Decimal("0.05"), Decimal("0.09")),
        Capped("b", "Job", Decimal("0.2"), Decimal("0.1")),
    )
    raised = CapRaise("job", fit, 3, "Each goes on.")
    assert raised.least_cap == Decimal("0.06")
    assert raised.proposal == Decimal("0.40")
    said = words(raised)
    assert "2 jobs with caps of $0.06 to $0.20, $0.15 spent together." in said
    assert "1 of the 3 picked" in said
    assert [each.name for each in raised.below(Decimal("0.08"))] == ["a"]
    assert plain(raised.remark(Decimal("0.08"))) == "Raises 1 job, by $0.02. ! It would wait again: up to $0.09 is needed."
    assert raised.question(Decimal("0.3")).title == "Extend 2 jobs?"
    assert "Each gets a cap of $0.0932." in [plain(each) for each in raised.question(Decimal("0.0932")).lines]
