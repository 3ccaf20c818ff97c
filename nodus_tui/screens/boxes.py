"""All Sandboxes that people asked for, the selected one in words; below them those that runs, graders and jobs have."""

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.sandboxes import SandboxFact
from nodus_tui.screens import acting_many, box_acting
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.box import SandboxScreen
from nodus_tui.screens.going import go_to_job, go_to_run
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.boxes import box_facts
from nodus_tui.view_state.cells import Line, Tone, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.running_sandboxes import RunningSandboxes, fact_lines, purpose_word
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

LOOK_SECONDS = 2.0
"""How often the backend is asked for those of runs while this view is in front."""

_OTHER_LINES = 5
"""Crumbs, status, keys, and the margins of the detail."""
_OF_RUNS = frozenset({"episode", "grading"})
"""Purposes of those that are named after a run."""
_LEAST_ROWS = 4
"""Lines that either table keeps however long the other is: titles and three of them."""


class SandboxesScreen(TableScreen[Sandbox]):
    """Sandboxes of that kind above, those of runs below."""

    VIEW: ClassVar[View] = View.SANDBOXES
    ITEM: ClassVar[str] = "sandbox"
    DETAIL_LINES: ClassVar[int] = 4
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.SANDBOXES)]
    DEFAULT_CSS = """
    SandboxesScreen #others { border-top: solid $tone-track; }
    SandboxesScreen.-short #detail { margin: 0; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services, services.feed.boxes)
        self.state = services.feed.boxes
        self.running = RunningSandboxes()
        self._asking = False
        self._height: int | str = ""
        """Of the lower table."""

    def body(self) -> ComposeResult:
        """The table of the kind with its filter, the selected one in words, the others."""
        yield from super().body()
        yield LineTable(self.running.rows, self.services.now(), widget_id="others")

    @property
    def others(self) -> LineTable[SandboxFact]:
        """Those of runs, graders and jobs."""
        table: LineTable[SandboxFact] = self.part("others", LineTable)
        return table

    @property
    def active_table(self) -> LineTable[Any]:
        """The one that has the keys."""
        return self.others if self.others.has_focus else self.table

    def on_mount(self) -> None:
        """Ask at once, and again while this view is in front."""
        super().on_mount()
        self.set_interval(LOOK_SECONDS, self.look)
        self.look()

    def look(self) -> None:
        """Ask the backend, unless it has not answered yet or another view is in front."""
        if self._asking or self.app.screen is not self:
            return
        self._asking = True
        self.run_worker(self._ask(), exit_on_error=True)

    async def _ask(self) -> None:
        try:
            self.running.take(await self.services.backend.sandboxes())
        except NodusError as error:
            self.running.fail(error.detail)
        finally:
            self._asking = False
        self.show()

    def reread(self) -> None:
        """A recording stands elsewhere now."""
        self.look()

    def headline(self) -> Line:
        """How many are in which phase."""
        return self.state.summary()

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is, and who does the work."""
        if self.others.has_focus:
            place = line(muted(f"of a run {self.others.place_text}")) if len(self.others.rows) else ()
            return (place, line(muted(self.services.whose_work())))
        return (*super().status_parts(), line(muted(self.services.whose_work())))

    def moving(self) -> bool:
        """Costs, ends, and the ages of the others."""
        return super().moving() or len(self.running.rows) > 0

    def show_state(self) -> None:
        """Both tables."""
        super().show_state()
        self.others.show_empty((self.unanswered() if not self.running.looked else ()) or self.running.empty_lines())
        self.others.show(self.services.now())
        self._share_height()

    def _share_height(self) -> None:
        """The others take the lines that they need, as far as the kind's own keep some."""
        own = max(_LEAST_ROWS, min(len(self.table.rows) + 1, 8))
        room = self.size.height - _OTHER_LINES - self.DETAIL_LINES - own
        wanted = max(4, min(len(self.others.rows) + 2, room))
        if self._height != wanted:
            self._height = wanted
            self.others.styles.height = wanted

    def show_detail(self) -> None:
        """The selected one of the table that has the keys."""
        fact = self.others.cursor_item if self.others.has_focus else None
        if fact is None:
            super().show_detail()
            return
        lines = fact_lines(fact, self.services.now())
        self.part("detail", SpanBlock).show(lambda width: clipped(lines, width, self.DETAIL_LINES))

    def detail(self, item: Sandbox, width: int) -> Sequence[Line]:
        """The selected one in words."""
        return box_facts(item, self.services.now(), width)

    def nothing(self) -> tuple[Line, ...]:
        """How the first one comes about."""
        return (
            line("No sandboxes of your own yet."),
            (),
            self.hint("launch", "  estimates a spec file with a Sandbox in it, and launches it"),
            line(muted("or, in a shell:  nodus-tui run -f FILE   ·   nodus-tui exec NAME")),
        )

    def offer(self) -> Offer:
        """What the keys do where they go now."""
        others = frozenset() if len(self.others.rows) else frozenset({"halves"})
        if self.others.has_focus:
            fact = self.others.cursor_item
            leads = fact is not None and fact.mine and fact.purpose in {*_OF_RUNS, "job"}
            without = frozenset({"kill", "shell"}) | (frozenset() if leads else frozenset({"open"}))
            without |= {"pick"}
            words = {"halves": "to your own", "open": "to the job" if fact is not None and fact.purpose == "job" else "to the run"}
            return Offer(without=without, words=words)
        nothing = frozenset({"kill", "shell"}) if self.table.cursor_item is None else frozenset()
        return Offer(now=frozenset({"shell"}), without=nothing | others, words={"halves": "to those of runs"})

    def on_descendant_focus(self) -> None:
        """Tab leads elsewhere now."""
        self.show()

    def open_item(self, item: Sandbox) -> None:
        """All of it."""
        self.app.push_screen(SandboxScreen(self.services, item.name))

    # Actions

    def do_open(self) -> None:
        """Open the selected one, or the run or job that it is of."""
        fact = self.others.cursor_item if self.others.has_focus else None
        if fact is None:
            super().do_open()
        elif not fact.mine:
            self.notice(f"It belongs to {fact.workspace}.", Tone.WARN)
        elif fact.purpose == "job":
            go_to_job(self, fact.run)
        elif fact.purpose in _OF_RUNS:
            self.run_worker(go_to_run(self, fact.run), exit_on_error=True)
        else:
            self.notice(f"It is for a {purpose_word(fact)}, which has no view.", Tone.WARN)

    def do_halves(self) -> None:
        """The other table."""
        (self.table if self.others.has_focus else self.others).focus()

    async def do_shell(self) -> None:
        """Open a shell in the selected one."""
        if (box := self._own()) is not None:
            await box_acting.open_shell(self, box)

    async def do_kill(self) -> None:
        """Stop the selected one, or those that are picked."""
        picked = () if self.others.has_focus else self.picked()
        if picked:
            await acting_many.kill_boxes(self, picked)
        elif (box := self._own()) is not None:
            await box_acting.kill_box(self, box)

    async def do_delete(self) -> None:
        """Delete the selected one, or those that are picked."""
        if self.others.has_focus:
            self.notice("This one is a run's: its records go with the run's group.", Tone.WARN)
        elif items := self.meant():
            await acting_many.delete(self, items)

    def _own(self) -> Sandbox | None:
        if self.others.has_focus:
            self.notice("This one is a run's: kill the run, and it goes with it.", Tone.WARN)
            return None
        return self.selected()
