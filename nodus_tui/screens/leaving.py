"""Leaving one console: what is asked before, the work that stops with it, and what the person should know who is gone."""

import asyncio
from contextlib import suppress

from textual.app import App

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.services import Services
from nodus_tui.screens.who_works import WhoWorks
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Tone
from nodus_tui.view_state.key_actions import key_words
from nodus_tui.view_state.parting import Going, parting_words
from nodus_tui.view_state.proposals import Question, quit_question, unsent_question

STOP_GRACE_SECONDS = 10.0
"""What calls in flight get when the person leaves."""
FIRST_DATA_SECONDS = 2.0
"""What who leaves at once waits for the first data."""


class Leaving:
    """Of one app, whose first data sets `data_came`; `starts_anew` says that what is left is not gone on with."""

    def __init__(self, app: App[int], services: Services, who: WhoWorks, data_came: asyncio.Event, *, starts_anew: bool) -> None:
        self._app = app
        self._services = services
        self._who = who
        self._data_came = data_came
        self._starts_anew = starts_anew
        self._stopping = False
        """Whether the person has said that the work is to stop."""
        self._stopped = False

    def ask(self) -> None:
        """Leave, after a question where something would be lost or stop."""
        if self._stopping:
            # The second time means it: what is committed is safe, calls in flight are charged when the work goes on.
            self._app.exit(0)
            return
        self._app.run_worker(self._leave(), exit_on_error=True)

    async def _leave(self) -> None:
        await self._who.look()
        await self._know_the_work()
        if not await self._typed_may_go():
            return
        unsent = self._services.asked.unsent
        if unsent and not await self._agreed(unsent_question(unsent)):
            return
        groups, sweeps, boxes = self._work_of_this_process()
        if groups or sweeps or boxes:
            resume = key_words("resume", self._services.situation())
            if not await self._agreed(quit_question(groups, sweeps, boxes, starts_anew=self._starts_anew, resume=resume)):
                return
            self._stopping = True
            self._tell_stopping(groups)
            await self.stop_work(STOP_GRACE_SECONDS)
        self._app.exit(0, message=self.what_goes_on() or None)

    async def _typed_may_go(self) -> bool:
        """Whether nothing that was typed would be lost, or the person wants to leave all the same."""
        # Dialogs are loaded with the first.
        from nodus_tui.widgets.dialogs import AskingScreen  # noqa: PLC0415

        for screen in tuple(self._app.screen_stack):
            question = await screen.asked_before_leaving() if isinstance(screen, ViewScreen | AskingScreen) else None
            if question is not None and not await self._agreed(question):
                return False
        return True

    async def _agreed(self, question: Question) -> bool:
        """Whether the person wants it; not where they are being asked something already."""
        # Dialogs are loaded with the first.
        from nodus_tui.widgets.dialogs import ConfirmDialog  # noqa: PLC0415

        return not isinstance(self._app.screen, ConfirmDialog) and await self._app.push_screen_wait(ConfirmDialog(question))

    def _tell_stopping(self, groups: tuple[AgentGroup, ...]) -> None:
        screen = self._app.screen
        if isinstance(screen, ViewScreen):
            going = sum(status_of(group).going for group in groups)
            calls = f"{going} run{'' if going == 1 else 's'}"
            at_once = f"{key_words('quit', self._services.situation())} leaves at once."
            screen.notice(f"Stopping: {calls} may end the call in flight, {STOP_GRACE_SECONDS:.0f} s at most. {at_once}", Tone.WARN)

    async def _know_the_work(self) -> None:
        """Who leaves in the first moment may leave work behind that is not on the screen yet."""
        if self._who.info is not None and self._who.info.scheduling:
            with suppress(TimeoutError):
                async with asyncio.timeout(FIRST_DATA_SECONDS):
                    await self._data_came.wait()

    def what_goes_on(self) -> str:
        """What the person who leaves should know: the work of another process goes on, or nobody does it."""
        if self._services.playback() is not None:
            return ""
        feed = self._services.feed
        work = [group.name for group in feed.campaigns.rows.items() if not status_of(group).phase.at_rest]
        work += [sweep.name for sweep in feed.sweeps.going()]
        return parting_words(Going(tuple(work), feed.boxes.going(), feed.jobs.going()), self._who.info, linked=self._who.linked)

    def _work_of_this_process(self) -> tuple[tuple[AgentGroup, ...], tuple[str, ...], tuple[str, ...]]:
        """The groups, and the sweeps and the Sandboxes by name, that leaving would stop."""
        if self._who.info is None or not self._who.info.scheduling:
            return (), (), ()
        feed = self._services.feed
        groups = tuple(group for group in feed.campaigns.rows.items() if not status_of(group).phase.at_rest)
        return groups, tuple(sweep.name for sweep in feed.sweeps.going()), feed.boxes.going()

    async def stop_work(self, grace_seconds: float) -> None:
        """Stop the work that this process runs, once."""
        if self._stopped or self._who.linked:
            return
        try:
            self._who.info = await self._services.backend.info()
            if not self._who.info.scheduling:
                return
            self._stopped = True
            await self._services.backend.stop_work(grace_seconds=grace_seconds)
        except NodusError as error:
            self._app.exit(1, message=f"The work could not be stopped in order: {error.detail}")
