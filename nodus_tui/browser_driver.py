"""What comes from a browser by way of textual-serve. It knows Textual's driver for that, and nothing of the console."""

from textual.drivers import web_driver
from textual.drivers.web_driver import WebDriver

from nodus_tui.pasting import KeysAndPastes

# Its thread makes its parser by this name; Textual's own takes keys out of what is pasted.
web_driver.XTermParser = KeysAndPastes  # type: ignore[attr-defined]

GONE_CODE = 129
"""The exit code where the server has gone, as that of a terminal that has."""


class BrowserDriver(WebDriver):
    """Textual's own, but the console ends when the server behind it is gone: its own goes on for ever without anybody to see it."""

    def run_input_thread(self) -> None:
        """Read until the console ends, or there is nobody to read from."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.call_later(self._app.exit, GONE_CODE, GONE_CODE)
