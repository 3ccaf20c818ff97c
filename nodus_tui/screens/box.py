"""One Sandbox: all of it in words."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.copying import SandboxFiles
from nodus_tui.screens import box_acting
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.files import save_some
from nodus_tui.screens.services import Services
from nodus_tui.view_state.boxes import box_details, box_status
from nodus_tui.view_state.cells import Line, Tone, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.words import BOX_SIGNS
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.text_pane import TextPane


class SandboxScreen(ViewScreen):
    """One Sandbox."""

    VIEW: ClassVar[View] = View.SANDBOX
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.SANDBOX)]
    DEFAULT_CSS = """
    SandboxScreen #facts { padding: 0 1; }
    """

    def __init__(self, services: Services, name: str) -> None:
        super().__init__(services)
        self.box_name = name

    @property
    def box(self) -> Sandbox | None:
        """The Sandbox as it stands; None where there is none of that name (any more)."""
        return self.services.feed.boxes.rows.find(self.box_name)

    def body(self) -> ComposeResult:
        """Everything, in one text that scrolls."""
        yield TextPane(widget_id="facts")

    def on_mount(self) -> None:
        """Keys go to the text."""
        self.focus_home()

    def focus_home(self) -> None:
        """Keys go to the text."""
        self.part("facts", TextPane).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("sandboxes", self.box_name)

    def headline(self) -> Line:
        """The phase."""
        return BOX_SIGNS[box_status(self.box).phase].spans() if self.box is not None else ()

    def status_parts(self) -> tuple[Line, ...]:
        """Who does the work: with it the sandbox ends."""
        return (line(muted(self.services.whose_work())),)

    def moving(self) -> bool:
        """Its cost grows, and its end comes nearer, while it runs."""
        return self.box is not None and box_status(self.box).phase == "Running"

    def show_state(self) -> None:
        """Everything."""
        pane, box = self.part("facts", TextPane), self.box
        if box is not None:
            lines = box_details(box, self.services.now(), pane.text_width)
        elif self.services.feed.boxes.loaded:
            lines = (line(f"There is no sandbox {self.box_name} any more. ", *self.hint("back", " goes back.")),)
        else:
            lines = self.unanswered() or (line(muted("Asking the backend…")),)
        pane.show(wrapped(lines, pane.text_width))

    def on_text_pane_resized(self) -> None:
        """Wrap for the new width."""
        self.show_state()

    # Actions

    def offer(self) -> Offer:
        """A shell only while it runs, files only where there are some to be had."""
        box = self.box
        if box is None:
            return Offer(without=frozenset({"shell", "files", "kill"}))
        some = box_status(box).phase == "Running" or box_status(box).files_kept
        return Offer(without=frozenset() if some else frozenset({"files"}))

    def subject(self) -> object:
        """The sandbox."""
        return self.box

    def _there(self) -> Sandbox | None:
        if self.box is None:
            self.notice(f"The sandbox {self.box_name} is not there.", Tone.WARN)
        return self.box

    async def do_shell(self) -> None:
        """Open a shell in it."""
        if (box := self._there()) is not None:
            await box_acting.open_shell(self, box)

    async def do_kill(self) -> None:
        """Stop it."""
        if (box := self._there()) is not None:
            await box_acting.kill_box(self, box)

    async def do_files(self) -> None:
        """List its files, and save some."""
        if self._there() is not None:
            await save_some(self, SandboxFiles(self.services.backend), self.box_name)
