"""Pictures of the console as text that a person can review: what stands where, and how each piece looks.

Below the screen, each of its lines has its looks as runs: `12a 3b` is twelve cells that look as `a` does, then three as `b`; the legend
names the looks. A change of a colour, of a weight or of a mark is a change of the picture as a change of a word is.
"""

from itertools import groupby
from string import ascii_lowercase, ascii_uppercase

from console_driver import screen_text
from rich.style import Style

from nodus_tui.app import NodusApp

_LETTERS = ascii_lowercase + ascii_uppercase
_WEIGHTS = ("bold", "dim", "italic", "underline", "reverse", "strike")


def picture(app: NodusApp) -> str:
    """What stands on the screen now, all layers composed."""
    known: dict[str, str] = {}
    rows = []
    for strip in app.screen._compositor.render_strips():
        cells = [(_look(segment.style), segment.cell_length) for segment in strip]
        runs = [(look, sum(length for _, length in run)) for look, run in groupby(cells, key=lambda cell: cell[0])]
        rows.append(" ".join(f"{length}{_letter(known, look)}" for look, length in runs))
    legend = [f"{letter}: {look}" for look, letter in known.items()]
    return "\n".join([screen_text(app), "", *rows, "", *legend, ""])


def _letter(known: dict[str, str], look: str) -> str:
    if look not in known:
        place = len(known)
        known[look] = _LETTERS[place] if place < len(_LETTERS) else f"<{place}>"
    return known[look]


def _look(style: Style | None) -> str:
    if style is None:
        return "nothing"
    weights = [name for name in _WEIGHTS if getattr(style, name)]
    return " ".join([_colour(style, "color"), "on", _colour(style, "bgcolor"), *weights])


def _colour(style: Style, which: str) -> str:
    colour = getattr(style, which)
    if colour is None:
        return "default"
    return colour.triplet.hex if colour.triplet is not None else colour.name
