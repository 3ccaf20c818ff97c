"""The keys by which tables and texts move: they have names like actions, so that a person can choose others. Pure."""

from collections.abc import Mapping
from itertools import zip_longest

from msgspec import Struct

from nodus_tui.view_state.key_names import shown_key
from nodus_tui.view_state.views import Trait, View, views_with

_TEXTS = (View.RUN, View.JOB, View.SANDBOX, View.ESTIMATE)
"""Views with a text that scrolls."""

_GRIDS = (View.SWEEP, View.RESULTS, View.COMPARISON)
"""Views with cells beside each other."""


class Move(Struct, frozen=True):
    """One way to move. `id` is stable: a user's own key map names it."""

    id: str
    keys: tuple[str, ...]
    help: str
    views: tuple[View, ...] = tuple(View)


MOVES: tuple[Move, ...] = (
    Move("up", ("up", "k"), "Move to the row before, or scroll up by a line."),
    Move("down", ("down", "j"), "Move to the next row, or scroll down by a line."),
    Move("left", ("left",), "Move to the cell at the left.", _GRIDS),
    Move("right", ("right",), "Move to the cell at the right.", _GRIDS),
    Move("page_up", ("pageup",), "Move up by a page."),
    Move("page_down", ("pagedown",), "Move down by a page."),
    Move("first", ("home", "g"), "Go to the first row, or the beginning of a text."),
    Move("last", ("end", "G"), "Go to the last row, or the end of a text."),
    Move("page_on", ("space",), "Scroll a text on by a page.", _TEXTS),
)

MOVE_BY_ID = {move.id: move for move in MOVES}

_PAIRS = (
    (("up", "down"), "Move by a row, or scroll by a line."),
    (("page_up", "page_down"), "Move by a page."),
    (("first", "last"), "Go to the first or the last."),
)
_MOUSE_IN_ROWS = (
    "A click selects, a double click opens, the wheel scrolls. A click on a key that is shown presses it, one on a column's title sorts by "
    "it. Text that you mark is copied with the key that copies a row."
)
_MOUSE_IN_TEXT = "The wheel scrolls. A click on a key that is shown presses it. Text that you mark is copied with the key that copies."
_WRITING = (
    ("↑ ↓ ← →", "Move the cursor; with Shift, select."),
    ("PgUp PgDn", "Move by a page."),
    ("Home End", "Go to the beginning or the end of the line."),
    ("ctrl+Home", "Go to the beginning of the text."),
    ("ctrl+End", "Go to the end of the text."),
    ("ctrl+z ctrl+y", "Undo what was typed; do it again."),
    ("mouse", "A click puts the cursor there, the wheel scrolls. A click on a key that is shown presses it."),
)
"""Where text is written: letters are letters there, and the widget's own keys move."""


def move_keys(move: str) -> str:
    """The keys of a way to move as a binding lists them."""
    return ",".join(MOVE_BY_ID[move].keys)


def moving(chosen: Mapping[str, tuple[str, ...]], view: View | None = None) -> tuple[tuple[str, str], ...]:
    """Keys and what they do, for help and docs: `↑ ↓ or k j`, a line for each pair; those of one view, or what most have."""
    if view is View.SPEC:
        return _WRITING
    rows: list[tuple[str, str]] = []
    for pair, what in _PAIRS:
        each = (chosen.get(move, MOVE_BY_ID[move].keys) for move in pair)
        shown = (" ".join(shown_key(key) for key in both if key) for both in zip_longest(*each, fillvalue=""))
        rows.append((" or ".join(shown) or "no key", what))
    return (*rows, ("mouse", _MOUSE_IN_ROWS if view is None or view in views_with(Trait.ROWS) else _MOUSE_IN_TEXT))
