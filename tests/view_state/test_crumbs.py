"""Crumbs in narrow places."""

import pytest

from nodus_tui.text import width_of
from nodus_tui.view_state.crumbs import fitting_crumbs

PATH = "/srv/projects/evaluations/of-the-night/parameters.yaml"


def test_crumbs_that_fit_stay_as_they_are() -> None:
    assert fitting_crumbs(("specs", "a.yaml", "estimate"), 80) == ("specs", "a.yaml", "estimate")


def test_the_longest_is_cut_in_its_middle_and_nothing_behind_it() -> None:
    before, path, behind = fitting_crumbs(("specs", PATH, "estimate"), 60)
    assert (before, behind) == ("specs", "estimate")
    assert path.startswith("/srv/")
    assert "…" in path
    assert path.endswith("parameters.yaml")


@pytest.mark.parametrize("width", [45, 60, 80])
def test_they_take_no_more_than_there_is(width: int) -> None:
    shown = fitting_crumbs(("campaigns", "a" * 63, "日" * 40), width)
    assert width_of(" nodus") + sum(width_of(f" › {each}") for each in shown) <= width


def test_where_there_is_no_room_at_all_something_is_left_of_each() -> None:
    assert all(fitting_crumbs(("specs", PATH, "estimate"), 5))


def test_what_a_terminal_obeys_is_not_in_them() -> None:
    assert "\x1b" not in fitting_crumbs(("a\x1b[2J",), 80)[0]
