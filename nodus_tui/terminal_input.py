"""What comes from the terminal, and goes to it. It knows Textual's driver for terminals of Linux and macOS, and nothing of the console."""

import asyncio
import errno
import os
import re
import selectors
import signal
import termios
from codecs import getincrementaldecoder
from io import TextIOWrapper

from textual._ansi_sequences import SYNC_END, SYNC_START
from textual.drivers._writer_thread import MAX_QUEUED_WRITES
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Resize
from textual.geometry import Size

from nodus_tui.pasting import KeysAndPastes
from nodus_tui.terminal_changes import Shown

_BEAT_SECONDS = 0.1
"""How often the parser is asked whether a lone Escape has waited for its rest long enough."""
_MOST_BYTES = 4096
_LAST_SECONDS = 2.0
"""What a terminal that takes nothing is waited for at the end."""
_MORE_THAN_DRAWN = re.compile(r"\x1b\]|\x1b\[[?<>]|\x07")
"""What a frame does not have: modes, the clipboard, the bell."""
_STDERR = 2
"""Where Textual draws."""
HANGUP_CODE = 129
"""The exit code of what a hang-up ends, as shells give it."""


class _Outlet:
    """The terminal as a file that takes everything, also once it is gone.

    Textual's thread that writes ended by the first refusal, and who had more to write waited for it for ever. It is no buffered file of
    Python's: one that a thread still writes to cannot be left at the end.
    """

    def __init__(self, file: TextIOWrapper) -> None:
        self._number = file.fileno()
        self._encoding = file.encoding
        self._kept: list[bytes] = []
        self._gone = False

    def fileno(self) -> int:
        """The terminal's."""
        return self._number

    def write(self, text: str) -> None:
        """Take it, to be sent with the next `flush`."""
        self._kept.append(text.encode(self._encoding, errors="backslashreplace"))

    def flush(self) -> None:
        """Send what was taken, as soon as the terminal takes it; nowhere, where there is none any more."""
        data, self._kept = b"".join(self._kept), []
        try:
            while data and not self._gone:
                data = data[os.write(self._number, data) :]
        except OSError:
            self._gone = True


