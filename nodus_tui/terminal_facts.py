"""What the terminal can show, as its environment says: colours, and more characters than ASCII. Nothing is asked of the terminal itself."""

import sys
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct
from rich.console import Console

Colours = Literal["many", "sixteen", "none"]

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python sets LC_CTYPE to by itself where the locale is C."""


class TerminalFacts(Struct, frozen=True):
    """What can be drawn."""

    colours: Colours = "many"
    why: str = ""
    """Why there are no more colours, in words."""
    utf8: bool = True


ANY_TERMINAL = TerminalFacts()
"""One that can show everything."""


def terminfo_colours(term: str) -> int | None:
    """How many colours the system's descriptions of terminals tell of one; None where they do not know it. It looks once a process."""
    try:
        # Not every Python is built with it.
        import curses  # noqa: PLC0415
    except ImportError:
        return None
    try:
        curses.setupterm(term, 1)
        return max(0, curses.tigetnum("colors"))
    except curses.error:
        return None


def terminal_facts(
    environment: Mapping[str, str], *, c_locale: bool, colours_of: Callable[[str], int | None] = terminfo_colours
) -> TerminalFacts:
    """The facts from an environment. `c_locale`: Python found the locale C when it started, and may have changed LC_CTYPE since."""
    utf8 = _draws_utf8(environment, c_locale=c_locale)
    term = environment.get("TERM", "")
    if environment.get("NO_COLOR"):
        return TerminalFacts("none", "NO_COLOR is set", utf8)
    known = colours_of(term)
    if known == 0 or (known is None and term.endswith(("-m", "-mono"))):
        return TerminalFacts("none", f"a terminal of the kind {term} has none", utf8)
    without = {name: value for name, value in environment.items() if name != "NO_COLOR"}
    system = Console(force_terminal=True, legacy_windows=False, _environ=without).color_system
    if system == "standard":
        return TerminalFacts("sixteen", f"a terminal of the kind {term} has sixteen, as far as is known", utf8)
    return TerminalFacts("many", "", utf8)


def this_terminal(environment: Mapping[str, str]) -> TerminalFacts:
    """The facts of the terminal that this process was started in."""
    return terminal_facts(environment, c_locale=bool(sys.flags.utf8_mode))


def _draws_utf8(environment: Mapping[str, str], *, c_locale: bool) -> bool:
    """Whether nothing says that the terminal takes other bytes than those of UTF-8. No locale at all says nothing."""
    ctype = environment.get("LC_CTYPE", "")
    if c_locale and ctype in _COERCED:
        ctype = ""
    named = environment.get("LC_ALL") or ctype or environment.get("LANG", "")
    charset = named.partition(".")[2].partition("@")[0] or named
    if charset.upper().replace("-", "") == "UTF8":
        return True
    if "." in named:
        return False
    return named not in {"C", "POSIX"} and not named.endswith("@euro")
