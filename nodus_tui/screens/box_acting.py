"""Stopping a Sandbox and opening a shell in it: the question before, the sentence after, and the terminal that is lent meanwhile."""

import signal
import sys
from uuid import uuid4

from textual.app import SuspendNotSupported

from nodus_tui.contract.actions import Kill
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.sandbox_exec import ExecRequest
from nodus_tui.sandbox_commands.here import run_here
from nodus_tui.sandbox_commands.streams import terminal_shape
from nodus_tui.screens.acting import agreed, perform
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.boxes import box_status, kill_box_question, shell_end_words, shell_problem
from nodus_tui.view_state.cells import Tone

_THE_CONSOLES = frozenset({signal.SIGTERM, signal.SIGHUP})
"""Signals that end the console, a shell in it or not."""


async def kill_box(screen: ViewScreen, box: Sandbox) -> None:
    """Ask, then stop it."""
    status = box_status(box)
    if status.ended:
        screen.notice(f"{box.name} has ended ({status.phase}); there is nothing to kill.", Tone.WARN)
        return
    if await agreed(screen, kill_box_question(box, screen.services.now())):
        action = Kill(kind="Sandbox", name=box.name, author=screen.services.author, request_id=uuid4().hex)
        await perform(screen, action)


async def open_shell(screen: ViewScreen, box: Sandbox) -> None:
    """Put the console aside and open a shell in it; what goes on, goes on meanwhile, and is shown afterwards."""
    if problem := shell_problem(box):
        screen.notice(problem, Tone.WARN)
        return
    app = screen.app
    try:
        # Nothing is painted over what the shell shows: the driver has no terminal to paint on until it has it back.
        with app.suspend(), app.batch_update():
            told, tone = await _shell(screen, box.name)
    except SuspendNotSupported:
        told, tone = f"This console cannot lend its terminal; `nodus-tui exec {box.name}` opens a shell elsewhere.", Tone.WARN
    screen.notice(told, tone)
    screen.show()


async def _shell(screen: ViewScreen, name: str) -> tuple[str, Tone]:
    """Run it to its end. Raises nothing: the console must have its terminal back."""
    print(f"Shell in sandbox {name}; `exit` or Ctrl-D goes back to the console.", file=sys.stdout, flush=True)  # noqa: T201
    try:
        end = await run_here(screen.services.backend, name, ExecRequest(terminal=terminal_shape()), not_ours=_THE_CONSOLES)
    except NodusError as error:
        return f"! {error.detail}", Tone.BAD
    except OSError as error:
        return f"! The terminal could not be lent: {error}", Tone.BAD
    return shell_end_words(name, end)
