"""The files that a run's agent made: a list to choose from, and where to save what was chosen."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.copying import CopyPlan, FileSource, JobFiles, clean_name, copy, plan_of
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.cells import Line, Span, Tone, hint, line, muted
from nodus_tui.view_state.files import FILE_COLUMNS, copied_words, size_text
from nodus_tui.view_state.rows import Rows
from nodus_tui.widgets.dialogs import PromptDialog, Switch
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

_KEPT = ("A file that is there already is kept.", "replaces it instead")
_REPLACED = ("Files that are there already are replaced.", "keeps them instead")


class FilesDialog(ModalScreen[str | None]):
    """Gives the path that was chosen; the empty one means everything."""

    DIALOG_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (("Enter", "save it"), ("a", "save all"), ("Esc", "cancel"))
    AUTO_FOCUS = "LineTable"
    DEFAULT_CSS = """
    FilesDialog LineTable { height: 12; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "cancel", show=False),
        Binding("enter", "take", show=False),
        Binding("a", "take_all", show=False),
    ]

    def __init__(self, run: str, entries: tuple[FileEntry, ...], now: Callable[[], datetime]) -> None:
        super().__init__()
        self.run_name = run
        self.entries = entries
        self.now = now
        self.rows: Rows[FileEntry] = Rows(FILE_COLUMNS, sort="path")
        for entry in entries:
            self.rows.put(entry.path, entry)

    def compose(self) -> ComposeResult:
        """Title, files, keys."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            yield LineTable(self.rows, self.now(), widget_id="files")
            yield SpanBlock(widget_id="problem")

    def on_mount(self) -> None:
        """Fill in the text."""
        files = [each for each in self.entries if each.kind == "file"]
        total = f"  {len(files):,} file{'s' if len(files) != 1 else ''}, {size_text(sum(each.size for each in files))}"
        title = line(Span(f"Files of {self.run_name}", Tone.TITLE), muted(total))
        self.query_one("#text", SpanBlock).show(lambda _width: (title,))
        gap = muted("  ")
        keys = (*hint("Enter", " saves it", "take"), gap, *hint("a", " saves all", "take_all"), gap, *hint("Esc", " cancels", "cancel"))
        self._say(keys)
        self.query_one(LineTable).show(self.now())

    def _say(self, what: Line) -> None:
        self.query_one("#problem", SpanBlock).show(lambda _width: (what,))

    def action_take(self) -> None:
        """Save the chosen one."""
        self._take(self.query_one(LineTable).cursor_key)

    def on_line_table_row_opened(self, event: LineTable.RowOpened) -> None:
        """A click on the chosen one."""
        self._take(event.key)

    def _take(self, path: str | None) -> None:
        entry = self.rows.find(path) if path is not None else None
        if entry is None:
            return
        if entry.kind == "link":
            self._say(line(Span("! A link is not followed: choose the file that it points to.", Tone.WARN)))
            return
        self.dismiss(entry.path)

    def action_take_all(self) -> None:
        """Save everything."""
        self.dismiss("")

    def action_cancel(self) -> None:
        """Save nothing."""
        self.dismiss(None)


async def save_outputs(screen: ViewScreen, job: str) -> None:
    """The same with the kept outputs of a job."""
    await save_some(screen, JobFiles(screen.services.backend), job)


async def save_files(screen: ViewScreen, run: str) -> None:
    """List a run's files, ask for one and for a place, and copy it there; nothing outside that place is written."""
    await save_some(screen, screen.services.backend, run)


async def save_some(screen: ViewScreen, source: FileSource, run: str) -> None:
    """The same with the files of whatever has some."""
    screen.notice("asked for the files…", Tone.MUTED)
    try:
        entries = await source.files(run)
    except NodusError as error:
        screen.notice(f"! {error.detail}", Tone.BAD)
        return
    if not entries:
        screen.notice(f"{run} has no files.", Tone.WARN)
        return
    screen.past()
    path = await screen.app.push_screen_wait(FilesDialog(run, entries, screen.services.now))
    if path is None:
        screen.notice("Nothing was saved.", Tone.MUTED)
        return
    answer = await screen.app.push_screen_wait(_place_dialog(screen, run, entries, path))
    if answer is None:
        screen.notice("Nothing was saved.", Tone.MUTED)
        return
    typed, replace = answer
    await _save(screen, source, run, plan_of(entries, run, path, _place(screen, typed)), replace=replace)


def _place(screen: ViewScreen, typed: str) -> Path:
    return screen.services.folder / Path(typed.strip()).expanduser()


def _place_dialog(screen: ViewScreen, run: str, entries: tuple[FileEntry, ...], path: str) -> PromptDialog:
    what = f"{path} of {run}" if path else f"all files of {run}"

    def problem(typed: str) -> str:
        if not typed.strip():
            return "Type where it goes: a new name, or a folder that is there."
        try:
            plan_of(entries, run, path, _place(screen, typed))
        except NodusError as error:
            return error.detail
        except (OSError, RuntimeError, ValueError) as error:
            return f"That is no place on this machine: {error}"
        return ""

    return PromptDialog(
        f"Save {what}",
        (line("A new name, or a folder that is there. It starts where the console was started, unless it begins with / or ~."),),
        value=clean_name(path.rpartition("/")[2] or run),
        problem=problem,
        switch=Switch(off=_KEPT, on=_REPLACED),
    )


async def _save(screen: ViewScreen, source: FileSource, run: str, plan: CopyPlan, *, replace: bool) -> None:
    screen.notice(f"saving {len(plan.files):,} of {run}…", Tone.MUTED)
    try:
        copied = await copy(source, run, plan, force=replace)
    except NodusError as error:
        screen.notice(
            f"! {error.detail.replace('; --force would replace it', '').replace('; --force replaces what is there', '')}", Tone.BAD
        )
        return
    tone = Tone.WARN if plan.left_out else Tone.GOOD
    screen.notice(copied_words(tuple(str(each) for each in copied.paths), copied.size, plan.left_out), tone)
