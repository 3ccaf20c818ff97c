"""One action on many: whom it fits, what it comes to in numbers, and how it went."""

from box_records import box
from console_records import NOW, every_kind_of_run, group, run
from job_records import job

from nodus_tui.contract.phases import GroupPhase
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.many import (
    Plan,
    Refusal,
    counted,
    kill_boxes,
    kill_groups,
    kill_jobs,
    kill_runs,
    outcome_words,
    retry_groups,
    retry_jobs,
    retry_runs,
)


def words(plan: Plan) -> str:
    return "\n".join((plan.question.title, *map(plain, plan.question.lines)))


def test_killing_runs_says_what_is_spent_in_flight_and_freed_and_who_is_left_as_it_is() -> None:
    plan = kill_runs(every_kind_of_run())
    said = words(plan)
    assert plan.question.title == "Kill 7 runs?"
    assert plan.question.typed == ""
    assert "$0.092 is spent" in said
    assert "1 call in flight: charged at worst case, $0.031 together." in said
    assert "$0.14 that is set aside for 3 runs is freed" in said
    assert "5 of the 12 picked are left as they are: ended already." in said


def test_more_than_a_handful_needs_the_number_typed() -> None:
    assert kill_runs([run(case) for case in range(9)]).question.typed == ""
    assert kill_runs([run(case) for case in range(10)]).question.typed == "10"


def test_retrying_takes_the_unscored_ones_only() -> None:
    plan = retry_runs(every_kind_of_run(), group())
    assert plan.names == ("fleet-0003-a1", "fleet-0010-a1")
    assert "2 cases ended unscored and will run again; all together up to $0.12. $4.50 is left of the group's cap." in words(plan)
    assert "$0.026 was spent on what ended." in words(plan)


def test_killing_groups_tells_their_cases_and_needs_the_number_of_groups_where_those_are_many() -> None:
    plan = kill_groups([group("one"), group("two"), group("over", phase=GroupPhase.COMPLETED)])
    assert plan.question.typed == "2"
    assert "116 of 200 cases have not ended" in words(plan)
    assert "20 runs going" in words(plan)
    assert "1 of the 3 picked is left as it is" in words(plan)


def test_what_fits_nobody_names_nobody() -> None:
    plan = retry_groups([group("one")], [0])
    assert plan.names == ()
    assert words(plan).endswith("1 of the 1 picked is left as it is: no case of it ended unscored.")
    assert retry_groups([group("one"), group("two")], [2, 3]).names == ("one", "two")


def test_jobs_and_sandboxes() -> None:
    assert "2 jobs" in kill_jobs([job("one"), job("two")], NOW).question.title
    assert retry_jobs([job("one")], NOW).names == ()
    assert kill_boxes([box("one"), box("two")], NOW).question.title == "Kill 2 sandboxes?"


def test_refusals_of_one_kind_are_told_once_with_their_number() -> None:
    assert outcome_words("killed", 3, 3, [], "run") == "killed 3 of 3 runs"
    refusals = [Refusal(name, f"{name} has ended (Succeeded)") for name in ("r-1", "r-2")] + [Refusal("r-3", "no run r-3")]
    assert outcome_words("killed", 9, 12, refusals, "run") == "killed 9 of 12 runs; not done: 2 × has ended (Succeeded); 1 × no run"
    many = [Refusal(str(place), reason) for place, reason in enumerate(("one way", "two ways", "three ways", "four ways", "five ways"))]
    assert outcome_words("killed", 0, 5, many, "run").endswith("; 2 for other reasons")
    assert counted(1, "sandbox") == "1 sandbox"
    assert counted(2, "sandbox") == "2 sandboxes"
