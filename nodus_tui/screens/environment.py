"""One environment: its facts, and its tasks, which come page by page as they are read. No answer is ever asked for."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message

from nodus_tui.contract.errors import NodusError
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.environment_acting import gold_check
from nodus_tui.screens.services import Services
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.environment_tasks import PAGE, EnvironmentTasks
from nodus_tui.view_state.environments import SPLITS, EnvironmentRow, check_span, environment_facts
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.lazy_text import Piece
from nodus_tui.view_state.wrapping import clipped, wrapped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.lazy_pane import LazyPane
from nodus_tui.widgets.span_block import SpanBlock

_FACT_LINES = 9
_SHORT_FACT_LINES = 5


class _TaskPane(LazyPane):
    """A text that says when its end comes near."""

    class Near(Message):
        """More is wanted soon."""

    @property
    def near(self) -> bool:
        """Whether it does now."""
        return self.scroll_offset.y + 2 * self.size.height >= self.text.total

    def paint_changes(self) -> None:
        """Each time that is the moment to look."""
        super().paint_changes()
        if self.near:
            self.post_message(self.Near())


class EnvironmentScreen(ViewScreen):
    """One environment."""

    VIEW: ClassVar[View] = View.ENVIRONMENT
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.ENVIRONMENT)]
    DEFAULT_CSS = """
    EnvironmentScreen #facts { padding: 0 1; }
    EnvironmentScreen #tasks { padding: 0 1; border-top: solid $tone-track; }
    """

    def __init__(self, services: Services, name: str) -> None:
        super().__init__(services)
        self.environment_name = name
        self.tasks = EnvironmentTasks(SPLITS[-1])
        self._fetching = False

    @property
    def row(self) -> EnvironmentRow | None:
        """The environment as it stands; None where there is none of that name (any more)."""
        return self.services.environments.state.rows.find(self.environment_name)

    def body(self) -> ComposeResult:
        """Facts and tasks."""
        yield SpanBlock(widget_id="facts")
        yield _TaskPane(widget_id="tasks")

    def on_mount(self) -> None:
        """Keys go to the tasks, which are asked for now."""
        self.focus_home()
        self.run_worker(self._look(), exit_on_error=True)

    async def _look(self) -> None:
        if not self.services.environments.state.loaded:
            await self.services.environments.look()
        row = self.row
        if row is not None and row.splits and self.tasks.split not in row.splits:
            self.tasks = EnvironmentTasks(row.splits[-1])
        self.show()
        self.fetch()

    def focus_home(self) -> None:
        """Keys go to the tasks."""
        self.part("tasks", _TaskPane).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("environments", self.environment_name)

    def headline(self) -> Line:
        """How its last check came out."""
        row = self.row
        return line(check_span(row, self.services.now())) if row is not None and (row.check or row.checked) else ()

    def status_parts(self) -> tuple[Line, ...]:
        """How many tasks have come."""
        words = self.tasks.words() if self.tasks.loaded else ""
        return (line(muted(f"seed 0: {words}" if words else "")),)

    def moving(self) -> bool:
        """The age of its check."""
        return self.row is not None and self.row.checked is not None

    def show_state(self) -> None:
        """Facts and tasks."""
        row, now = self.row, self.services.now()
        most = _SHORT_FACT_LINES if self.has_class("-short") else _FACT_LINES
        if row is not None:
            self.part("facts", SpanBlock).show(lambda width: clipped(environment_facts(row, now, self.key_offered), width, most))
        elif self.services.environments.state.loaded:
            gone = line(f"There is no environment {self.environment_name} any more. ", *self.hint("back", " goes back."))
            self.part("facts", SpanBlock).show(lambda _width: (gone,))
        self._show_tasks()

    def _show_tasks(self) -> None:
        pane = self.part("tasks", _TaskPane)
        below: Line = ()
        if self.tasks.problem:
            below = line(Span(f"! The tasks cannot be read: {self.tasks.problem} ", Tone.BAD), *self.hint("split", " asks again."))
        elif self._fetching:
            below = line(muted("Making the tasks…" if not self.tasks.pieces else "More are on their way…"))
        elif self.tasks.loaded and not self.tasks.count:
            below = line(muted(f"The split {self.tasks.split} has no tasks."))
        elif self.tasks.loaded and not self.tasks.more:
            below = line(muted("These are all."))
        elif self.services.environments.state.problem and not self.tasks.loaded:
            below = line(Span(f"! {self.services.environments.state.problem}", Tone.BAD))
        end = [Piece("", lambda width: wrapped((below,), width), exact=1)] if below else []
        pane.show_pieces([*self.tasks.pieces, *end])

    def on__task_pane_near(self) -> None:
        """The reader comes to the end of what is there, unless more has come since that was said."""
        if self.part("tasks", _TaskPane).near:
            self.fetch()

    def fetch(self) -> None:
        """Ask for the next page, unless one is on its way, there is none, or the last one did not come."""
        row = self.row
        if self._fetching or row is None or row.problem or not self.tasks.more or self.tasks.problem:
            return
        self._fetching = True
        self._show_tasks()
        self.run_worker(self._fetch(row, self.tasks), exit_on_error=True)

    async def _fetch(self, row: EnvironmentRow, tasks: EnvironmentTasks) -> None:
        try:
            tasks.take(await self.services.backend.environment_tasks(row.reference, split=tasks.split, after=tasks.count, limit=PAGE))
        except NodusError as error:
            tasks.fail(error.detail)
        finally:
            self._fetching = False
        self.show()
        if tasks is not self.tasks:
            # Another split was chosen meanwhile.
            self.fetch()

    def on_text_pane_resized(self) -> None:
        """Wrap for the new width."""
        self._show_tasks()

    # Actions

    def offer(self) -> Offer:
        """Another split only where there is one."""
        row = self.row
        without = frozenset({"split"}) if row is None or len(row.splits) < 2 else frozenset()
        if row is None or row.problem:
            without |= {"gold_check"}
        return Offer(without=without, words={"gold_check": "end check"} if row is not None and row.check is not None else {})

    def do_split(self) -> None:
        """The tasks of the next split, or the same again where they did not come."""
        row = self.row
        splits = row.splits if row is not None and row.splits else (self.tasks.split,)
        at = splits.index(self.tasks.split) if self.tasks.split in splits else -1
        self.tasks = EnvironmentTasks(self.tasks.split if self.tasks.problem else splits[(at + 1) % len(splits)])
        self.part("tasks", _TaskPane).action_to_start()
        self.fetch()
        self.show()

    async def do_gold_check(self) -> None:
        """Check it, or end its check."""
        if (row := self.row) is not None:
            await gold_check(self, row)
