"""Launching: choose a spec file, see what it may cost or what is wrong with it, launch."""

import asyncio
import io
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import ClassVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from nodus_tui.authoring.checking import pace_of
from nodus_tui.authoring.finding import spec_paths
from nodus_tui.authoring.places import place_words
from nodus_tui.contract.errors import Fault, NodusError
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.checking import check_specs
from nodus_tui.contract.spec_loading.files import read_sources
from nodus_tui.contract.spec_loading.loader import ReadSpecs, read_specs
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.launch_check import Standing, Target, standing_of
from nodus_tui.screens.services import Services
from nodus_tui.statistics.case_pace import ASSUMED, CasePace
from nodus_tui.values import replace
from nodus_tui.view_state.cells import Line, Span, Tone, hint, line, muted, strong
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.estimates import estimate_lines, estimated_name, estimated_target, existing_lines, fault_count, fault_lines
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.dialogs import PromptDialog
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_entry import TextEntry
from nodus_tui.widgets.text_pane import TextPane

_MAX_SUGGESTIONS = 200


class SpecFile(Struct, frozen=True):
    """A file that looks like a spec."""

    path: str


def find_specs(folder: Path) -> tuple[SpecFile, ...]:
    """The spec files below a folder, of whatever kind, near ones first; what cannot be read is left out."""
    return tuple(SpecFile(str(path.relative_to(folder))) for path in islice(spec_paths(folder), _MAX_SUGGESTIONS))


_FILE_COLUMNS: tuple[Column[SpecFile], ...] = (
    Column("path", "SPEC FILES HERE", 20, lambda file, _now: line(file.path), lambda _file: None, grow=200),
)


