"""The list of actions: keys that terminals leave alone, each once a view, and docs/keys.md made from it."""

from collections import Counter
from pathlib import Path

from nodus_tui.view_state.key_actions import KEY_ACTIONS, View, actions_of, keys_markdown

TAKEN = {"ctrl+a", "ctrl+b", "ctrl+q", "ctrl+s", "ctrl+z", "ctrl+m", "ctrl+i", "ctrl+h", "ctrl+j"}
MOVES = {"j", "k", "g", "G", "up", "down", "pageup", "pagedown", "home", "end"}


def test_docs_keys_is_not_stale() -> None:
    path = Path(__file__).parents[2] / "docs" / "keys.md"
    assert path.read_text(encoding="utf-8") == keys_markdown(), "run: python scripts/keys_doc.py"


def test_no_key_that_tmux_screen_or_flow_control_eats() -> None:
    assert not TAKEN & {key for action in KEY_ACTIONS for key in action.keys}


def test_each_key_means_one_thing_in_a_view() -> None:
    for view in View:
        keys = Counter(key for action in actions_of(view) for key in action.keys)
        assert not [key for key, count in keys.items() if count > 1], view
        assert not MOVES & set(keys), view


def test_ids_are_unique() -> None:
    ids = [action.id for action in KEY_ACTIONS]
    assert len(ids) == len(set(ids))
