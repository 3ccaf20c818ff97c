"""The results of a group as the view has them: by task and repetition, kept true by events, the same figures as `results`."""

from console_records import NOW, changed, created, run, snapshot
from result_records import cases, group_of, results_of

from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.statistics.coverage import why_unscored
from nodus_tui.view_state.campaigns import CampaignsState
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.filtering import parse_filter
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.result_cases import case_lines, rate_of
from nodus_tui.view_state.results import ResultsState

TASKS = ("CIC", "III", "CVF", "UPR")


def loaded(tasks: tuple[str, ...] = TASKS, **status: object) -> tuple[GroupState, ResultsState]:
    """The state of a group's results, and that of the group."""
    made, runs = group_of("fleet", tasks, **status), cases("fleet", tasks)
    campaigns, group = CampaignsState(), GroupState("fleet")
    campaigns.load(snapshot(made))
    state = ResultsState(group, campaigns.rows)
    group.load(snapshot(made, runs=runs))
    state.reload()
    return group, state


def tell(group: GroupState, state: ResultsState, event: Event) -> bool:
    """As the feed does it: the group first."""
    group.fold(event)
    return state.fold(event)


def cell(state: ResultsState, task: str, key: str) -> str:
    column = next(each for each in state.rows.columns if each.key == key)
    return plain(column.cell(state.rows.item(task), NOW)).strip()


def head(state: ResultsState, **more: bool) -> str:
    return "\n".join(plain(each) for each in state.head(NOW, **more))


def test_every_answer_is_a_glyph_and_a_letter_by_task_and_repetition() -> None:
    _, state = loaded()
    assert [cell(state, f"sum-{task:03d}", "answers") for task in range(4)] == ["✓C ✗I ✓C", "✗I ✗I ✗I", "✓C ?V !F", "–U ○P ►R"]
    assert cell(state, "sum-000", "rate") == "67% [21–94] 3/3"
    assert cell(state, "sum-002", "rate") == "50.0% ±40.5 2/3"
    assert cell(state, "sum-003", "rate") == "– 0/3"
    assert (cell(state, "sum-000", "cost"), cell(state, "sum-000", "each"), cell(state, "sum-001", "each")) == ("$0.064", "$0.032", "–")


def test_what_broke_outside_the_model_says_so_whether_or_not_the_grader_has_a_word_for_it() -> None:
    group, state = loaded()
    why = {"phase": "Failed", "verdict": None, "reason": "InfrastructureFailure"}
    assert tell(group, state, changed("AgentRun", "fleet-c012", 101, of="fleet", **why))
    assert cell(state, "sum-003", "answers") == "–U ○P !F"


def test_a_task_that_is_answered_once_has_its_verdict_in_words() -> None:
    _, state = loaded(("C", "I", "F", "P"))
    assert [cell(state, f"sum-{task:03d}", "verdict") for task in range(4)] == ["✓ Correct", "✗ Incorrect", "! Infra fail", "○ Pending"]
    assert {column.key for column in state.rows.columns}.isdisjoint({"answers", "rate", "each"})


def test_the_figures_are_those_that_results_gives() -> None:
    _, state = loaded()
    told, tally = results_of(group_of("fleet", TASKS), cases("fleet", TASKS)), state.tally()
    summary = tally.summary
    assert (summary.pass_rate, summary.standard_error, summary.ci95) == (told.pass_rate, told.standard_error, told.ci95)
    assert (summary.scored, summary.total, summary.mean_reward) == (told.coverage.scored, told.coverage.total, told.mean_reward)
    assert tally.missing == why_unscored((case.state, case.reason) for case in told.results)
    assert tally.correct == sum(case.verdict == "Correct" for case in told.results)


def test_the_head_tells_the_rate_with_its_error_what_is_missing_and_what_it_cost() -> None:
    shown = head(loaded()[1])
    assert "37.5% [3.1, 91.7] (SE 22.2), 8/12 scored · mean reward 0.375" in shown
    assert "3.1% to 91.7% (WilsonEffectiveN; SE ClusterRobustCR1)" in shown
    assert "4 (25.0–58.3% with them): 1 InfrastructureFailure · 1 EvaluationTimeout · 1 WaitingForSlot · 1 Running" in shown
    assert "$1.00 of $6.00 on models · $0.13 a scored case, $0.33 a correct one" in shown
    assert shown.splitlines()[0].startswith("simulated · ended")
    assert "simulated" not in head(loaded()[1], low=True)


def test_before_its_runs_are_known_the_group_is_told_of() -> None:
    made, campaigns = group_of("fleet", TASKS), CampaignsState()
    campaigns.load(snapshot(made))
    state = ResultsState(GroupState("fleet"), campaigns.rows)
    assert not state.loaded
    assert state.repetitions == 3
    assert "reading the runs" in head(state)


