"""The console: opens a backend, keeps its states true, and shows the views. Nothing of the backend's work depends on it."""

import asyncio
import getpass
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import RenderableType
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.events import Event, Key, MouseEvent, Resize
from textual.filter import LineFilter, Monochrome, NoColor
from textual.screen import Screen
from textual.timer import Timer
from textual.worker import WorkerCancelled, WorkerFailed

from nodus_tui.appearance import Appearance
from nodus_tui.click_gate import ClickGate
from nodus_tui.connect import chosen_way
from nodus_tui.console_memory import ConsoleMemory
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.contract.playback import Replayed
from nodus_tui.drawing import line_filters
from nodus_tui.key_gate import KeyGate
from nodus_tui.last_places import LastPlaces
from nodus_tui.screens.base import SCREEN_CSS, ViewScreen
from nodus_tui.screens.campaigns import CampaignsScreen
from nodus_tui.screens.catalogue import make_screen, screen_of
from nodus_tui.screens.dialog_styles import COLUMNS_CSS, DIALOG_CSS, THEME_CSS
from nodus_tui.screens.feed import LiveFeed
from nodus_tui.screens.place_keeper import PlaceKeeper
from nodus_tui.screens.preloading import LIKELY_NEXT, WITH_DATA, load
from nodus_tui.screens.room import ROOM_CSS, Room
from nodus_tui.screens.services import Services
from nodus_tui.screens.theme_desk import ThemeDesk
from nodus_tui.screens.who_works import WhoWorks
from nodus_tui.table_memory import TableMemory
from nodus_tui.terminal_calls import NotifyBy, call_of
from nodus_tui.terminal_facts import ANY_TERMINAL, TerminalFacts
from nodus_tui.text import safe_text
from nodus_tui.theme_shelf import ThemeShelf, packaged_folder
from nodus_tui.tidying import Tidying
from nodus_tui.view_state.cells import Tone
from nodus_tui.view_state.key_actions import Situation
from nodus_tui.view_state.keymap import bindings, keymap_of
from nodus_tui.view_state.parting import whose_work
from nodus_tui.view_state.views import View, destination
from nodus_tui.visits import Visits
from nodus_tui.wishes import NO_WISHES, Wishes

if TYPE_CHECKING:
    from nodus_tui.screens.launch_check import Target
    from nodus_tui.screens.leaving import Leaving

_log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.5
"""Data is painted at most this often; what a person does is painted at once."""
TICK_SECONDS = 1.0
"""How often ages are looked at. Nothing is painted where none reads otherwise."""
ROLE_SECONDS = 3.0
"""How often a backend in this process is asked who does the work: another process may end, and this one takes over."""
INTRODUCTION_SECONDS = 2.0
"""What the console waits for its backend to say who looks on."""
FAR_SECONDS = 5.0
"""How often a backend in another process is asked how many sandboxes run, while it answers."""


def local_now() -> datetime:
    """The time in this machine's zone."""
    return datetime.now().astimezone()


