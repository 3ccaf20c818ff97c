"""The themes of one console: chosen, shown, and read again when a file of the user's own changes."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime

from textual.app import App

from nodus_tui.appearance import Appearance
from nodus_tui.screens.base import ViewScreen
from nodus_tui.theming import ThemeFile
from nodus_tui.view_state.cells import Tone

LOOK_SECONDS = 1.0
"""How often the files of the user's own themes are looked at."""


class ThemeDesk:
    """Shows themes in an app; `watched` says that there are folders in which they may change."""

    def __init__(self, app: App[int], looks: Appearance, clock: Callable[[], datetime], *, watched: bool) -> None:
        self._app = app
        self._looks = looks
        self._clock = clock
        self._watched = watched

    def register(self, themes: Mapping[str, ThemeFile]) -> None:
        """Make themes known to the app."""
        for theme in themes.values():
            self._app.register_theme(theme.theme())

    def choose(self) -> None:
        """Ask which theme; each is shown as it is moved to, and the chosen one is remembered."""
        from nodus_tui.screens.theme_dialog import ThemeDialog  # noqa: PLC0415 - dialogs are loaded with the first

        def chosen(name: str | None) -> None:
            screen = self._app.screen
            if name is not None and isinstance(screen, ViewScreen):
                problem = self._looks.remember(name)
                told = f"Theme {name}, until the end only: {problem}." if problem else f"Theme {name}, from now on."
                screen.notice(told, Tone.WARN if problem else Tone.GOOD)

        self._read_all()
        remark = f"No colours are drawn: {self._looks.terminal.why}." if self._looks.colourless else ""
        choices = self._looks.choices()
        self._app.push_screen(ThemeDialog(choices, self._clock, current=self._app.theme, shown=self.show, remark=remark), chosen)

    def show(self, name: str) -> None:
        """Show a theme from now on."""
        if name not in self._app.available_themes:
            self._read_all()
        self._app.theme = name

    def _read_all(self) -> None:
        self._looks.shelf.read()
        self.register(self._looks.shelf.themes)

    async def watch(self) -> None:
        """Read the themes that the start could do without, then see when a file of the user's own changes."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()
            if not self._watched:
                return

    async def look(self) -> None:
        """Show what changed in the files of the themes; one that is broken stays as it was, and what is wrong with it is told."""
        shelf = self._looks.shelf
        # Not here: a folder on a network may not answer.
        marks = await asyncio.to_thread(shelf.marks)
        news = shelf.read(marks)
        themes = shelf.themes
        self.register({name: themes[name] for name in news.read if name in themes})
        if self._app.theme in news.read and self._app.theme in themes:
            # The name is the same, so nothing else would tell Textual that it looks otherwise.
            self._app.mutate_reactive(App.theme)
        if news.broken:
            self.tell_faults()
        elif news.mended and isinstance(self._app.screen, ViewScreen):
            self._app.screen.notice("The theme files are in order again.", Tone.GOOD)

    def tell_faults(self) -> None:
        """Everything that is wrong with any theme, in one message that stays until it is mended."""
        faults = self._looks.shelf.faults
        if faults and isinstance(self._app.screen, ViewScreen):
            from nodus_tui.screens.theme_dialog import fault_words  # noqa: PLC0415 - as above

            self._app.screen.tell(*fault_words(faults), lasting=True)
