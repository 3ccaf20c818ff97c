"""The detached scheduler's log: a file in the state folder, rotated by size, which takes whatever the process prints as well."""

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

_BYTES, _FILES = 4 * 1024 * 1024, 3


class _Log(RotatingFileHandler):
    def __init__(self, path: Path, *, takes_stderr: bool) -> None:
        self._takes_stderr = takes_stderr
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(path, maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8", errors="backslashreplace")
        self._take_stderr()

    def doRollover(self) -> None:  # noqa: N802 - the standard library's name
        """Begin a new file."""
        super().doRollover()
        self._take_stderr()

    def _take_stderr(self) -> None:
        if self._takes_stderr and self.stream is not None:
            os.dup2(self.stream.fileno(), 2)


def log_to(path: Path, *, takes_stderr: bool) -> None:
    """Send every library's records there; with `takes_stderr` also what is written to standard error, by whomever."""
    handler = _Log(path, takes_stderr=takes_stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for noisy in ("uvicorn.access", "uvicorn.error", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
