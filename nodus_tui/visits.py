"""When a person last looked at which workspace, so that the console can say what ended meanwhile. It knows the memory and no screen."""

from datetime import UTC, datetime

from nodus_tui.console_memory import ConsoleMemory

_FACT = "visits"
_MOST = 50
"""Workspaces that are remembered."""


class Visits:
    """The ends of earlier visits, by workspace."""

    def __init__(self, memory: ConsoleMemory) -> None:
        self._memory = memory

    def last(self, workspace: str) -> datetime | None:
        """When the last visit ended; None for the first one, and where what was kept is no time."""
        kept = self._memory.get(_FACT)
        text = kept.get(workspace) if isinstance(kept, dict) else None
        try:
            at = datetime.fromisoformat(text) if isinstance(text, str) else None
        except ValueError:
            return None
        return at if at is not None and at.tzinfo is not None else None

    def end(self, workspace: str, now: datetime) -> None:
        """This visit ends now. Where that cannot be kept, the next one is told less; nobody needs to hear of it."""
        kept = self._memory.get(_FACT)
        others = [(name, at) for name, at in kept.items() if name != workspace] if isinstance(kept, dict) else []
        self._memory.keep(_FACT, dict([*others[-(_MOST - 1) :], (workspace, now.astimezone(UTC).isoformat())]))
