"""The scheduler: its facts, and its log, which follows as it grows."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.find_bar import FindBar
from nodus_tui.screens.services import Services
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.scheduler_log import LEVELS, SchedulerLogState, scheduler_lines
from nodus_tui.view_state.words import unread
from nodus_tui.view_state.wrapping import clipped, wrapped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_pane import TextPane

LOOK_SECONDS = 1.0
"""How often the backend is asked while this view is in front."""
_FACT_LINES = 5
_ABOVE_A_HIT = 2


class SchedulerLogScreen(ViewScreen):
    """The scheduler and its log."""

    VIEW: ClassVar[View] = View.LOG
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.LOG)]
    DEFAULT_CSS = """
    SchedulerLogScreen #facts { padding: 0 1; }
    SchedulerLogScreen #log { padding: 0 1; border-top: solid $tone-track; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.state = SchedulerLogState()
        self._asking = False
        self._at_hit = -1
        """Which of the lines that hold the words the person was led to."""

    def body(self) -> ComposeResult:
        """Facts, log, the line in which words are typed."""
        yield SpanBlock(widget_id="facts")
        yield TextPane(widget_id="log")
        yield FindBar(self._find)

    @property
    def pane(self) -> TextPane:
        """Where the log is shown."""
        return self.part("log", TextPane)

    def on_mount(self) -> None:
        """Ask at once, and again while this view is in front."""
        self.focus_home()
        self.set_interval(LOOK_SECONDS, self.look)
        self.look()

    def look(self) -> None:
        """Ask the backend, unless it has not answered yet or another view is in front."""
        if self._asking or self.app.screen is not self:
            return
        self._asking = True
        self.run_worker(self._ask(), exit_on_error=True)

    async def _ask(self) -> None:
        first = self.state.facts is None
        try:
            self.state.take(await self.services.backend.scheduler_view(after=self.state.place))
        except NodusError as error:
            self.state.fail(error.detail)
        finally:
            self._asking = False
        self.show()
        if first:
            self.call_after_refresh(self.pane.action_to_end)

    def reread(self) -> None:
        """A recording stands elsewhere now."""
        self.look()

    def focus_home(self) -> None:
        """Keys go to the log."""
        self.pane.focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("log",)

    def headline(self) -> Line:
        """Who does the work."""
        return line(muted(self.services.whose_work()))

    def status_parts(self) -> tuple[Line, ...]:
        """Whether it follows, what is shown of it, and that what is shown is old."""
        problem = line(Span(f"! {self.state.problem}", Tone.WARN)) if self.state.problem and self.state.facts is not None else ()
        follows = "the log follows" if self.pane.at_end else f"{self.key('follow_log')} follows the log again"
        found = f"{len(self.state.hits)} found" if self.state.words else ""
        return (problem, line(muted(follows if self.state.total else "")), self.state.words_line(), line(muted(found)))

    def moving(self) -> bool:
        """How long it is up."""
        return self.state.facts is not None

    def show_state(self) -> None:
        """Facts and log."""
        now = self.services.now()
        self.part("facts", SpanBlock).show(lambda width: clipped(scheduler_lines(self.state, now), width, _FACT_LINES))
        self._show_log()

    def _show_log(self) -> None:
        pane = self.pane
        pane.follow = True
        pane.show(self.state.lines(pane.text_width) or wrapped(self._instead(), pane.text_width))

    def _instead(self) -> tuple[Line, ...]:
        """What stands where the log would be."""
        if (self.state.problem or self.state.facts is None) and (unanswered := self.unanswered()):
            return unanswered
        if self.state.problem:
            told = unread("The scheduler's log", self.state.problem, f"{self.key('back')} goes back.")
            return (line(Span(f"! {told}", Tone.BAD)),)
        if self.state.facts is None:
            return (line(muted("Asking the backend…")),)
        if self.state.log_problem:
            return (line(f"{self.state.log_problem[:1].upper()}{self.state.log_problem[1:]}."),)
        if self.state.total:
            return (
                line("No line passes. ", *self.hint("log_level", " shows other levels"), muted(", "), *self.hint("find", " other words")),
            )
        return (line(muted("Nothing is written yet.")),)

    def on_text_pane_resized(self) -> None:
        """Wrap for the new width."""
        self._show_log()

    def offer(self) -> Offer:
        """What is found can be gone to, and shown alone, only where something is looked for."""
        without = frozenset() if self.state.words else frozenset({"hit_next", "hit_before", "only_found"})
        words = {"log_level": LEVELS[(self.state.level + 1) % len(LEVELS)][1], "wrap": "cut" if self.state.wrap else "wrap"}
        words |= {"only_found": "all lines" if self.state.only else "only these"}
        return Offer(now=frozenset({"only_found"}) if self.state.words else frozenset(), without=without, words=words)

    # Actions

    def _find(self, words: str) -> Line:
        self.state.words, self._at_hit = words, -1
        if not words:
            self.state.only = False
        self._show_log()
        if not words:
            return ()
        if not self.state.hits:
            return line(Span("not found", Tone.WARN))
        self._go_to(len(self.state.hits) - 1)
        return line(muted(f"{len(self.state.hits)} line{'' if len(self.state.hits) == 1 else 's'}"))

    def _go_to(self, hit: int) -> None:
        self._at_hit = hit
        self.pane.scroll_to_line(max(0, self.state.hits[hit] - _ABOVE_A_HIT))

    def _step(self, by: int) -> None:
        if not self.state.hits:
            self.notice(f"Nothing is found: {self.key('find')} looks for words.", Tone.WARN)
            return
        self._go_to((self._at_hit + by) % len(self.state.hits))
        self.notice(f"line {self._at_hit + 1} of {len(self.state.hits)} that are found", Tone.MUTED)

    def on_find_bar_closed(self) -> None:
        """Keys go to the log again."""
        self.focus_home()
        self.show()

    def do_find(self) -> None:
        """Type words to find."""
        self.part("find", FindBar).open()

    def do_hit_next(self) -> None:
        """The next line that holds them."""
        self._step(1)

    def do_hit_before(self) -> None:
        """The one before."""
        self._step(-1)

    def do_only_found(self) -> None:
        """Only lines with the words, or all again."""
        if not self.state.words:
            self.notice(f"First {self.key('find')}, then the words that a line must hold.", Tone.WARN)
            return
        self.state.only = not self.state.only
        self._at_hit = -1
        self.show()

    def do_follow_log(self) -> None:
        """To the end, and along with it."""
        self.pane.action_to_end()
        self.show()

    def do_log_level(self) -> None:
        """Everything, warnings, errors."""
        self.state.level = (self.state.level + 1) % len(LEVELS)
        self._at_hit = -1
        self.show()
        self.call_after_refresh(self.pane.action_to_end)

    def do_wrap(self) -> None:
        """Long lines broken, or cut."""
        self.state.wrap = not self.state.wrap
        self.show()
