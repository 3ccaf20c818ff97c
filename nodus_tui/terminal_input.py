"""What comes from the terminal. It knows Textual's driver for terminals of Linux and macOS, and nothing of the console."""

import os
import selectors
from codecs import getincrementaldecoder

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

_BEAT_SECONDS = 0.1
"""How often the parser is asked whether a lone Escape has waited for its rest long enough."""
_MOST_BYTES = 4096
HANGUP_CODE = 129
"""The exit code of what a hang-up ends, as shells give it."""


class SteadyInput(LinuxDriver):
    """Reads keys as Textual does, but ends by no byte that is not UTF-8, and does not go on reading a terminal that is gone.

    Textual's own decodes strictly: an é from a Latin-1 terminal, or a click in an old mouse protocol, ended the program with a traceback.
    """

    def run_input_thread(self) -> None:
        """Read until the console ends; a terminal that is gone ends the console, with SIGHUP or without."""
        parser = XTermParser(self._debug)
        decoder = getincrementaldecoder("utf-8")(errors="replace")
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if waiting.select(_BEAT_SECONDS):
                    data = self._read()
                    if not data:
                        self._app.call_later(self._app.exit, HANGUP_CODE, HANGUP_CODE)
                        return
                    for event in parser.feed(decoder.decode(data)):
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)

    def _read(self) -> bytes:
        """What was typed; nothing where the terminal is gone, which some systems tell by an error."""
        try:
            return os.read(self.fileno, _MOST_BYTES)
        except OSError:
            return b""
