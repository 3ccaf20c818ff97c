"""The editor of a spec: the text, its problems and its estimate as it is typed, completion, and nothing unsaved that gets lost.

Reading the text and asking the workspace go on beside the keys; what was found is told of the text as it was then.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Resize, ScreenResume
from textual.timer import Timer

from nodus_tui.authoring.checking import Checked, check, known_names
from nodus_tui.authoring.completion import NO_NAMES
from nodus_tui.authoring.drafts import DraftPlace
from nodus_tui.authoring.outline import Outline
from nodus_tui.authoring.text_file import ReadText, TextFileError, read_text
from nodus_tui.screens import spec_asking, spec_saving
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.own_editor import edit_file
from nodus_tui.screens.services import Services
from nodus_tui.screens.spec_about import LONG, About, about_at, about_lines, long_lines
from nodus_tui.screens.spec_keeping import Keeping
from nodus_tui.values import replace
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.proposals import Question, unsaved_question
from nodus_tui.view_state.spec_checks import cost_line, next_fault, problem_count, side_lines, standing_line
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.dialogs import ConfirmDialog, HelpOverlay
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.spec_text import SpecText
from nodus_tui.widgets.text_pane import TextPane

CHECK_SECONDS = 0.4
"""Without a key for so long, the text is checked."""
LONG_CHECK_SECONDS = 2.0
"""The same of a long text: reading it takes seconds, beside the keys but on the same processor."""
ABOUT_SECONDS = 0.1
"""Without a key for so long, what stands under the cursor is told."""
DRAFT_SECONDS = 1.0
"""After a change for so long, the text is written down as a draft."""
DISK_SECONDS = 2.0
"""How often the file is looked at."""
WIDE = 116
"""Columns from which on the estimate stands beside the text."""


class SpecEditor(ViewScreen):
    """Edits one file."""

    VIEW: ClassVar[View] = View.SPEC
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.SPEC)]
    DEFAULT_CSS = """
    SpecEditor #columns { height: 1fr; }
    SpecEditor #left { width: 1fr; height: 1fr; }
    SpecEditor #side { display: none; width: 46%; padding: 0 1; background: $surface; }
    SpecEditor.-wide #side { display: block; }
    SpecEditor #banner { background: $panel; }
    SpecEditor #about { background: $surface; padding: 0 1; min-height: 3; max-height: 3; }
    """

    def __init__(self, services: Services, path: Path, read: ReadText, text: str, place: DraftPlace, *, example: bool = False) -> None:
        """Raises ValueError for a text that cannot be shown; then `place` is still to be left."""
        super().__init__(services)
        self.editing = SpecText(text, widget_id="editing")
        self.file = Keeping(path, read, place, lambda: self.editing.true_text)
        self.example = example
        """It came with the program: it is saved elsewhere."""
        self.checked: Checked | None = None
        self.known = NO_NAMES
        """The names that the workspace has, for proposals."""
        self._outline: Outline | None = None
        self._about = About()
        self._pointed: tuple[int, int] | None = None
        """The place under the pointer of the mouse, until the cursor moves: what is told is about it then."""
        self.is_long = len(text) > LONG
        """Whether reading the text takes seconds: then less is told while it is typed."""
        self._side: tuple[object, tuple[Line, ...]] = (None, ())
        """What stands beside the text, and of what check, in what width: it is told anew with each key, and may be long."""
        self._waits: dict[str, Timer] = {}
        self.checking = False
        """Whether what is told is about to be of another text."""
        self._check_anew = False

    # What it is

    def body(self) -> ComposeResult:
        """The text, what is under the cursor, and beside them what it comes to."""
        yield SpanBlock(widget_id="banner")
        with Horizontal(id="columns"):
            with Vertical(id="left"):
                yield self.editing
                yield SpanBlock(widget_id="about", keep_height=True)
            yield TextPane(widget_id="side")

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("specs", self.file.path.name)

    def names(self) -> tuple[str, ...]:
        """The path of its file."""
        return (str(self.file.path),)

    def headline(self) -> Line:
        """Whether it is saved, and its problems."""
        unsaved = line(Span("● not saved", Tone.WARN))
        saved = unsaved if self.file.modified else line(muted("an example" if self.example else "saved"))
        if self.checked is None:
            return joined((saved, line(muted("checking…"))))
        return joined((saved, problem_count(self.checked.faults) if not self.checked.problem else line(Span("? not checked", Tone.WARN))))

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is, and what the text comes to."""
        row, column = self.editing.cursor_location
        place = line(muted(f"{row + 1}:{column + 1}"))
        if self.checked is None:
            return (place,)
        if self.checked.problem:
            return (place, line(Span(f"! {self.checked.problem}", Tone.WARN)))
        if self.checked.faults:
            return (place, line(*self.hint("next_problem", " goes to the next problem")))
        cost = (
            line(muted("not estimated"))
            if self.is_long and not self.checked.estimates
            else cost_line(self.checked.estimates, self.checked.basis)
        )
        return (place, standing_line(self.checked.outcomes), cost)

    def offer(self) -> Offer:
        """What would do something with the text as it stands."""
        found, without = self.checked, set()
        if not (self.file.modified or self.example or self.file.changed_outside):
            without.add("save_spec")
        if found is not None and not found.faults:
            without.add("next_problem")
        if found is not None and found.faults:
            without |= {"launch_spec", "differences"}
        return Offer(without=frozenset(without))

    def focus_home(self) -> None:
        """Keys go to the text."""
        self.editing.focus()

    @property
    def busy(self) -> bool:
        """Whether something is still to be told of what was typed last."""
        return self.checking or bool(self._waits)

    def unsaved(self) -> str:
        """The file's name, where it is."""
        return self.file.path.name if self.file.modified else ""

    async def asked_before_leaving(self) -> Question | None:
        """Whether to leave without saving, and what then becomes of the text."""
        return unsaved_question(self.unsaved(), await self.keep_draft()) if self.unsaved() else None

    # Life

    def on_mount(self) -> None:
        """Check what is there, and look at the file from now on."""
        self.focus_home()
        self.set_interval(DISK_SECONDS, self.look_at_disk)
        self.run_worker(self._ask_names(), exit_on_error=True)
        self.check_soon()
        self.tell_about()
        if self.file.shared:
            self.notice(
                "Another console has this file open, too: each keeps its own draft, and who saves second is asked first.", Tone.WARN
            )

    def on_unmount(self) -> None:
        """What is not saved is kept."""
        self.file.end()

    def on_screen_resume(self, _event: ScreenResume) -> None:
        """What is applied may be another by now."""
        self.check_soon()

    def on_resize(self, event: Resize) -> None:
        """The estimate stands beside the text where there is room."""
        self.set_class(event.size.width >= WIDE, "-wide")

    def on_text_pane_resized(self) -> None:
        """Fit the text to the width."""
        self.show_state()

    async def _ask_names(self) -> None:
        self.known = await known_names(self.services.backend)
        self.tell_about()

    def _repaint(self) -> None:
        super()._repaint()
        self.editing.repaint()

    def show(self) -> None:
        """Paint what changed; what is still told while the console ends has nowhere to go."""
        if self.app.is_running and self.is_attached and self.app.screen_stack:
            super().show()

    def show_state(self) -> None:
        """Marks, banner, what is beside the text."""
        faults = self.checked.faults if self.checked is not None else ()
        self.editing.mark({fault.line - 1: Tone.BAD for fault in faults if fault.line})
        self.part("banner", SpanBlock).show(lambda width: wrapped(self._banner(), width))
        self.part("about", SpanBlock).show(self._about_lines)
        if self.has_class("-wide"):
            side = self.part("side", TextPane)
            of = (self.checked, self.checking, side.text_width)
            if self._side[0] != of:
                self._side = (of, tuple(wrapped(self.side_lines(), side.text_width - 2)))
            side.show(self._side[1])

    def _banner(self) -> tuple[Line, ...]:
        if not self.file.changed_outside and not self.file.disk_problem:
            return ()
        save = partial(self.hint, "save_spec")
        if self.file.disk_problem:
            what, ways = self.file.disk_problem, save(" saves yours elsewhere")
        elif self.file.disk.exists:
            ways = (*self.hint("take_disk", " takes what is there  "), *save(" keeps yours, after a question"))
            what = f"{self.file.path.name} has changed on disk"
        else:
            what, ways = f"{self.file.path.name} is gone from the disk", save(" writes it again")
        return (line(Span(f" ! {what}; your text is not touched. ", Tone.WARN), *ways),)

    def side_lines(self) -> tuple[Line, ...]:
        """Everything that is known of the text."""
        if self.checked is None:
            return (line(muted("checking…")),)

        def key(action: str) -> str:
            return "the launch screen" if action == "minutes" else self.key(action)

        found = self.checked
        return side_lines(found.faults, found.outcomes, found.estimates, found.problem, checking=self.checking, key=key, basis=found.basis)

    def _about_lines(self, width: int) -> tuple[Line, ...]:
        row = (self._pointed or self.editing.cursor_location)[0] + 1
        here = next((fault for fault in self.checked.faults if fault.line == row), None) if self.checked is not None else None
        if self.is_long:
            return long_lines(here, line(*self.hint("estimate_spec", " estimates it")), width)
        return about_lines(self._about, here, line(*self.hint("complete", " ")), width)

    # What is typed

    def on_text_area_changed(self) -> None:
        """Check and keep it, a while later."""
        if not self.is_running:
            return
        self._outline = None
        if self.unsaved():
            self.past()
        self._soon("draft", DRAFT_SECONDS, self._settle_draft)
        self.check_soon()
        self._soon("about", ABOUT_SECONDS, self.tell_about)

    def on_text_area_selection_changed(self) -> None:
        """Another field is under the cursor."""
        self._pointed = None
        self.show()
        self._soon("about", ABOUT_SECONDS, self.tell_about)

    def on_spec_text_pointed(self, event: SpecText.Pointed) -> None:
        """Another field is under the pointer."""
        self._pointed = event.place
        self._soon("about", ABOUT_SECONDS, self.tell_about)

    def on_spec_text_refused(self, event: SpecText.Refused) -> None:
        """Something could not be put in."""
        self.notice(f"! {event.why}", Tone.WARN)

    def _soon(self, name: str, seconds: float, what: Callable[[], None]) -> None:
        timer = self._waits.pop(name, None)
        if timer is not None:
            timer.stop()

        def come() -> None:
            self._waits.pop(name, None)
            what()

        self._waits[name] = self.set_timer(seconds, come)

    def outline(self) -> Outline:
        """The fields of the text as it is."""
        if self._outline is None:
            self._outline = Outline(self.editing.document.lines)
        return self._outline

    def tell_about(self) -> None:
        """Tell what stands under the cursor, or under the pointer: there nothing can be typed."""
        if not self.stands:
            return
        about = About() if self.is_long else about_at(self.outline(), *(self._pointed or self.editing.cursor_location), self.known)
        self._about = replace(about, found=()) if self._pointed else about
        self.show()

    # Checking

    def check_soon(self) -> None:
        """Check the text when no key has come for a moment."""
        self._soon("check", LONG_CHECK_SECONDS if self.is_long else CHECK_SECONDS, self.check_now)

    def check_now(self) -> None:
        """Check it beside the keys; one check at a time, and one more where the text changed meanwhile."""
        self._check_anew = True
        if not self.checking:
            self.checking = True
            self.run_worker(self._check(), exit_on_error=True)

    async def _check(self) -> None:
        try:
            while self._check_anew:
                self._check_anew = False
                text = self.editing.true_text
                self.is_long = len(text) > LONG
                await self._check_text(text, estimated=not self.is_long)
        finally:
            self.checking = False
        self.show()

    async def _check_text(self, text: str, *, estimated: bool) -> None:
        data = await asyncio.to_thread(self.file.read.data, text)
        self.checked = await check(self.services.backend, self.file.path.name, data, self.file.path.parent, estimated=estimated)

    # Drafts and the disk

    def _settle_draft(self) -> None:
        self.run_worker(self._write_draft(), exit_on_error=True)

    async def keep_draft(self) -> str:
        """Write the draft now; gives why it could not be kept, empty where it was or need not be."""
        before, problem = self.file.draft_problem, await self.file.keep()
        if before and not problem and self.file.modified:
            self.notice("✓ What you typed is kept as a draft now.", Tone.GOOD)
        return problem

    async def _write_draft(self) -> None:
        before, problem = self.file.draft_problem, await self.keep_draft()
        if problem and problem != before:
            self.notice(f"! What you type is kept nowhere until you save it: {problem}.", Tone.WARN)

    async def look_at_disk(self) -> None:
        """See what became of the file: it is taken as it is now where nothing was typed, and the text is kept where no file has it."""
        file = self.file
        if file.draft_problem:
            # There may be room for it again.
            self._settle_draft()
        if not await asyncio.to_thread(file.look):
            return
        if file.changed_outside and file.disk.exists and not file.disk_problem and not file.typed:
            await self._take_disk()
        if file.modified:
            self.past()
        self._settle_draft()
        self.show()

    async def _take_disk(self) -> None:
        try:
            read = await asyncio.to_thread(read_text, self.file.path)
            self.editing.show_text(read.text)
        except (TextFileError, ValueError) as error:
            self.notice(f"! {error}.", Tone.BAD)
            return
        self.file.now_is(self.file.path, read)
        self.notice(f"{self.file.path.name} was changed on disk: it is shown as it is there now.", Tone.INFO)

    # Actions

    async def do_complete(self) -> None:
        """Complete what is typed, or list what can stand here."""
        await spec_asking.complete(self)

    def do_next_problem(self) -> None:
        """Go to the next problem."""
        fault = next_fault(self.checked.faults if self.checked is not None else (), self.editing.cursor_location[0] + 1)
        if fault is None:
            faults = self.checked.faults if self.checked is not None else ()
            self.notice(f"! {faults[0].message}" if faults else "There is no problem.", Tone.BAD if faults else Tone.GOOD)
            return
        self.editing.move_cursor((fault.line - 1, max(0, fault.column - 1)), center=True)

    async def do_estimate_spec(self) -> None:
        """Show problems and estimate; of a long text it is made now."""
        if self.is_long and not self.checking:
            self.notice("estimating…", Tone.MUTED)
            await self._check_text(self.editing.true_text, estimated=True)
        spec_asking.show_side(self)

    async def do_differences(self) -> None:
        """Show what applying it would change."""
        await spec_asking.show_differences(self)

    async def do_template(self) -> None:
        """Put in a beginning for a kind."""
        await spec_asking.put_template(self)

    async def do_save_spec(self) -> None:
        """Save it."""
        await spec_saving.save(self)

    async def do_launch_spec(self) -> None:
        """Save it and show its estimate, from where it is launched."""
        if not (self.file.modified or self.file.changed_outside) or await spec_saving.save(self):
            self.services.launch_file(str(self.file.path))

    async def do_own_editor(self) -> None:
        """Edit the file elsewhere; what changed there is shown here."""
        if self.file.modified and not await spec_saving.save(self):
            return
        if await edit_file(self, self.file.path):
            await self.look_at_disk()

    async def do_take_disk(self) -> None:
        """Show the file as it is on disk; the text here goes, after a question."""
        await asyncio.to_thread(self.file.look)
        if self.file.disk_problem or not self.file.disk.exists:
            why = self.file.disk_problem or f"{self.file.path.name} is gone from the disk"
            self.notice(f"! {why}: there is nothing to take. Your text is still here.", Tone.WARN)
            return
        if self.file.typed:
            question = Question(
                f"Take {self.file.path.name} as it is on disk?",
                (line("What you typed and did not save goes; undo brings it back while the editor is open."),),
                "Take it",
            )
            if not await self.app.push_screen_wait(ConfirmDialog(question)):
                return
        await self._take_disk()
        await self.keep_draft()
        self.show()

    def do_spec_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpOverlay(self.VIEW, self.services.situation()))

    async def do_leave_spec(self) -> None:
        """Go back; ask where something is not saved."""
        if await spec_saving.may_leave(self):
            self.app.pop_screen()
