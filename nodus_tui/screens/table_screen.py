"""What views of rows have in common: the table, its filter, the selected row in words, and a sentence for every state without rows.

A view of this kind says what its rows are, what stands in the detail, and what to do where there are none; the rest is done here. It
knows no kind of resource.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol

from textual.app import ComposeResult

from nodus_tui.later import Later
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.filter_bar import FilterBar
from nodus_tui.screens.services import Services
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted, strong
from nodus_tui.view_state.columns import Item
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.key_actions import action_by_id, refusal
from nodus_tui.view_state.row_actions import ON_A_ROW, ON_MANY
from nodus_tui.view_state.rows import Rows, SortKey
from nodus_tui.view_state.undoing import Step
from nodus_tui.view_state.views import Trait, views_with
from nodus_tui.view_state.words import unread
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.line_table import PICKED, LineTable
from nodus_tui.widgets.span_block import SpanBlock

if TYPE_CHECKING:
    from nodus_tui.screens import acting
    from nodus_tui.view_state import availability
else:
    acting = Later("nodus_tui.screens.acting")
    availability = Later("nodus_tui.view_state.availability")


class RowsScreen(ViewScreen):
    """A view with at least one table: the keys of the trait `ROWS` work on the one that `active_table` gives."""

    @property
    def active_table(self) -> LineTable[Any]:
        """The table that keys and copying mean now."""
        raise NotImplementedError

    def on_line_table_cursor_moved(self) -> None:
        """Another row is selected."""
        self.show()

    def run_action_id(self, action_id: str) -> None:
        """Do an action; what it did to the order or to what is picked can be undone."""
        table = self.active_table
        order, picked = table.rows.order, table.picked_keys
        super().run_action_id(action_id)
        if action_id != "undo" and self.is_attached and self.active_table is table:
            if table.rows.order != order:
                self._did("the order of the rows", partial(table.order_by, order))
            if table.picked_keys != picked:
                self._did("what was picked", partial(table.pick_these, picked))

    def _did(self, what: str, put_back: Callable[[], None]) -> None:
        """One more thing of this view that can be undone here."""
        self.services.history.did(Step(what, back=partial(self._back, put_back), view=self))

    def _back(self, put_back: Callable[[], None]) -> bool:
        if not self.is_attached:
            return False
        put_back()
        self.show()
        return True

    def do_sort(self) -> None:
        """Sort by the next column."""
        self.active_table.sort_next()
        self.show()

    def do_reverse(self) -> None:
        """Turn the order round."""
        table = self.active_table
        table.order_by(tuple((key, not falls) for key, falls in table.rows.order))
        self.show()

    def do_sort_further(self) -> None:
        """Sort also by another column."""
        self.active_table.sort_further()
        self.show()

    def on_mount(self) -> None:
        """The columns that were chosen for these tables before, or in the configuration."""
        for table in self.query(LineTable):
            table.choose_columns(self.services.tables.columns(self._name_of(table)))

    def _name_of(self, table: LineTable[Any]) -> str:
        """Under which name the columns of a table are chosen: that of the view, for another than its first with its own behind."""
        return self.VIEW.value if table.id in {"rows", None} else f"{self.VIEW.value}/{table.id}"

    async def do_columns(self) -> None:
        """Choose which columns are shown, in which order, and by which the rows are sorted."""
        from nodus_tui.screens.columns_dialog import ColumnsDialog  # noqa: PLC0415 - dialogs are loaded with the first

        table = self.active_table
        name = self._name_of(table)

        def shown(keys: tuple[str, ...], order: tuple[SortKey, ...]) -> None:
            table.choose_columns(keys)
            table.order_by(order)

        dialog = ColumnsDialog(table.rows.columns, self.services.tables.columns(name), table.rows.order, self.services.now, shown)
        kept = await self.app.push_screen_wait(dialog)
        if kept is not None and kept != self.services.tables.columns(name):
            problem = self.services.tables.keep(name, kept)
            if problem:
                self.notice(f"These columns stay until the end only: {problem}.", Tone.WARN)
        self.show()

    def do_copy(self) -> None:
        """Copy the selected row."""
        acting.copy_row(self, self.active_table.row_texts())


class TableSource(Protocol[Item]):
    """The state behind a table: of a view in view_state/."""

    @property
    def rows(self) -> Rows[Item]:
        """What the table shows."""

    @property
    def loaded(self) -> bool:
        """Whether the backend has told of it: before, no rows mean nothing."""

    def filter(self, chosen: Filter | None) -> None:
        """Show the rows that a filter keeps, or all."""

    def moving(self) -> bool:
        """Whether something in the rows changes with the time alone."""


class TableScreen(RowsScreen, Generic[Item]):
    """One table of items, and the selected one in words below it."""

    ITEM: ClassVar[str]
    """What a row is called in sentences, such as `job`."""
    DETAIL_LINES: ClassVar[int] = 6
    """Lines that the selected item in words may take."""
    DEFAULT_CSS = """
    TableScreen #detail { padding: 0 1; margin: 1 0 0 0; }
    """

    def __init__(self, services: Services, source: TableSource[Item]) -> None:
        super().__init__(services)
        self.source = source
        self._filtered = ""
        """The filter that was kept last, as it was typed."""

    # What a view says of itself

    def above(self) -> ComposeResult:
        """What stands above the table."""
        yield from ()

    def detail(self, item: Item, width: int) -> Sequence[Line]:
        """The selected item in words."""
        raise NotImplementedError

    def nothing(self) -> tuple[Line, ...]:
        """What no items at all mean, and what to do."""
        raise NotImplementedError

    def problem(self) -> str:
        """Why the rows cannot be read (any more), and what to do; empty while they can."""
        return ""

    def unread(self, what: str, why: str, again: str) -> str:
        """A problem as a sentence with the way back, and what tries again; empty where there is none."""
        return unread(what, why, f"{self.key('back')} goes back; {again} tries again.") if why else ""

    def open_item(self, item: Item) -> None:
        """Enter, or a click on the selected row."""

    # What is the same for all

    def body(self) -> ComposeResult:
        """The table, the filter, the selected item in words."""
        yield from self.above()
        yield LineTable(self.source.rows, self.services.now(), widget_id="rows")
        yield FilterBar(self._filter, lambda: self.source.rows.fields)
        yield SpanBlock(widget_id="detail")

    @property
    def table(self) -> LineTable[Item]:
        """The rows."""
        table: LineTable[Item] = self.part("rows", LineTable)
        return table

    @property
    def active_table(self) -> LineTable[Any]:
        """The only one there is."""
        return self.table

    def on_mount(self) -> None:
        """Keys go to the table."""
        self.table.picks = self.VIEW in views_with(Trait.PICKS)
        self.focus_home()

    def on_unmount(self) -> None:
        """The next one to look sees all."""
        self.source.filter(None)

    def focus_home(self) -> None:
        """Keys go to the table."""
        self.table.focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return (self.VIEW.value,)

    def status_parts(self) -> tuple[Line, ...]:
        """What is picked, where the cursor is, and that what is shown is old. A filter that is kept stands in its own line."""
        problem = self.problem()
        return (
            line(Span(f"! {problem}", Tone.WARN)) if problem and len(self.source.rows) else (),
            self.picked_words(),
            line(muted(self.table.place_text)) if len(self.source.rows) else (),
        )

    def moving(self) -> bool:
        """What its state says."""
        return self.source.moving()

    def show_state(self) -> None:
        """The table and the selected item."""
        self.table.show_empty(self.empty_lines())
        self.table.show(self.services.now())
        self.show_detail()

    def show_detail(self) -> None:
        """The selected item in words; an empty line keeps its place."""
        item = self.table.cursor_item
        self.part("detail", SpanBlock).show(
            lambda width: clipped(self.detail(item, width), width, self.DETAIL_LINES) if item is not None else ((),)
        )

    def empty_lines(self) -> tuple[Line, ...]:
        """What stands in the table where it has no rows."""
        if not self.source.loaded and (unanswered := self.unanswered()):
            return unanswered
        problem = self.problem()
        if problem:
            return (line(Span(f"! {problem}", Tone.BAD)),)
        if not self.source.loaded:
            return (line(muted("Asking the backend…")),)
        if self.source.rows.total:
            return (line(f"No {self.ITEM} passes the filter. ", *self.hint(self._unfilters, " takes it away.")),)
        return self.nothing()

    def selected(self) -> Item | None:
        """The selected item; where there is none, that is told."""
        if self.table.cursor_item is None:
            self.notice(f"No {self.ITEM} is selected.", Tone.WARN)
        return self.table.cursor_item

    def picked_words(self) -> Line:
        """How many rows are picked, and the key that lets go of them; nothing where none is."""
        count = self.table.picked_count
        return (*line(strong(f"{PICKED} {count} picked"), " "), *self.hint("pick_none", " lets go")) if count else ()

    def subject(self) -> object:
        """The selected item; what is picked may be others than that, and stand otherwise."""
        table = self.active_table
        return None if table.picked_count else table.cursor_item

    def picked(self) -> tuple[Item, ...]:
        """What an action on many means; nothing where it means the selected one."""
        return self.table.picked_items()

    def meant(self) -> tuple[Item, ...]:
        """What an action on what is picked, or else on what is selected, is about; where it is about nothing, that is told."""
        if picked := self.picked():
            return picked
        selected = self.selected()
        return (selected,) if selected is not None else ()

    def offered(self) -> Offer:
        """What the view offers, and on how many where several are picked; a filter that is kept goes before the view does."""
        own, table = super().offered(), self.active_table
        if self.part("filter", FilterBar).active is not None:
            own = Offer(own.now, own.without, {**own.words, "back": "no filter"})
        else:
            own = Offer(own.now, own.without | {"unfilter"}, own.words)
        if refusal(action_by_id("kill"), self.services.situation()):
            # Rows are picked to be acted on, and for nothing else.
            own = Offer(own.now, own.without | {"pick"}, own.words)
        if not len(table.rows):
            # What a view says that matters now does something without a row as well.
            idle = (ON_A_ROW - own.now) | (frozenset() if table.rows.total else {"filter"})
            return Offer(own.now - idle, own.without | idle, own.words)
        if not table.picked_count:
            return own
        fits = availability.useful_to(self.picked())
        named = {action: f"{action} {count}" for action, count in fits.items()}
        # Other actions mean the selected row, whatever is picked.
        idle = (frozenset(ON_MANY) - fits.keys()) | (availability.useless(table.cursor_item) - frozenset(ON_MANY))
        return Offer((own.now | named.keys()) - idle, own.without | idle, {**own.words, **named})

    def _can_pick(self) -> bool:
        if not self.active_table.picks:
            self.notice("These rows are only looked at: none can be picked.", Tone.WARN)
        return self.active_table.picks

    def do_pick(self) -> None:
        """Pick the selected row, or let go of it."""
        if self._can_pick():
            self.table.pick()
            self.show()

    def do_pick_range(self) -> None:
        """Pick all rows from the one picked last to the selected one."""
        if self._can_pick():
            self.table.pick_range()
            self.show()

    def do_pick_all(self) -> None:
        """Pick all rows that the filter keeps."""
        if self._can_pick():
            self.table.pick_all()
            self.show()

    def do_pick_none(self) -> None:
        """Let go of all that is picked."""
        self.table.pick_none()
        self.show()

    def let_go(self, *names: str) -> None:
        """What was done with the picked rows is done: the next key means the selected one again, and what was refused stays picked."""
        if not self.is_attached:
            return
        left = self.table.picked_keys.difference(names)
        if left != self.table.picked_keys:
            self.table.pick_these(left)
            self.show()

    def on_line_table_row_opened(self) -> None:
        """A click on the selected row."""
        self.do_open()

    def on_filter_bar_closed(self) -> None:
        """Back to the rows; the filter that was there before can be had again."""
        bar = self.part("filter", FilterBar)
        before, self._filtered = self._filtered, bar.text
        if before != bar.text:
            self._did("the filter", partial(self._refilter, before))
        self.table.focus()
        self.show()

    @property
    def _unfilters(self) -> str:
        """The action that takes a kept filter away: where nothing lies below the view, it is one of its own."""
        return "unfilter" if self.VIEW in views_with(Trait.FIRST) else "back"

    def do_back(self) -> None:
        """Take away a filter that is kept; without one, go back to the view before."""
        if self.part("filter", FilterBar).active is None:
            super().do_back()
        else:
            self.do_unfilter()

    def do_unfilter(self) -> None:
        """Take away the filter that is kept."""
        self.part("filter", FilterBar).action_clear()

    def _filter(self, chosen: Filter | None) -> None:
        self.source.filter(chosen)
        self.show()

    def do_open(self) -> None:
        """Open the selected item; where there is none, what there is to be done instead is told once more."""
        item = self.table.cursor_item
        if item is not None:
            self.open_item(item)
        elif told := [each for each in self.empty_lines() if each]:
            self.tell(*told)

    def _refilter(self, text: str) -> None:
        self._filtered = text
        self.part("filter", FilterBar).put(text)

    def do_filter(self) -> None:
        """Type a filter."""
        self.part("filter", FilterBar).open()