class NodusApp(App[int], inherit_bindings=False):
    """The console on an open backend. Its result is the exit code."""

    TITLE = "nodus"
    CSS = SCREEN_CSS + DIALOG_CSS + ROOM_CSS + THEME_CSS + COLUMNS_CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "leave", show=False, priority=True)]
    flushes = 0
    """Times that data was painted: what tests count."""
    _flushed_at = datetime.min.replace(tzinfo=UTC)
    """When it was painted last, by the console's clock."""
    _painted = False
    """Whether a view was on the screen yet."""
    _loads_on = False
    """Whether what is likely to be needed next is loaded, or was."""

    def __init__(
        self,
        backend: Backend,
        *,
        start_at: str | None = None,
        settings: ConsoleSettings | None = None,
        theme_folders: tuple[Path, ...] = (),
        state_folder: Path | None = None,
        starts_anew: bool = False,
        clock: Callable[[], datetime] | None = None,
        first_view: str = "",
        in_browser: bool = False,
        terminal: TerminalFacts = ANY_TERMINAL,
        wishes: Wishes = NO_WISHES,
    ) -> None:
        self._own_filters: tuple[LineFilter, ...] = ()
        self._key_gate = KeyGate(self, super().on_event)
        self._click_gate = ClickGate()
        self._tidying = Tidying()
        super().__init__()
        self.animation_level = "none"
        # Nothing here has a tooltip or is told as a toast: no screen carries the widgets for them, in tests as outside.
        self._disable_tooltips = self._disable_notifications = True
        self.backend = backend
        self.start_at = start_at
        self.starts_anew = starts_anew
        """What is left when the person leaves is not gone on with: the demonstration."""
        self.settings = settings or ConsoleSettings()
        self._keys = keymap_of(self.settings.keys)
        self.set_keymap(bindings(self._keys))
        self.first_view = first_view
        """What is opened first: a view's name, `group/NAME` or `sweep/NAME`; empty for the campaigns."""
        self.in_browser = in_browser
        if clock is None:
            clock = backend.now if isinstance(backend, Replayed) else local_now
        self.clock = clock
        self.feed = LiveFeed(backend, clock=clock, changed=self._data_changed, keys_first=self._key_gate.free)
        memory, url = ConsoleMemory(state_folder), chosen_way().url
        self.services = Services(
            backend=backend,
            feed=self.feed,
            now=clock,
            author=_login_name(),
            copy_file=None if in_browser else (state_folder or Path.home()) / "copied.txt",
            folder=Path.cwd(),
            whose_work=lambda: "" if isinstance(backend, Replayed) else whose_work(self.info, linked=self.work.linked, url=url),
            sandboxes=lambda: self.info.sandboxes_running if self.info is not None else 0,
            tables=TableMemory(self.settings, memory),
            situation=self.situation,
            drafts=None if in_browser or state_folder is None else state_folder / "drafts",
            launch_file=self.show_estimate,
            arrived=self._keep_place,
        )
        self.work = WhoWorks(self, self.services)
        self.failure: Exception | None = None
        """What nobody expected and ended the console."""
        self._data_came = asyncio.Event()
        self._was_lost = False
        """Whether the last tick found the link broken: the next one shows that it is whole again."""
        self._last_flush = float("-inf")
        self._flush_timer: Timer | None = None
        self.looks = Appearance(ThemeShelf((packaged_folder(), *theme_folders)), self.settings, terminal, memory, wishes)
        self._visits = Visits(self.looks.memory)
        self._places = LastPlaces(self.looks.memory)
        self._place = PlaceKeeper(self._places)
        replayed = isinstance(backend, Replayed)
        self._ask_what_was = not replayed
        """Whether it is still to be told what ended since the last visit."""
        self._goes_back = not (replayed or starts_anew or first_view or start_at)
        """Whether the place of the last visit is still to be gone to."""
        self._notify: NotifyBy = "none" if in_browser or replayed else self.settings.notify
        self._own_filters = line_filters(self.looks)
        self._themes = ThemeDesk(self, self.looks, self.clock, watched=bool(theme_folders))
        self.room = Room(self)
        first, self._theme_note = self.looks.first()
        self._themes.register(self.looks.shelf.themes)
        self.theme = first

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Textual's own themes know no tones: what the styles name must exist in every theme."""
        return {"tone-track": "#808080"}

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Our own decide on NO_COLOR: Textual's leaves shades of grey, and cannot be told otherwise."""
        return (*(each for each in super().get_line_filters() if not isinstance(each, Monochrome | NoColor)), *self._own_filters)

    def get_driver_class(self) -> type[Driver]:
        """Textual's choice, but ours where it reads a terminal."""
        chosen = super().get_driver_class()
        if chosen.__module__ != "textual.drivers.linux_driver":
            return chosen
        # Imported here: it does not exist on systems whose terminals are read in another way.
        from nodus_tui.terminal_input import SteadyInput  # noqa: PLC0415

        return SteadyInput

    def copy_to_clipboard(self, text: str) -> None:
        """As Textual does it; a name of a file may hold halves of characters, which no clipboard takes."""
        super().copy_to_clipboard(text.encode(errors="replace").decode())

    def situation(self) -> Situation:
        """From where the person looks on, as far as is known."""
        playback = self.services.playback()
        return Situation(
            viewer=self.info is not None and self.info.role == "viewer",
            unknown=self.info is None,
            browser=self.in_browser,
            recording=playback.of if playback is not None else "",
            keys=self._keys,
        )

    def on_mount(self) -> None:
        """Open the first view and read the stream."""
        self.push_screen(CampaignsScreen(self.services))
        if self.start_at is not None:
            self.push_screen(screen_of(View.GROUP, self.services, self.start_at))
        self._open_first()
        self.set_interval(TICK_SECONDS, self._tick)
        self.set_interval(ROLE_SECONDS, self.work.look)
        self.set_interval(FAR_SECONDS, self.work.look_afar)
        self.run_worker(self._themes.watch(), exit_on_error=True)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """As Textual does it; with the first frame of a view the start is over."""
        super()._display(screen, renderable)
        if not self._painted and not self._batch_count and isinstance(screen, ViewScreen) and screen.stands:
            self._painted = True
            # By the app: a view that another one has covered meanwhile is not refreshed any more.
            self.call_later(self.painted_first)

    def painted_first(self) -> None:
        """The first view stands on the screen: now what it shows is asked for, and what that needs is loaded."""
        self._tidying.begin()
        self.run_worker(self._begin(), exit_on_error=True)
        self.run_worker(load(WITH_DATA, self._key_gate.free), exit_on_error=True)

    async def _begin(self) -> None:
        """Read the stream, once it is known who looks on: what stands on the screen can be acted on."""
        introduced = self.run_worker(self._introduce(), exit_on_error=True)
        # A backend that takes its time to answer must not keep its state from who waits for it; what else ends the introduction is told
        # by itself.
        with suppress(TimeoutError, WorkerCancelled, WorkerFailed):
            async with asyncio.timeout(INTRODUCTION_SECONDS):
                await introduced.wait()
        await self.feed.run()

    def _open_first(self) -> None:
        name, _, which = self.first_view.partition("/")
        entry = destination(name)
        if which:
            self.push_screen(screen_of(View.SWEEP if name == "sweep" else View.GROUP, self.services, which))
        elif entry is not None and entry.view is not CampaignsScreen.VIEW and not (entry.here and self.in_browser):
            self.push_screen(make_screen(entry, self.services))

    def on_unmount(self) -> None:
        """What ends from now on is told the next time."""
        self._tidying.end()
        if self.info is not None and self.services.playback() is None:
            self._visits.end(self.info.workspace, self.clock())
            if self.failure is not None:
                self._place.broke(self._here())
            elif not self.starts_anew:
                self._place.left(self._here())

    async def on_event(self, event: Event) -> None:
        """Keys go one after the other, the second half of a double click agrees to nothing; all else as Textual does it."""
        if isinstance(event, Key) and not event.is_forwarded:
            self._key_gate.take(event)
        elif not (isinstance(event, MouseEvent) and not event.is_forwarded and self._click_gate.passes_over(event, self.screen)):
            await super().on_event(event)

    def on_too_much_pasted(self) -> None:
        """Say that nothing was taken; a dialog has no line for it."""
        if isinstance(self.screen, ViewScreen):
            self.screen.notice("What was pasted is longer than 1 MiB, and no spec is: nothing of it was taken.", Tone.WARN)
        else:
            self.bell()

    def on_resize(self, event: Resize) -> None:
        """Dialogs go by the room that there is."""
        self.room.resized(event.size)

    @property
    def info(self) -> BackendInfo | None:
        """What the backend said of itself last; None before it has said anything."""
        return self.work.info

    async def _introduce(self) -> None:
        """What a person should know at the start: the backend's notes, and themes that could not be used."""
        notes = [*([self._theme_note] if self._theme_note else []), *await self.work.introduce()]
        if isinstance(self.screen, ViewScreen):
            self.screen.show()
            if notes:
                self.screen.notice("; ".join(notes), Tone.WARN)
        self._themes.tell_faults()
        self._go_back()

    # Painting

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        """What is seen behind the open screen: nothing, where that is a view. Textual counts the view below it in any case, and what
        changed there would draw all of the open one anew.
        """
        covered = any(isinstance(screen, ViewScreen) for screen in self._screen_stack[-1:])
        return [] if covered else super()._background_screens

    def _data_changed(self) -> None:
        """The feed changed something: paint soon, but not too often."""
        if self.feed.campaigns.loaded:
            self._data_came.set()
        if self._flush_timer is not None or not self.is_running:
            return
        wait = self._last_flush + FLUSH_SECONDS - asyncio.get_running_loop().time()
        self._flush_timer = self.set_timer(max(0.001, wait), self._paint_data)

    def _paint_data(self) -> None:
        self._flush_timer = None
        if not self.is_running:
            # The console ends: its views are gone before its timers.
            return
        self._last_flush = asyncio.get_running_loop().time()
        if not self._loads_on:
            self._loads_on = True
            self.call_after_refresh(self._load_on)
        if isinstance(self.screen, ViewScreen) and self.screen.is_mounted:
            self.flushes += 1
            self._flushed_at = self.clock()
            self.screen.show()
        self._go_back()
        self._tell_news()
        # Under a dialog nothing is painted; the view shows everything when it comes back.

    def _load_on(self) -> None:
        """The first data is painted: what a person goes to from there is loaded before they do."""
        self.run_worker(load(LIKELY_NEXT, self._key_gate.free), exit_on_error=True)

    def _here(self) -> str:
        """Which workspace this is: two machines may have one of the same name."""
        return f"{chosen_way().url} {self.info.workspace if self.info is not None else ''}".strip()

    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave; where that was is known only before the views are torn down. A text that is told afterwards may hold what others wrote."""
        self._place.leaving(self.screen_stack)
        super().exit(result, return_code, safe_text(message, newlines=True) if isinstance(message, str) else message)

    def _go_back(self) -> None:
        """Once it is known what there is: go to where the last visit ended, unless the person has gone elsewhere meanwhile."""
        if not self._goes_back or self.info is None or not self.feed.campaigns.loaded:
            return
        self._goes_back = False
        place = self._places.last(self._here())
        if place is not None and isinstance(self.screen, CampaignsScreen):
            from nodus_tui.screens.last_place import go_to_place  # noqa: PLC0415 - it knows views that the first paint does not need

            self.run_worker(go_to_place(self.screen, place), exit_on_error=True)

    def _tick(self) -> None:
        screen = self.screen
        link = self.services.link()
        lost = self.feed.connection.state == "lost" or (link is not None and (not link.connected or bool(link.silence)))
        # Data that comes all the time paints the times, too.
        if isinstance(screen, ViewScreen) and screen.is_mounted and (lost or self._was_lost or self._ages(screen) or self._plays(screen)):
            screen.show()
        self._was_lost = lost
        self.room.look()
        self._tell_news()
        self._tidying.look(asyncio.get_running_loop().time(), self._key_gate.last_taken)

    def _ages(self, screen: ViewScreen) -> bool:
        """Whether times on it read otherwise by now; those of data that was painted within the second do not."""
        return screen.moving() and not timedelta(0) <= self.clock() - self._flushed_at < timedelta(seconds=TICK_SECONDS)

    def _keep_place(self) -> None:
        """Remember which view is on top; not before it is known where the last visit ended."""
        if self.info is not None and not (self._goes_back or self.starts_anew or self.services.playback()):
            self._place.look(self._here(), self.screen_stack)

    def _plays(self, screen: ViewScreen) -> bool:
        """Whether a recording moves; one that is to be shown again and again begins anew at its end."""
        playback = self.services.playback()
        if playback is None or playback.paused:
            return False
        if playback.ended and playback.loops:
            # Imported here: only recordings need it.
            from nodus_tui.screens.playing import move_to  # noqa: PLC0415

            self.run_worker(move_to(screen, 0.0), exit_on_error=True)
        return True

    def _tell_news(self) -> None:
        """What happened, once, in whatever view is open. The terminal calls at once; the line waits for dialogs and other notices."""
        notices, screen = self.feed.notices, self.screen
        if self._ask_what_was and self.info is not None and notices.loaded:
            self._ask_what_was = False
            since = self._visits.last(self.info.workspace)
            if since is not None:
                notices.was_away(since, self.clock())
        ring = notices.take_ring()
        call = call_of(self._notify, ring, only_ascii=self.looks.ascii) if ring else ""
        if call and self._driver is not None and not self.is_headless:
            self._driver.write(call)
        if notices.waits and isinstance(screen, ViewScreen) and screen.is_mounted and not screen.telling:
            screen.news(notices.take_told(screen.key("notices")))
            screen.show()

    # Actions of the whole console

    def action_choose_theme(self) -> None:
        """Choose a theme; each is shown as it is moved to, and the chosen one is remembered."""
        self._themes.choose()

    def show_theme(self, name: str) -> None:
        """Show a theme from now on."""
        self._themes.show(name)

    async def look_at_themes(self) -> None:
        """Show what changed in the files of the themes."""
        await self._themes.look()

    def action_find_action(self) -> None:
        """Find an action of this view by its name."""
        from nodus_tui.screens.palette import Palette  # noqa: PLC0415 - dialogs are loaded with the first

        screen = self.screen
        if not isinstance(screen, ViewScreen):
            return

        def chosen(action_id: str | None) -> None:
            if action_id is not None:
                screen.run_action_id(action_id)

        self.push_screen(Palette(screen.VIEW, self.clock, self.situation()), chosen)

    def action_jump(self) -> None:
        """Go to a view by its name."""
        from nodus_tui.screens.palette import JumpDialog  # noqa: PLC0415 - dialogs are loaded with the first

        screen = self.screen
        if not isinstance(screen, ViewScreen):
            return

        def chosen(action_id: str | None) -> None:
            if action_id is not None:
                screen.run_action_id(action_id)

        self.push_screen(JumpDialog(screen.VIEW, self.clock, self.situation()), chosen)

    def action_go_to(self, name: str) -> None:
        """Go to a view by its name: back to it where it lies below the one that is open, so that the way back never grows in a circle."""
        entry = destination(name)
        if entry is None:
            return
        below = [screen for screen in self.screen_stack if isinstance(screen, ViewScreen) and screen.VIEW is entry.view]
        left, there = self.screen, below[-1] if below else make_screen(entry, self.services)
        if isinstance(left, ViewScreen):
            there.came_from(left)
        if not below:
            self.push_screen(there)
            return
        while self.screen is not there:
            self.pop_screen()

    def action_launch(self) -> None:
        """Choose a spec file, show its estimate."""
        from nodus_tui.screens.launch import LaunchDialog  # noqa: PLC0415 - dialogs are loaded with the first

        def chosen(path: str | None) -> None:
            if path is not None:
                self.show_estimate(path)

        self.push_screen(LaunchDialog(self.services.folder, self.clock), chosen)

    def show_estimate(self, path: str) -> None:
        """Show what a spec file may cost, from where it is launched."""
        from nodus_tui.screens.launch import EstimateScreen  # noqa: PLC0415 - a view is loaded when it is first opened

        self.push_screen(EstimateScreen(self.services, path, self._launched))

    def _launched(self, target: "Target | None", told: str) -> None:
        if target is not None:
            views = {"Sweep": View.SWEEP, "Sandbox": View.SANDBOX, "Job": View.JOB, "TrainingJob": View.JOB}
            screen = screen_of(views.get(target.kind, View.GROUP), self.services, target.name)
            screen.first_notice = told
            self.push_screen(screen)
        elif isinstance(self.screen, ViewScreen):
            self.screen.notice(told, Tone.GOOD)

    @cached_property
    def leaving(self) -> "Leaving":
        """How this console is left."""
        from nodus_tui.screens.leaving import Leaving  # noqa: PLC0415 - what only the end needs

        return Leaving(self, self.services, self.work, self._data_came, starts_anew=self.starts_anew)

    def action_leave(self) -> None:
        """Leave, after a question where work would stop."""
        self.leaving.ask()

    def _handle_exception(self, error: Exception) -> None:
        """The one door of what nobody expected: the screen ends and gives the terminal back; who opened the console tells of it."""
        if self._exit and self.failure is None:
            # It ends as it was told to: a view that was being opened then is never built up, and what it misses is no fault.
            _log.warning("while the console ended: %s", error, exc_info=error)
            return
        if self.failure is None:
            self.failure = error.error if isinstance(error, WorkerFailed) and isinstance(error.error, Exception) else error
        if self.is_headless:
            # A test sees the failure itself.
            super()._handle_exception(error)
        else:
            self.exit(return_code=1)

    def ended_by(self, number: int) -> None:
        """A signal ends the screen: the terminal is given back, then the work is stopped."""
        self.exit(128 + number, return_code=128 + number)


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
