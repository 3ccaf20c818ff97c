"""Where details go that are not for a screen: one log file in the state folder, made when the first record comes."""

import logging
from pathlib import Path

from nodus_tui.connect import home_path


def log_path() -> Path:
    """The log file of the user's state folder. It may not exist."""
    return home_path() / "logs" / "errors.log"


class _LateFile(logging.FileHandler):
    """A log file whose folder is made with it."""

    def _open(self):  # type: ignore[no-untyped-def]  # the base's return type is private to its stub
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
        return super()._open()


def log_to_file() -> None:
    """Send warnings and errors of every library there, so that none of them writes a traceback on the user's screen."""
    handler = _LateFile(log_path(), encoding="utf-8", errors="backslashreplace", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(name)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
