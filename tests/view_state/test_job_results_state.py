"""The results of a TrainingJob in the console: its scores with their errors, an Environment's verdicts, and a results.json that is odd."""

import pytest
from console_records import NOW
from job_records import kept, pass_rate, score, training_job

from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.filtering import parse_filter
from nodus_tui.view_state.job_results import JobResultsState


def looked(**status: object) -> JobResultsState:
    state = JobResultsState("smol")
    state.look(training_job("smol", phase="Succeeded", exit_code=0, **status))
    return state


def rows(state: JobResultsState) -> list[list[str]]:
    items = [state.rows.item(state.rows.key_at(place)) for place in range(len(state.rows))]
    return [[plain(column.cell(item, NOW)) for column in state.rows.columns] for item in items]


def head(state: JobResultsState) -> str:
    return "\n".join(plain(each) for each in state.head(NOW))


def test_each_metric_has_its_error_its_number_and_its_shots() -> None:
    state = looked(scores=(score(), score("sums", "exact_match", 0.25, None)))
    assert rows(state) == [
        ["arc_easy", "acc", "0.375", "±0.183", "–", "8", "its own"],
        ["sums", "exact_match", "0.25", "–", "–", "8", "its own"],
    ]
    state.take({"tasks": {"arc_easy": {"fewshot": 5}}})
    assert [each[-1] for each in rows(state)] == ["5", "its own"]


def test_the_head_says_what_was_asked_and_where_the_outputs_are() -> None:
    outputs = (kept("outputs/results.json"), kept("outputs/manifest.json"), kept("outputs/samples/arc.jsonl"))
    shown = head(looked(scores=(score(),), outputs=outputs))
    assert "scores arc_easy, sums on hf://somebody/smol@1a2b3c" in shown
    assert "few-shot as each task has it · whole tasks · seed 0 · $0.013 of $0.50" in shown
    assert "3 outputs, among them results.json, manifest.json: Enter opens the job, where f saves them" in shown


def test_an_environment_has_a_rate_and_the_verdict_on_each_task() -> None:
    state = looked(environment="nodus/arithmetic-v2@2.0.0", scores=pass_rate())
    assert "62.0% ± 9.5 (SE 4.9), 97/100 scored · mean reward 0.64" in head(state)
    results = [{"taskId": "sum-1", "verdict": "Correct", "reward": 1, "message": "right"}, {"taskId": "sum-2", "verdict": None}]
    state.take({"environment": {"ciMethod": "Normal", "standardErrorMethod": "Bernoulli", "results": results}})
    assert rows(state) == [["sum-1", "✓ Correct", "1", "right"], ["sum-2", "– Unscored", "–", ""]]
    assert "52.5% to 71.5% (Normal; SE Bernoulli) · 3 not scored" in head(state)
    state.filter(parse_filter("verdict:correct"))
    assert len(state.rows) == 1


def test_one_that_did_not_come_to_its_end_says_so() -> None:
    state = looked(scores=(score(),))
    state.take({"complete": False})
    assert "it did not come to its end" in head(state)


@pytest.mark.parametrize(
    "document", [{"environment": []}, {"environment": {"results": "none"}}, {"environment": {"results": [3]}}, {"tasks": {"arc_easy": 5}}]
)
def test_a_results_file_of_another_form_leaves_the_scores(document: dict[str, object]) -> None:
    state = looked(scores=(score(),))
    state.take(document)
    assert [each[0] for each in rows(state)] == ["arc_easy"]
