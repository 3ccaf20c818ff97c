"""The footer: the keys that work here, made from the list of actions, as many as the width holds."""

from nodus_tui.view_state.cells import Line, Span, Tone, line, line_width
from nodus_tui.view_state.key_actions import View, actions_of, shown_key

_ALWAYS = ("help", "quit")


def key_line(view: View, width: int) -> Line:
    """`Enter open  / filter  …  ? help  q quit`; help and quit always have their place."""
    actions = [action for action in actions_of(view) if action.footer]
    shown = {action.id: line(Span(shown_key(action.keys[0]), Tone.KEY), Span(f" {action.word}  ", Tone.MUTED)) for action in actions}
    room = width - 1 - sum(line_width(shown[always]) for always in _ALWAYS if always in shown)
    kept: list[str] = []
    for action in actions:
        if action.id in _ALWAYS:
            continue
        needed = line_width(shown[action.id])
        if needed > room:
            break
        room -= needed
        kept.append(action.id)
    spans: list[Span] = [Span(" ")]
    for action_id in (*kept, *(always for always in _ALWAYS if always in shown)):
        spans.extend(shown[action_id])
    return tuple(spans)