class LaunchDialog(ModalScreen[str | None]):
    """Asks for the path of a spec file; those below the current folder are offered."""

    DIALOG_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("↑ ↓", "choose"),
        ("Tab", "take the path"),
        ("Enter", "estimate"),
        ("Esc", "cancel"),
    )
    AUTO_FOCUS = "Input"
    DEFAULT_CSS = """
    LaunchDialog LineTable { height: 8; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("tab", "take", show=False, priority=True),
    ]

    def __init__(self, folder: Path, now: Callable[[], datetime]) -> None:
        super().__init__()
        self.folder = folder
        self.now = now
        self.rows: Rows[SpecFile] = Rows(_FILE_COLUMNS, sort="path")
        self._looked = False
        """The folder was looked through."""

    def compose(self) -> ComposeResult:
        """Title, path, suggestions, help."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            entry = TextEntry(placeholder="a path, or a part of a name below", id="path")
            entry.cursor_blink = False
            yield entry
            yield LineTable(self.rows, self.now(), widget_id="files")
            yield SpanBlock(widget_id="problem")

    def on_mount(self) -> None:
        """Look for files beside the screen."""
        self.query_one("#text", SpanBlock).show(
            lambda _width: (line(Span("Launch a spec file", Tone.TITLE), muted("  nothing starts before you see its estimate")),)
        )
        self._say(
            (
                *hint("Enter", " estimates", "submit"),
                *line(muted("  "), Span("↑ ↓", Tone.KEY), muted(" choose  ")),
                *hint("Tab", " takes the path", "take"),
                muted("  "),
                *hint("Esc", " cancels", "cancel"),
            )
        )
        self.query_one(LineTable).show_empty((line(muted("Looking for spec files…")),))
        self.run_worker(self._look(), exit_on_error=True)

    def _say(self, what: Line) -> None:
        self.query_one("#problem", SpanBlock).show(lambda width: wrapped((what,), width))

    async def _look(self) -> None:
        for file in await asyncio.to_thread(find_specs, self.folder):
            self.rows.put(file.path, file)
        self._looked = True
        self._suggest(self.query_one(Input).value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """What is typed narrows the suggestions."""
        self._suggest(event.value)

    def _suggest(self, value: str) -> None:
        typed = value.strip().casefold()
        self.rows.keep_only((lambda file: typed in file.path.casefold()) if typed else None)
        table = self.query_one(LineTable)
        if self._looked:
            none = "No spec file here has that in its name." if typed else "No spec file here."
            then = "Enter takes what is typed as a path." if typed else "Type the path of one."
            table.show_empty((line(none), line(muted(then))))
        table.show(self.now())

    def _selected(self) -> str:
        table: LineTable[SpecFile] = self.query_one(LineTable)
        return table.cursor_item.path if table.cursor_item is not None else ""

    def action_move(self, by: int) -> None:
        """Choose a suggestion."""
        self.query_one(LineTable).action_move(by)

    def action_take(self) -> None:
        """Take the suggestion's path into the input."""
        if self._selected():
            entry = self.query_one(Input)
            entry.value = self._selected()
            entry.cursor_position = len(entry.value)

    def on_line_table_row_opened(self, event: LineTable.RowOpened) -> None:
        """A click on the chosen suggestion."""
        self.dismiss(str(self.folder / event.key))

    def on_input_submitted(self) -> None:
        """See action_submit."""
        self.action_submit()

    def action_submit(self) -> None:
        """The typed path where it names something, else the chosen suggestion."""
        typed = self.query_one(Input).value.strip()
        path = self.folder / Path(typed).expanduser() if typed else None
        if path is not None and path.exists():
            self.dismiss(str(path))
        elif self._selected():
            self.dismiss(str(self.folder / self._selected()))
        else:
            self._say(line(Span(f"! There is no file {typed}." if typed else "! Type the path of a spec file.", Tone.BAD)))

    def action_cancel(self) -> None:
        """Launch nothing."""
        self.dismiss(None)


class EstimateScreen(ViewScreen):
    """What a file's groups, sweeps and jobs may cost and how long they take, or every fault of it."""

    VIEW: ClassVar[View] = View.ESTIMATE
    asks = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.ESTIMATE)]
    DEFAULT_CSS = """
    EstimateScreen TextPane { padding: 1 2; }
    """

    def __init__(self, services: Services, path: str, launched: Callable[[Target | None, str], None]) -> None:
        super().__init__(services)
        self.path = path
        self.pace = ASSUMED
        """How long a case takes; until the person says it, as the workspace knows it."""
        self._launched = launched
        self._bundle: SpecBundle | None = None
        """What can be launched, or opened; None while there is a fault."""
        self._standing = Standing()
        self._estimates: tuple[Estimate | KindEstimate, ...] = ()
        self._faults: tuple[Fault, ...] = ()
        self._problem = ""
        self._working = "Reading and estimating…"

    def body(self) -> ComposeResult:
        """One scrolling text."""
        yield TextPane(widget_id="estimate")

    def focus_home(self) -> None:
        """Keys go to the text."""
        self.part("estimate", TextPane).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("specs", self._named(self.path), "estimate")

    def status_parts(self) -> tuple[Line, ...]:
        """What can be done."""
        if self._working:
            return (line(muted(self._working)),)
        if self._bundle is None or self._standing.refused:
            return (line(*self.hint("reload", " reads the file again"), "  ", *self.hint("leave", " goes back")),)
        if self._standing.opens:
            return (line(strong(self._standing.opens.name), " exists: ", *self.hint("start", " opens it, nothing is launched")),)
        made = [estimated_name(each) for each in self._estimates if estimated_target(each) not in self._standing.existing]
        return (line(*self.hint("start", " launches "), strong(", ".join(made))),) if made else ()

    def too_soon(self) -> None:
        """Say why the key did nothing."""
        if not (self._working or self._faults or self.telling):
            self.notice(f"{self.key('start')} was held down: read the estimate, then press it again.", Tone.WARN)

    def offer(self) -> Offer:
        """Enter is offered for what it does, and only where it does something."""
        if self._bundle is None:
            return Offer(without=frozenset({"start", "minutes"}))
        if self._standing.refused:
            return Offer(without=frozenset({"start"}))
        without = frozenset() if any(isinstance(each, Estimate) for each in self._estimates) else frozenset({"minutes"})
        word = "open it" if self._standing.opens else "launch" if self._standing.new else "apply"
        return Offer(without=without, words={"start": word})

    def on_mount(self) -> None:
        """Read and estimate."""
        self.focus_home()
        self.run_worker(self._estimate(), exit_on_error=True)

    async def _estimate(self) -> None:
        self._bundle, self._estimates, self._faults, self._problem = None, (), (), ""
        self._standing = Standing()
        self._working = "Reading and estimating…"
        self.show()
        try:
            read = await asyncio.to_thread(self._read)
            bundle = await check_specs(self.services.backend, read)
            if self.pace.basis != "chosen":
                self.pace = await pace_of(self.services.backend, bundle)
            self._estimates = await self.services.backend.estimate(bundle, minutes_per_case=self.pace.minutes)
            self._standing = await standing_of(self.services.backend, bundle)
            self._bundle = bundle
            if not self._estimates:
                self._problem = "There is nothing to run in this file: Enter applies its resources."
        except NodusError as error:
            self._faults, self._problem = error.faults, error.detail
        self._working = ""
        self.show()

    def _read(self) -> ReadSpecs:
        """The file, or the files of the folder; faults name them as this view does."""
        sources = read_sources((self.path,), io.BytesIO())
        return read_specs([replace(source, file=self._named(source.file)) for source in sources])

    def _named(self, path: str) -> str:
        return place_words(Path(path), self.services.folder)

    def show_state(self) -> None:
        """The text."""
        pane = self.part("estimate", TextPane)
        pane.show(wrapped(self._lines(), pane.text_width - 4))

    def on_text_pane_resized(self) -> None:
        """Fit the text to the width."""
        self.show_state()

    def _lines(self) -> list[Line]:
        if self._working:
            return [line(muted(self._working))]
        if self._faults:
            return [line(Span(fault_count(self._faults, self.key("reload")), Tone.WARN)), (), *fault_lines(self._faults)]
        lines: list[Line] = [line(Span(self._problem, Tone.WARN if self._bundle else Tone.BAD)), ()] if self._problem else []
        standing = existing_lines([target.name for target in self._standing.existing], self._standing.older)
        lines.extend((*standing, ()) if standing else ())
        for refused in self._standing.refused:
            lines.extend((line(Span(f"! {refused}.", Tone.BAD)), ()))
        for estimate in self._estimates:
            lines.extend((*estimate_lines(estimate, self.key, self.pace.basis), ()))
        if self._estimates:
            lines.append(line(muted("Ceilings, not forecasts: nothing ever spends more than its cap.")))
        return lines

    # Actions

    def do_leave(self) -> None:
        """Launch nothing."""
        self.app.pop_screen()

    async def do_reload(self) -> None:
        """Read the file again."""
        await self._estimate()

    async def do_minutes(self) -> None:
        """Estimate with other minutes a case, where there are cases."""
        if not any(isinstance(each, Estimate) for each in self._estimates):
            self.notice("Nothing in it is estimated by minutes a case.", Tone.WARN)
            return
        answer = await self.app.push_screen_wait(
            PromptDialog("Minutes that one case takes", (), value=f"{self.pace.minutes}", problem=minutes_problem),
        )
        if answer is not None:
            self.pace = CasePace(Decimal(answer[0].strip()), "chosen")
            await self._estimate()

    async def do_start(self) -> None:
        """Launch."""
        if self._bundle is None or self._working:
            self.notice(f"There is nothing to launch yet: mend the file and press {self.key('reload')}.", Tone.WARN)
            return
        if self._standing.refused:
            self.notice(f"{self._standing.refused[0]}.", Tone.WARN)
            return
        if self._standing.opens:
            self.app.pop_screen()
            self._launched(self._standing.opens, f"{self._standing.opens.name} exists already with this spec: nothing was launched.")
            return
        self._working = "Launching…"
        self.show()
        try:
            outcome = await self.services.backend.apply(self._bundle, author=self.services.author)
        except NodusError as error:
            self._faults, self._problem = error.faults, error.detail
            self._bundle, self._estimates = None, ()
            self._working = ""
            self.show()
            return
        made = self._standing.new
        done = "; ".join(f"{document.kind} {document.name} {document.outcome}" for document in outcome.documents)
        self.app.pop_screen()
        self._launched(made[0] if made else None, f"✓ {done}.")


def minutes_problem(text: str) -> str:
    """What is wrong with typed minutes; empty when nothing is."""
    try:
        minutes = Decimal(text.strip())
    except InvalidOperation:
        return "Type a number of minutes, such as 10 or 0.5."
    if not minutes.is_finite() or not 0 < minutes <= 1440:
        return "Minutes lie above 0 and at most at 1440."
    return ""