def test_an_event_changes_its_own_row_and_the_figures() -> None:
    group, state = loaded()
    assert tell(group, state, changed("AgentRun", "fleet-c012", 101, of="fleet", phase="Succeeded", verdict="Correct", reward=1.0))
    assert cell(state, "sum-003", "answers") == "–U ○P ✓C"
    assert state.tally().summary.scored == 9
    assert not tell(group, state, changed("AgentRun", "other-c012", 102, of="other", phase="Succeeded"))
    assert state.fold(changed("AgentGroup", "fleet", 103))


def test_another_attempt_takes_the_place_of_the_one_before_also_when_it_is_told_of_first() -> None:
    group, state = loaded()
    again = run(9, of="fleet", name="fleet-c009-2", repetition=3, task="sum-002", attempt=2, predecessor="fleet-c009")
    assert tell(group, state, created(again, 101))
    assert tell(group, state, changed("AgentRun", "fleet-c009", 102, of="fleet", current=False))
    assert cell(state, "sum-002", "answers") == "✓C ?V ○P"
    assert [each.name for each in state.rows.item("sum-002").runs] == ["fleet-c007", "fleet-c008", "fleet-c009-2"]
    assert state.rows.total == 4


def test_runs_that_are_deleted_take_their_task_along() -> None:
    group, state = loaded()
    for place in (10, 11, 12):
        event = Event(cursor=100 + place, at=NOW, change="Deleted", kind="AgentRun", name=f"fleet-c{place:03d}", group="fleet")
        assert tell(group, state, event)
    assert state.rows.find("sum-003") is None
    assert state.tally().summary.scored == 8


def test_a_task_stays_where_some_answer_passes_the_filter() -> None:
    _, state = loaded()

    def kept(text: str) -> list[str]:
        state.filter(parse_filter(text, state.rows.fields))
        return [state.rows.key_at(place) for place in range(len(state.rows))]

    assert kept("verdict:incorrect") == ["sum-000", "sum-001"]
    assert kept("!verdict:correct") == ["sum-000", "sum-001", "sum-002", "sum-003"]
    assert kept("state:cancelled") == ["sum-003"]
    assert kept("sum-002") == ["sum-002"]
    assert kept("rate<50%") == ["sum-001"]


def test_the_filter_and_the_order_last_when_the_number_of_repetitions_comes_to_be_known() -> None:
    group = GroupState("fleet")
    state = ResultsState(group, CampaignsState().rows)
    state.filter(parse_filter("sum-001"))
    group.load(snapshot(group_of("fleet", TASKS), runs=cases("fleet", TASKS)))
    state.reload()
    assert [state.rows.key_at(place) for place in range(len(state.rows))] == ["sum-001"]
    assert cell(state, "sum-001", "answers") == "✗I ✗I ✗I"


def test_the_chosen_answer_stands_between_brackets_and_is_told_in_words() -> None:
    _, state = loaded()
    state.select("sum-002", 1)
    assert cell(state, "sum-002", "answers") == "✓C[?V]!F"
    lines = [plain(each) for each in case_lines(state.rows.item("sum-002"), NOW, ())]
    assert lines[0].startswith("repetition 2 of 3")
    assert "?V Invalid · reward 0 · $0.021/$0.06 · fleet-c008" in lines[0]
    state.select("sum-003", 0)
    assert cell(state, "sum-002", "answers") == "✓C ?V !F"
    assert plain(case_lines(state.rows.item("sum-003"), NOW, ())[1]).startswith("evaluation timeout · the evaluation's 30m are over")


def test_where_many_answers_do_not_fit_they_are_counted() -> None:
    _, state = loaded(("CCCCCCIIIV" * 2, "C" * 20))
    column = next(each for each in state.rows.columns if each.key == "answers")
    assert plain(column.fitted(state.rows.item("sum-000"), NOW, 25)).strip() == "12✓C 6✗I 2?V"
    assert plain(column.fitted(state.rows.item("sum-000"), NOW, 61)).count("✓C") == 12


def test_the_rate_of_one_answer_has_no_error_to_tell() -> None:
    _, state = loaded(("CP", "II"))
    rate = rate_of(state.rows.item("sum-000"))
    assert (rate.pass_rate, rate.standard_error, rate.coverage.scored) == (1.0, None, 1)


def test_a_group_whose_caller_grades_has_answers_and_no_rate() -> None:
    made = group_of("fleet", ("P", "P"), phase=GroupPhase.RUNNING)
    spec = made.spec.model_copy(update={"evaluation": None, "inputs": ()})
    campaigns, group = CampaignsState(), GroupState("fleet")
    campaigns.load(snapshot(made.model_copy(update={"spec": spec})))
    group.load(snapshot(made.model_copy(update={"spec": spec}), runs=cases("fleet", ("P", "P"))))
    state = ResultsState(group, campaigns.rows)
    assert "answered; the caller grades" in head(state)