class SteadyInput(LinuxDriver):
    """Reads keys as Textual does, but ends by no byte that is not UTF-8, ends with a terminal that is gone, and misses no size.

    Textual's own decodes strictly: an é from a Latin-1 terminal, or a click in an old mouse protocol, ended the program with a traceback.
    It asks for the size inside the signal's handler, which the next signal may interrupt: the older size was then told last, and stayed.
    At SIGCONT it began a second time beside the first, although a terminal that hangs up sends that too. A terminal that takes nothing for
    a while (a link that stands still) held up the whole program; here frames are left out meanwhile, and it is drawn anew afterwards.
    """

    _frame: list[str] | None = None
    """The beginning of a frame whose end is still to come."""
    _stands = False
    """Whether the terminal is the console's."""
    _behind = False
    """Whether frames were left out, and it is to be drawn anew."""
    _ending: tuple[int, int] | None = None
    """A pipe in which the thread that reads hears that it is to end: it sleeps until something comes, and wakes for nothing else."""

    def start_application_mode(self) -> None:
        """Begin, and hear of new sizes from the event loop, one after the other."""
        self._shown = Shown()
        self._loop = asyncio.get_running_loop()
        if isinstance(self._file, TextIOWrapper):
            self._file = _Outlet(self._file)  # type: ignore[assignment]  # All of a file that is used there.
        before = self._writer_thread
        self._ending = os.pipe()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual has no type there.
        if self._writer_thread is before:
            self._close_ending()
            return  # It is in the background; the shell lets it go on later.
        if self._writer_thread is not None:
            self._writer_thread._queue.maxsize = 0  # noqa: SLF001 - a full one would hold up the event loop
        self._stands = True
        self._loop.add_signal_handler(signal.SIGWINCH, self._tell_size)
        self._tell_size()

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        self._stands = False
        super().stop_application_mode()

    def _sigtstp_application(self, *_: object) -> None:
        """Asked to rest. In the event loop, for a signal may come in the middle of a write."""
        if self._auto_restart and self._stands:
            self._loop.call_soon_threadsafe(self._rest)
        else:
            os.kill(os.getpid(), signal.SIGSTOP)

    def _rest(self) -> None:
        self.suspend_application_mode()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _sigcont_application(self, *_: object) -> None:
        """Told to go on; while another program has the terminal, the console waits for that one's end."""
        if self._auto_restart and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        """Take the terminal again, and draw all anew: whoever let the console go on may have written there."""
        if self._hung_up() or not self._app.is_running:
            return
        if self._stands:
            self.suspend_application_mode()  # Stopped without a word, by SIGSTOP.
        self.resume_application_mode()
        self._app.refresh(layout=True)

    def _hung_up(self) -> bool:
        try:
            termios.tcgetattr(self.fileno)
        except termios.error as error:
            return bool(error.args[0] == errno.EIO)
        return False

    def close(self) -> None:
        """Let the rest be sent; who is told to end does not wait for a terminal that takes nothing."""
        if self._writer_thread is not None:
            self._writer_thread._queue.put(None)  # noqa: SLF001 - Textual has no stop that ends
            self._writer_thread.join(_LAST_SECONDS)

    def _falls_behind(self) -> bool:
        """Whether so much waits to be sent that a frame more is left out. It is looked again soon whether it is to be drawn anew."""
        if not self._behind and self._stands and self._writer_thread is not None:
            self._behind = self._writer_thread._queue.qsize() > MAX_QUEUED_WRITES  # noqa: SLF001 - as above
            if self._behind:
                self._loop.call_later(_BEAT_SECONDS, self._catch_up)
        return self._behind

    def _catch_up(self) -> None:
        """Draw anew once the terminal has taken what it was sent."""
        if not self._stands or self._writer_thread is None:
            self._behind = False
        elif self._writer_thread._queue.qsize():  # noqa: SLF001 - as above
            self._loop.call_later(_BEAT_SECONDS, self._catch_up)
        else:
            self._behind = False
            self._shown.forget()
            self._app.refresh(layout=True)

    def write(self, data: str) -> None:
        """Send what is drawn, in as few bytes as it takes; a frame in one piece, for each piece may wait by itself."""
        if data == SYNC_START:
            self._frame = []
        elif data == SYNC_END and self._frame is not None:
            drawn, self._frame = "".join(self._frame), None
            if drawn:
                super().write(f"{SYNC_START}{drawn}{SYNC_END}")
        elif _MORE_THAN_DRAWN.search(data) or not self._falls_behind():
            drawn = self._shown.changes(data, self._app.size)
            if self._frame is not None:
                self._frame.append(drawn)
            elif drawn:
                super().write(drawn)

    def disable_input(self) -> None:
        """No more keys and sizes."""
        if not self._loop.is_closed():
            self._loop.remove_signal_handler(signal.SIGWINCH)
        if self._ending is not None:
            os.write(self._ending[1], b"\0")
        super().disable_input()
        self._close_ending()

    def _close_ending(self) -> None:
        ends, self._ending = self._ending or (), None
        for end in ends:
            os.close(end)

    def _get_terminal_size(self) -> tuple[int, int]:
        """As many columns and rows as the terminal has now: COLUMNS and LINES, exported once, do not change with it."""
        for descriptor in (self.fileno, _STDERR):
            try:
                size = os.get_terminal_size(descriptor)
            except (OSError, ValueError):
                continue
            if size.columns and size.lines:
                return size.columns, size.lines
        return super()._get_terminal_size()

    def _tell_size(self) -> None:
        """Have the app hear of the size that the terminal has now; a terminal that tells it in its input needs no signal."""
        self._shown.forget()
        if not self._in_band_window_resize:
            size = Size(*self._get_terminal_size())
            self._app.post_message(Resize(size, size))

    def run_input_thread(self) -> None:
        """Read until the console ends; a terminal that is gone ends the console, with SIGHUP or without."""
        parser = KeysAndPastes(self._debug)
        decoder = getincrementaldecoder("utf-8")(errors="replace")
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.fileno, selectors.EVENT_READ)
            ending = waiting.register(self._ending[0], selectors.EVENT_READ) if self._ending is not None else None
            while not self.exit_event.is_set():
                came = {key for key, _ in waiting.select(_BEAT_SECONDS if parser.waits else None)}
                if ending in came:
                    return
                if came:
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
