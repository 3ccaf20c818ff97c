"""Memory is looked through in quiet moments, and not again before something is new."""

import gc

import pytest

from nodus_tui.tidying import QUIET_SECONDS, Tidying


@pytest.fixture
def tidying():
    made = Tidying()
    yield made
    made.end()


def test_all_is_looked_through_when_no_key_came_for_a_while(tidying: Tidying) -> None:
    tidying.look(100.0, last_key=100.0 - QUIET_SECONDS / 2)
    assert tidying.times == 0
    tidying.look(101.0, last_key=99.5)
    assert tidying.times == 1
    assert gc.get_freeze_count() > 0


def test_not_again_where_nothing_is_new(tidying: Tidying) -> None:
    tidying.look(100.0, last_key=0.0)
    tidying.look(10_000.0, last_key=0.0)
    assert tidying.times == 1
    for _ in range(5):
        gc.collect(0)
    tidying.look(10_000.0, last_key=0.0)
    assert tidying.times == 2


def test_what_is_set_aside_is_as_all_else_in_the_end(tidying: Tidying) -> None:
    tidying.look(100.0, last_key=0.0)
    tidying.end()
    assert gc.get_freeze_count() == 0
