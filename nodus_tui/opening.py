"""Opens the console on a terminal, and leaves the terminal whole, whatever ends it."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nodus_tui.app import NodusApp
from nodus_tui.connect import expected_config_path, open_backend
from nodus_tui.console_settings import console_settings
from nodus_tui.contract.backend import Backend, BackendOptions
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.terminal_facts import ANY_TERMINAL, this_terminal
from nodus_tui.wishes import wished

HANGUP_GRACE_SECONDS = 2.0
"""What calls in flight get when the terminal is gone or the machine stops."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def _signals_handled(app: NodusApp) -> Iterator[None]:
    """A terminal must never stay broken: TERM and HUP leave by the front door."""
    loop = asyncio.get_running_loop()
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heard:
        loop.add_signal_handler(number, app.ended_by, number)
    try:
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)


async def show_console(
    backend: Backend,
    *,
    start_at: str | None = None,
    settings: ConsoleSettings | None = None,
    theme_folders: tuple[Path, ...] = (),
    state_folder: Path | None = None,
    starts_anew: bool = False,
    first_view: str = "",
    in_browser: bool = False,
) -> int:
    """Show the console on an open backend until the person leaves; gives the exit code. The backend stays open.

    What nobody expected ends the screen, and is raised here when the terminal is whole again and the work of this process is stopped.
    """
    app = NodusApp(
        backend,
        start_at=start_at,
        settings=settings,
        theme_folders=theme_folders,
        state_folder=state_folder,
        starts_anew=starts_anew,
        first_view=first_view,
        in_browser=in_browser,
        terminal=ANY_TERMINAL if in_browser else this_terminal(os.environ),
        wishes=wished(),
    )
    with _signals_handled(app):
        result = await app.run_async(mouse=app.looks.mouse)
        if app.return_code and result is None:
            result = app.return_code
        try:
            await app.leaving.stop_work(HANGUP_GRACE_SECONDS)
        finally:
            if app.failure is not None:
                raise app.failure
    return result or 0


def run_console(
    options: BackendOptions,
    reach: Callable[[], Awaitable[Backend]] | None = None,
    *,
    start_at: str | None = None,
    starts_anew: bool = False,
    first_view: str = "",
    in_browser: bool = False,
) -> int:
    """Show the console on a backend: the one that `reach` gives, else the one that the options open in this process.

    `starts_anew` says that what is left is not gone on with the next time, as in the demonstration. Gives the exit code. Raises NodusError
    when there is no backend to be had.
    """

    async def whole() -> int:
        settings = console_settings(options.config)
        themes = ((options.config or expected_config_path()).parent / "themes",)
        async with await (reach() if reach is not None else open_backend(options)) as backend:
            return await show_console(
                backend,
                start_at=start_at,
                settings=settings,
                theme_folders=themes,
                state_folder=None if in_browser else options.home,
                starts_anew=starts_anew,
                first_view=first_view,
                in_browser=in_browser,
            )

    return asyncio.run(whole())
