"""Which columns each table shows: what was chosen in the console, else what the configuration says. It knows no screen and no column."""

from pydantic import JsonValue

from nodus_tui.console_memory import ConsoleMemory
from nodus_tui.contract.console_configuration import ConsoleSettings

_REMEMBERED = "columns"


class TableMemory:
    """The chosen columns by the name of their view. A choice holds until the configuration says another thing of that view."""

    def __init__(self, settings: ConsoleSettings, memory: ConsoleMemory) -> None:
        self._settings = settings
        self._memory = memory

    def columns(self, view: str) -> tuple[str, ...]:
        """The keys of a view's columns in their order; none where nobody chose any."""
        configured = self._settings.columns.get(view, ())
        kept = self._facts().get(view)
        if isinstance(kept, dict) and kept.get("configured") == list(configured):
            chosen = kept.get("chosen")
            if isinstance(chosen, list):
                return tuple(key for key in chosen if isinstance(key, str))
        return configured

    def keep(self, view: str, keys: tuple[str, ...]) -> str:
        """Show these from now on; gives why that lasts only until the end, empty where it lasts."""
        configured = self._settings.columns.get(view, ())
        return self._memory.keep(_REMEMBERED, {**self._facts(), view: {"chosen": list(keys), "configured": list(configured)}})

    def _facts(self) -> dict[str, JsonValue]:
        kept = self._memory.get(_REMEMBERED)
        return dict(kept) if isinstance(kept, dict) else {}
