"""A line to type in. It knows Textual's Input, not what is asked for."""

from textual.binding import NoBinding
from textual.events import Key
from textual.widgets import Input


class TextEntry(Input):
    """An Input that does every key in the order in which they came.

    Textual's own puts characters in at once and its editing keys (Backspace, Enter, arrows) one round later, after they have gone up to
    the app. Keys that come in one piece, as they do over a slow link, would be done in another order: a cap could be another amount than
    the one that was typed.
    """

    def choose(self, text: str) -> None:
        """Have another text, all of it selected: whoever types next replaces it, as where the field was just entered."""
        self.value = text
        self.action_select_all()

    async def _on_key(self, event: Key) -> None:
        try:
            bindings = self._bindings.get_bindings_for_key(event.key)
        except NoBinding:
            return
        event.stop()
        event.prevent_default()
        for binding in bindings:
            await self.run_action(binding.action)
