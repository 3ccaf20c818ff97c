"""How the runner of an evaluation tells how far it is: through the file of its job that a scheduler looks at."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local_backend.jobs.telling import Told

_LEAST_STEP = 0.005
_LEAST_SECONDS = 0.5


class Teller:
    """Writes what is new; small steps of progress only every so often."""

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self.told = Told()
        self._written = (0.0, float("-inf"))
        """Progress and time of the last writing."""

    def tell(self, **said: Any) -> None:
        """Tell this, beside what was told before. A disk that does not take it is no reason to end."""
        before = self.told
        self.told = Told.model_validate({**dict(before), **said})
        if self.told != before:
            self._write()

    def progress(self, share: float, message: str) -> None:
        """How far it is, 0 to 1."""
        step, seconds = share - self._written[0], self._clock() - self._written[1]
        self.told = self.told.model_copy(update={"progress": share, "message": message})
        if step >= _LEAST_STEP and seconds >= _LEAST_SECONDS:
            self._write()

    def _write(self) -> None:
        self._written = (self.told.progress or 0.0, self._clock())
        if self._path is None:
            return
        try:
            self.told.write(self._path)
        except OSError:
            return
