"""What of the harness's output goes into a job's log: all but what reads like a failure or a score and is neither. Pure."""

_NO_FAILURE = b"fatal: not a git repository (or any of the parent directories): .git"
"""What git answers when the harness asks it which commit the work folder is at."""
_TABLE = b"|"


class Sieve:
    """Takes output in pieces. `tables`: whether the harness's tables of scores stand in it."""

    def __init__(self, *, tables: bool) -> None:
        self._tables = tables
        self._held = b""
        """The beginning of a line of which it is not known yet."""
        self._within = False
        """Whether the beginning of the present line was passed on."""

    def passed(self, data: bytes) -> bytes:
        """What is to be passed on now."""
        *whole, last = (self._held + data).split(b"\n")
        self._held = b""
        out = []
        for line in whole:
            if self._within or not self._unwanted(line):
                out.append(line + b"\n")
            self._within = False
        if self._within or (last and not self._may_be_unwanted(last)):
            out.append(last)
            self._within = True
        else:
            self._held = last
        return b"".join(out)

    def rest(self) -> bytes:
        """What was held back when the output ended within a line."""
        held, self._held = self._held, b""
        return b"" if self._unwanted(held) else held

    def _unwanted(self, line: bytes) -> bool:
        return line.rstrip() == _NO_FAILURE or (not self._tables and line.startswith(_TABLE))

    def _may_be_unwanted(self, start: bytes) -> bool:
        return _NO_FAILURE.startswith(start) or self._unwanted(start)
