"""A line to type in. It knows Textual's Input, not what is asked for."""

from itertools import accumulate

from rich.text import Text
from textual.binding import NoBinding
from textual.events import Key, Paste
from textual.widgets import Input

from nodus_tui.text import char_for_char, width_of

MOST_CHARACTERS = 4096
"""No path, name or condition is longer."""


class TextEntry(Input):
    """An Input that does every key in the order in which they came.

    Textual's own puts characters in at once and its editing keys (Backspace, Enter, arrows) one round later, after they have gone up to
    the app. Keys that come in one piece, as they do over a slow link, would be done in another order: a cap could be another amount than
    the one that was typed.

    What is pasted, and the name of a file that is put in, may hold anything: it stays as it is, and nothing that a terminal obeys is drawn.
    """

    def choose(self, text: str) -> None:
        """Have another text, all of it selected: whoever types next replaces it, as where the field was just entered."""
        self.value = text
        self.action_select_all()

    @property
    def _value(self) -> Text:
        """As it is drawn."""
        return Text(char_for_char(self.value), no_wrap=True, overflow="ignore", end="")

    def _position_to_cell(self, position: int) -> int:
        """Where a character is drawn."""
        return width_of(char_for_char(self.value)[:position])

    def _cell_offset_to_index(self, offset: int) -> int:
        """The character that is drawn there; behind the last one, the end."""
        ends = accumulate(map(width_of, char_for_char(self.value)))
        return next((index for index, end in enumerate(ends) if end > offset + self.scroll_offset.x), len(self.value))

    def _on_paste(self, event: Paste) -> None:
        """Its first line that is not empty; one that is too long for anything that is asked for is not taken, and the terminal calls."""
        first = next((line for line in event.text.splitlines() if line.strip()), "")
        if len(first) > MOST_CHARACTERS:
            self.app.bell()
            event.stop()
            event.prevent_default()
            return
        super()._on_paste(Paste(first))
        event.stop()
        event.prevent_default()

    async def _on_key(self, event: Key) -> None:
        try:
            bindings = self._bindings.get_bindings_for_key(event.key)
        except NoBinding:
            return
        event.stop()
        event.prevent_default()
        for binding in bindings:
            await self.run_action(binding.action)
