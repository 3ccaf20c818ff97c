"""What every console does again, done once for all consoles of a test process.

Textual reads the styles anew for each app and theme; the packaged themes are read at each start; and memory is looked through in the first
quiet moment, which is a long look where all tests and what they need are loaded (test_tidying.py tests it).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
import textual.constants
import textual.css.stylesheet

from nodus_tui import app, theme_shelf
from nodus_tui.tidying import Tidying


class _LeavesAll(Tidying):
    """Memory is left to Python's own collector."""

    def begin(self) -> None: ...

    def look(self, now: float, last_key: float) -> None: ...

    def end(self) -> None: ...


@pytest.fixture(scope="session", autouse=True)
def consoles_share_their_work() -> Iterator[None]:
    """Styles, themes, and no look through memory."""
    read = textual.css.stylesheet.Stylesheet._parse_rules
    known: dict[tuple[object, ...], Any] = {}

    def read_once(sheet: textual.css.stylesheet.Stylesheet, css: str, **how: Any) -> Any:
        key = (css, *sorted(how.items()), frozenset(sheet._variables.items()))
        if key not in known:
            known[key] = read(sheet, css, **how)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textual.css.stylesheet.Stylesheet, "_parse_rules", read_once)
        patch.setattr(theme_shelf, "load_theme", lru_cache(theme_shelf.load_theme))
        patch.setattr(app, "Tidying", _LeavesAll)
        # A style is kept with what it was once sent as: all consoles of a process are on one kind of terminal.
        patch.setattr(textual.constants, "COLOR_SYSTEM", "truecolor")
        yield
