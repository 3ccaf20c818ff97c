"""The crumbs of a view in the width that there is: a long name is cut in its middle, and never what stands behind it. Pure."""

from collections.abc import Sequence

from nodus_tui.text import cut_middle, safe_text, width_of

_BEFORE = width_of(" nodus")
_BETWEEN = width_of(" › ")
_LEAST = 9
"""Cells that a crumb keeps at least: less would say nothing."""


def fitting_crumbs(crumbs: Sequence[str], width: int) -> tuple[str, ...]:
    """Safe crumbs that fit into a line of `width` cells behind the program's name, the longest cut first, as far as that says something."""
    shown = [safe_text(crumb) for crumb in crumbs]
    room = width - _BEFORE - _BETWEEN * len(shown)
    while (over := sum(map(width_of, shown)) - room) > 0:
        longest = max(range(len(shown)), key=lambda place: width_of(shown[place]))
        kept = max(_LEAST, width_of(shown[longest]) - over)
        if kept >= width_of(shown[longest]):
            break
        shown[longest] = cut_middle(shown[longest], kept)
    return tuple(shown)
