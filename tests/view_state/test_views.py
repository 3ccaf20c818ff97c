"""The registry of views: each once, found by its names, opened from everywhere by one letter or by `:`."""

from collections import Counter

import pytest

from nodus_tui.view_state.key_actions import actions_of, opened_view
from nodus_tui.view_state.views import VIEWS, Trait, View, destination, destinations, views_with


def test_every_view_is_registered_once() -> None:
    assert Counter(entry.view for entry in VIEWS) == Counter(View)


def test_names_and_letters_lead_to_one_view_each() -> None:
    names = Counter(name for entry in destinations() for name in (entry.view.value, *entry.also))
    letters = Counter(entry.key for entry in destinations() if entry.key)
    assert [*names.values(), *letters.values()] == [1] * (len(names) + len(letters))


@pytest.mark.parametrize("view", views_with(Trait.LIVE))
def test_from_every_live_view_every_other_can_be_gone_to(view: View) -> None:
    offered = {opened_view(action.id) for action in actions_of(view)} - {None}
    assert offered == {entry.view for entry in destinations()} - {view}


def test_a_view_is_found_by_its_other_names() -> None:
    found = destination("devices")
    assert found is not None
    assert found.view is View.GPUS
    assert destination("nothing of the kind") is None
    assert destination("group") is None, "a group is opened from the campaigns, not by the word"


def test_what_can_be_gone_to_says_what_it_shows() -> None:
    assert all(entry.help.endswith(".") for entry in destinations())
