"""How the console looks: which theme, how many colours, which characters. It decides; it draws nothing, and knows no screen."""

from collections.abc import Mapping

from msgspec import Struct

from nodus_tui.console_memory import ConsoleMemory
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.wording import quoted
from nodus_tui.terminal_facts import TerminalFacts
from nodus_tui.theme_shelf import ThemeShelf
from nodus_tui.theming import DEFAULT_THEME, PLAIN_THEME, SIXTEEN_THEME, ThemeFile
from nodus_tui.wishes import NO_WISHES, Wishes

_REMEMBERED = "theme"
_INSTEAD = {"none": PLAIN_THEME, "sixteen": SIXTEEN_THEME}
"""What a terminal with fewer colours may get, by what it has."""


class ThemeChoice(Struct, frozen=True):
    """One theme to choose."""

    name: str
    about: str
    """For whom it is, in a few words."""
    own: bool = False
    """It did not come with the console."""


class Appearance(Struct):
    """The looks of one console."""

    shelf: ThemeShelf
    settings: ConsoleSettings
    terminal: TerminalFacts
    memory: ConsoleMemory
    wishes: Wishes = NO_WISHES

    @property
    def mouse(self) -> bool:
        """Whether clicks come to the console."""
        return self.settings.mouse and self.wishes.mouse

    @property
    def ascii(self) -> bool:
        """Whether nothing but ASCII is drawn."""
        wanted = self.settings.characters
        return self.wishes.ascii or wanted == "ascii" or (wanted == "auto" and not self.terminal.utf8)

    @property
    def colourless(self) -> bool:
        """Whether no colour is drawn, whatever a theme says. A theme that the command line names goes before NO_COLOR."""
        return self.terminal.colours == "none" and not self.wishes.theme

    def first(self) -> tuple[str, str]:
        """The theme to begin with, and a sentence where it is not the one that was wanted. Of the themes that come with the console only
        those are read that may be needed. Raises NodusError for a theme that the command line names and nobody has.
        """
        wanted = self._wanted()
        self.shelf.read_first({wanted, _INSTEAD.get(self.terminal.colours, wanted)})
        if wanted not in self.shelf.themes:
            self.shelf.read()
        themes = self.shelf.themes
        if self.wishes.theme:
            if wanted not in themes:
                raise NodusError(ErrorCode.CONFIGURATION, unknown_theme(wanted, themes))
            return wanted, ""
        if wanted not in themes:
            return self._fitting(DEFAULT_THEME, themes), unknown_theme(wanted, themes)
        fitting = self._fitting(wanted, themes)
        told = fitting != wanted != DEFAULT_THEME and not self.colourless
        return fitting, f"{fitting} is shown instead of {wanted}: {self.terminal.why}" if told else ""

    def _wanted(self) -> str:
        """What the command line names, else what was chosen in the console while the configuration said what it says now, else that."""
        kept = self.memory.get(_REMEMBERED)
        chosen = kept.get("chosen") if isinstance(kept, dict) and kept.get("configured") == self.settings.theme else None
        return self.wishes.theme or (chosen if isinstance(chosen, str) else "") or self.settings.theme

    def _fitting(self, wanted: str, themes: Mapping[str, ThemeFile]) -> str:
        """The theme, or the one for a terminal with fewer colours."""
        theme = themes[wanted]
        if self.terminal.colours == "none":
            return wanted if theme.colourless else PLAIN_THEME
        return SIXTEEN_THEME if self.terminal.colours == "sixteen" and not theme.ansi else wanted

    def choices(self) -> tuple[ThemeChoice, ...]:
        """All themes by name, each file read as it is now."""
        self.shelf.read()
        packaged = self.shelf.folders[0]
        files = {name: self.shelf.file_of(name) for name in self.shelf.themes}
        own = {name for name, file in files.items() if file is not None and file.parent != packaged}
        return tuple(ThemeChoice(name, theme.about, own=name in own) for name, theme in sorted(self.shelf.themes.items()))

    def remember(self, name: str) -> str:
        """Begin with this theme the next time; gives why not, where it cannot be remembered."""
        return self.memory.keep(_REMEMBERED, {"chosen": name, "configured": self.settings.theme})


def unknown_theme(name: str, themes: Mapping[str, ThemeFile]) -> str:
    """The sentence for a name that no theme has."""
    near = nearest(name, list(themes))
    hint = f" (did you mean {quoted(near)}?)" if near else ""
    return f"there is no theme {quoted(name)}{hint}; the themes are {', '.join(sorted(themes))}"
