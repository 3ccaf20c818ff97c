"""How many tasks of an environment have come, in words."""

import pytest

from nodus_tui.view_state.environment_tasks import EnvironmentTasks


@pytest.mark.parametrize(
    ("count", "total", "more", "words"),
    [
        (50, 500, True, "50 of 500 tasks of test"),
        (50, None, True, "the first 50 tasks of test; there are always more"),
        (1, None, False, "1 task of test"),
    ],
)
def test_it_is_said_how_many_there_are_where_they_have_a_number(count: int, total: int | None, more: bool, words: str) -> None:
    tasks = EnvironmentTasks("test")
    tasks.count, tasks.total, tasks.more = count, total, more
    assert tasks.words() == words
