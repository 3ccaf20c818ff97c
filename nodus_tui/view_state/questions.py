"""Which answers are taken where one thing is asked for several times at once: a slow one never takes the place of a newer one. Pure."""


class Questions:
    """Of one thing. Each question has a number; what happens while one is open has to be kept for its answer, which may be older."""

    def __init__(self) -> None:
        self._asked = 0
        self._taken = 0
        self._open: set[int] = set()

    @property
    def open(self) -> bool:
        """Whether an answer is waited for."""
        return bool(self._open)

    def ask(self) -> int:
        """One more; gives its number."""
        self._asked += 1
        self._open.add(self._asked)
        return self._asked

    def answered(self, number: int) -> bool:
        """Its answer is there; says whether it is to be taken: not where one that was asked for later is there already."""
        self.ended(number)
        if number < self._taken:
            return False
        self._taken = number
        return True

    def ended(self, number: int) -> None:
        """No answer is waited for any more."""
        self._open.discard(number)
