"""From scored cases to the summary that a backend publishes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.statistics.pass_rate import pass_rate_summary
from nodus_tui.statistics.results import ScoredCase, summarise

cases = st.lists(st.builds(ScoredCase, st.sampled_from("abcdefgh"), st.booleans(), st.floats(0, 1)), max_size=60)


@given(cases, st.integers(0, 40))
def test_cases_are_gathered_by_their_task(scored: list[ScoredCase], unscored: int) -> None:
    total = len(scored) + unscored
    answers = {task: [case.correct for case in scored if case.task_id == task] for task in "abcdefgh"}
    assert summarise(iter(scored), total) == pass_rate_summary(answers, total=total, rewards=[case.reward for case in scored])


def test_more_cases_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="2 answers are scored, but there are only 1 cases"):
        summarise([ScoredCase("a", correct=True, reward=1.0), ScoredCase("a", correct=True, reward=1.0)], 1)
