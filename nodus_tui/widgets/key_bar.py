"""The footer: the keys that work here, made from the list of actions, as many as the width holds."""

from collections.abc import Mapping

from msgspec import Struct, field

from nodus_tui.view_state.cells import Line, Span, hint, line_width, muted
from nodus_tui.view_state.key_actions import USUAL, KeyAction, Situation, View, actions_of, opened_view
from nodus_tui.view_state.key_names import shown_key

_ALWAYS = ("jump", "leave_spec", "spec_help", "help", "quit")
"""They have their place at any width, for they lead to all the others."""
_BACK = "back"
"""It has its place at any width as well, but stands where the list of actions has it."""


class Offer(Struct, frozen=True):
    """What a view offers at the moment."""

    now: frozenset[str] = frozenset()
    """Ids of actions that matter now: they are shown first."""
    without: frozenset[str] = frozenset()
    """Ids of actions that would do nothing now: they are not shown."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What an action does now, by its id, where the list of actions has another word."""


NOTHING_SPECIAL = Offer()


def _words(action: KeyAction, offer: Offer) -> Line:
    key = shown_key(action.keys[0]) if action.keys else f":{action.id}"
    return (*hint(key, f" {offer.words.get(action.id, action.word)}", f"do('{action.id}')"), muted("  "))


def key_line(view: View, width: int, offer: Offer = NOTHING_SPECIAL, situation: Situation = USUAL) -> Line:
    """`Enter open  / filter  …  ? help  q quit`; what leads on always has its place, what matters now comes first."""
    offered = [action for action in actions_of(view, situation) if action.keys or opened_view(action.id)]
    actions = [action for action in offered if (action.footer or action.id in offer.now) and action.id not in offer.without]
    # Who watches a recording came for that: its keys stand before those of the view.
    actions.sort(key=lambda action: (action.id not in offer.now, not action.playback))
    shown = {action.id: _words(action, offer) for action in actions}
    # The last one goes without the spaces behind it.
    room = width + 1 - sum(line_width(shown[always]) for always in (*_ALWAYS, _BACK) if always in shown)
    kept: list[str] = []
    for action in actions:
        if action.id in _ALWAYS:
            continue
        needed = line_width(shown[action.id]) if action.id != _BACK else 0
        if needed > room:
            continue
        room -= needed
        kept.append(action.id)
    spans: list[Span] = [Span(" ")]
    for action_id in (*kept, *(always for always in _ALWAYS if always in shown)):
        spans.extend(shown[action_id])
    return tuple(spans[:-1])
