"""All spec files: those of the folder that the console was started in, and the examples; each is checked beside the screen."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.events import ScreenResume

from nodus_tui.authoring.checking import check
from nodus_tui.authoring.differences import difference_lines, differences
from nodus_tui.authoring.drafts import Drafts
from nodus_tui.authoring.finding import found_files
from nodus_tui.authoring.places import place_words
from nodus_tui.authoring.text_file import NO_FILE, NoFileError, Stamp, TextFileError, read_text, stamp_of
from nodus_tui.contract.errors import NodusError
from nodus_tui.screens import spec_opening
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.own_editor import edit_file
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.screens.text_dialog import TextDialog
from nodus_tui.values import replace
from nodus_tui.view_state.cells import Line, Tone, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.spec_files import SpecFiles, SpecRow, spec_facts
from nodus_tui.widgets.key_bar import NOTHING_SPECIAL, Offer


class SpecsScreen(TableScreen[SpecRow]):
    """The spec files."""

    VIEW: ClassVar[View] = View.SPECS
    ITEM: ClassVar[str] = "spec file"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.SPECS)]

    def __init__(self, services: Services) -> None:
        self.state = SpecFiles()
        super().__init__(services, self.state)
        self.drafts = Drafts(services.drafts)
        self._looking = False
        self._look_anew = False
        self._stamps: dict[str, Stamp] = {}
        """What each file was when it was checked: it is not checked again before it is another, or was opened from here."""
        self._before_new: frozenset[str] | None = None
        """The files that there were when a new one was begun here: it is the one to select when it is there."""

    def headline(self) -> Line:
        """How many there are, and how many ask for something."""
        return self.state.summary()

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is, and in which folder these are."""
        return (*super().status_parts(), line(muted(f"in {place_words(self.services.folder)}")))

    def offer(self) -> Offer:
        """Differences only where there are some."""
        item = self.table.cursor_item if self.stands else None
        differs = item is not None and item.standing in {"changed", "partly", "new"}
        return NOTHING_SPECIAL if differs else Offer(without=frozenset({"differences"}))

    def detail(self, item: SpecRow, width: int) -> Sequence[Line]:  # noqa: ARG002 - the lines are broken by who asks
        """The selected file in words."""
        return spec_facts(item, self.key)

    def nothing(self) -> tuple[Line, ...]:
        """How the first file comes about."""
        return (
            line(f"No spec files in {place_words(self.services.folder)}."),
            (),
            self.hint("new_spec", "  writes one: by a few questions, or from a beginning for its kind"),
            line(muted("or, in a shell:  nodus-tui schema   for an editor of your own")),
        )

    def on_screen_resume(self, _event: ScreenResume) -> None:
        """Files may be others by now."""
        self.look()

    # Looking

    @property
    def busy(self) -> bool:
        """Whether files are still to be looked at."""
        return self._looking

    def look(self) -> None:
        """Find the files and check each, beside the screen; asked for again meanwhile, it is done once more."""
        self._look_anew = True
        if not self._looking:
            self._looking = True
            self.run_worker(self._look(), exit_on_error=True)

    async def _look(self) -> None:
        try:
            while self._look_anew:
                self._look_anew = False
                rows = await asyncio.to_thread(self._rows)
                self.state.found(rows)
                self._select_new(rows)
                self.show()
                for row in rows:
                    await self._check(row)
        finally:
            self._looking = False

    def _select_new(self, rows: Sequence[SpecRow]) -> None:
        """The file that was begun here, once it is saved."""
        made = [row.path for row in rows if row.path not in self._before_new] if self._before_new is not None else []
        if made:
            self._before_new = None
            self.table.select(made[0])

    def _rows(self) -> list[SpecRow]:
        drafts = {draft.path for draft in self.drafts.unsaved()}
        rows = [
            SpecRow(str(each.path), each.shown, example=each.example, draft=each.path in drafts)
            for each in found_files(self.services.folder)
        ]
        known = {Path(row.path) for row in rows}
        # Where no file can be read, the draft is all that there is.
        rows += [SpecRow(str(path), path.name, draft=True) for path in sorted(drafts - known) if not _can_be_read(path)]
        return rows

    async def _check(self, row: SpecRow) -> None:
        try:
            stamp = await asyncio.to_thread(stamp_of, Path(row.path))
        except TextFileError:
            stamp = NO_FILE
        known = self.state.rows.find(row.path)
        if known is not None and known.checked and stamp.exists and self._stamps.get(row.path) == stamp:
            return
        self.state.put(await self._checked(row))
        self._stamps[row.path] = stamp
        self.show()

    async def _checked(self, row: SpecRow) -> SpecRow:
        path = Path(row.path)
        try:
            read = await asyncio.to_thread(read_text, path)
        except TextFileError as error:
            unsaved = row.draft and isinstance(error, NoFileError)
            return replace(row, checked=True, readable=False, problem="No file holds it." if unsaved else f"{error}.")
        found = await check(self.services.backend, path.name, read.data(read.text), path.parent, estimated=False)
        return replace(row, checked=True, identities=found.identities, faults=found.faults, outcomes=found.outcomes, problem=found.problem)

    # Actions

    def open_item(self, item: SpecRow) -> None:
        """Edit it."""
        self._before_new = None
        self._stamps.pop(item.path, None)
        self.run_worker(self._open(item), exit_on_error=True)

    async def _open(self, item: SpecRow) -> None:
        await spec_opening.open_file(self, Path(item.path), example=item.example)
        if self.is_current:
            # A draft may have been thrown away instead.
            self.look()

    def do_look_again(self) -> None:
        """Look at the files again, and check each."""
        self._stamps.clear()
        self.look()

    async def do_new_spec(self) -> None:
        """Write a new one."""
        self._before_new = frozenset(self.state.rows.keys())
        await spec_opening.new_spec(self)

    async def do_launch(self) -> None:
        """Estimate the selected file; without one, ask for a path."""
        item = self.table.cursor_item
        if item is None:
            await super().do_launch()
        else:
            self._stamps.pop(item.path, None)
            self.services.launch_file(item.path)

    async def do_differences(self) -> None:
        """Show what the selected file would change."""
        row = self.selected()
        if row is None:
            return
        path = Path(row.path)
        try:
            read = await asyncio.to_thread(read_text, path)
            found = await check(self.services.backend, path.name, read.data(read.text), path.parent, estimated=False)
            if found.bundle is None:
                self.notice("It has faults: mend them first, then it can be compared with what is applied.", Tone.WARN)
                return
            lines = difference_lines(await differences(self.services.backend, found.bundle))
        except (TextFileError, NodusError) as error:
            self.notice(f"! {error}", Tone.BAD)
            return
        self.app.push_screen(TextDialog(f"{row.shown} against what is applied", lines))

    async def do_own_editor(self) -> None:
        """Edit the selected file in the person's own editor."""
        row = self.selected()
        if row is not None:
            await edit_file(self, Path(row.path))
            self.look()


def _can_be_read(path: Path) -> bool:
    try:
        read_text(path)
    except TextFileError:
        return False
    return True
