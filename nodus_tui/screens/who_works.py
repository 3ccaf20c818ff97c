"""What is known of the backend behind one console: who looks on, who does the work, how many sandboxes run; asked again and again.

It shows nothing itself: a view that stands is told to, and what a person should know is told in it.
"""

from textual.app import App

from nodus_tui.contract.backend import Linked
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.errors import NodusError
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.services import Services
from nodus_tui.view_state.cells import Tone
from nodus_tui.view_state.key_actions import key_words


class WhoWorks:
    """Of one app; `info` is what the backend said last, None before it has said anything."""

    def __init__(self, app: App[int], services: Services) -> None:
        self._app = app
        self._services = services
        self._backend = services.backend
        self._looking_afar = False
        self.info: BackendInfo | None = None

    @property
    def linked(self) -> bool:
        """Whether the backend is reached through a link: then the work is always another process's."""
        return isinstance(self._backend, Linked)

    async def introduce(self) -> list[str]:
        """Ask for the first time; gives what a person should know at the start."""
        try:
            self.info = await self._backend.info()
        except NodusError as error:
            return [error.detail]
        notes = list(self.info.notes)
        if self.info.scheduler_elsewhere and not self.linked:
            what = "you watch and act on it" if self.info.role == "operator" else "you look on"
            notes.append(f"another process does this workspace's work; here {what}")
        return notes

    async def look(self) -> None:
        """Ask who does the work now, and tell where that has changed; what is known stays known where the backend cannot say."""
        if self.linked:
            # One that is broken must not hold up who wants to leave.
            return
        before = self.info
        try:
            self.info = await self._backend.info()
        except NodusError:
            # The feed tells of a backend that does not answer.
            return
        self._show_sandboxes(before)
        if before is None or (before.scheduling, before.scheduler_elsewhere) == (self.info.scheduling, self.info.scheduler_elsewhere):
            return
        screen = self._app.screen
        if isinstance(screen, ViewScreen) and screen.is_mounted:
            screen.show()
            if self.info.scheduling and not before.scheduling:
                asks = f"{key_words('quit', self._services.situation())} asks before it stops."
                screen.notice(f"This window does the work now: the process that did it has ended. {asks}", Tone.WARN)

    def look_afar(self) -> None:
        """Ask a backend in another process how many sandboxes run; beside the screen, for its answer may take its time."""
        link = self._services.link()
        if link is not None and link.connected and not self._looking_afar:
            self._looking_afar = True
            self._app.run_worker(self._asked_afar(), exit_on_error=True)

    @property
    def looking_afar(self) -> bool:
        """Whether an answer is waited for."""
        return self._looking_afar

    async def _asked_afar(self) -> None:
        before = self.info
        try:
            self.info = await self._backend.info()
        except NodusError:
            # The feed tells of a backend that does not answer.
            return
        finally:
            self._looking_afar = False
        self._show_sandboxes(before)

    def _show_sandboxes(self, before: BackendInfo | None) -> None:
        changed = before is not None and self.info is not None and before.sandboxes_running != self.info.sandboxes_running
        screen = self._app.screen
        if changed and isinstance(screen, ViewScreen) and screen.is_mounted:
            screen.show()
