"""What was asked of the backend and is not answered yet, because something must come to its end first. Pure."""

from nodus_tui.view_state.cells import Line, Span, Tone, line


class Asked:
    """Sentences about what is waited for, the oldest first, each until its answer is there."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        self._unsent: dict[str, int] = {}

    def begin(self, key: str, words: str, *, unsent: int = 0) -> None:
        """Something is asked, or has come further: `words` say what, and what it waits for; `unsent` of it the backend does not know of."""
        self._waiting[key] = words
        self._unsent[key] = unsent

    def end(self, key: str) -> None:
        """It is answered."""
        self._waiting.pop(key, None)
        self._unsent.pop(key, None)

    @property
    def unsent(self) -> int:
        """How many actions nobody would do if the console ended now."""
        return sum(self._unsent.values())

    def words(self, *, short: bool = False) -> Line:
        """The oldest in words and how many there are beside it, or only how many; nothing where nothing is waited for."""
        if not self._waiting:
            return ()
        if short:
            return line(Span(f"… {len(self._waiting)} asked", Tone.MARK))
        first, *others = self._waiting.values()
        return line(Span(f"… {first}" + (f" (and {len(others)} more)" if others else ""), Tone.MARK))
