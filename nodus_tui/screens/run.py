"""One run: its facts, its conversation, its calls."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Resize

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent_run import AgentRun, CallRecord
from nodus_tui.screens import acting
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.files import save_files
from nodus_tui.screens.services import Services
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Tone, line, muted
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.run import RunState
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.words import run_sign
from nodus_tui.view_state.wrapping import clipped, wrapped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_pane import TextPane

BESIDE_FROM = 130
"""From this width on the calls stand beside the conversation instead of below it."""
_FACT_LINES = 7


class RunScreen(ViewScreen):
    """One run."""

    VIEW: ClassVar[View] = View.RUN
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.RUN)]
    DEFAULT_CSS = """
    RunScreen #facts { padding: 0 1; margin: 0 0 1 0; }
    RunScreen #halves { height: 1fr; layout: vertical; }
    RunScreen #talk { height: 2fr; padding: 0 1; }
    RunScreen #calls { height: 1fr; min-height: 4; border-top: solid $tone-track; }
    RunScreen.-beside #halves { layout: horizontal; }
    RunScreen.-beside #talk { width: 1fr; height: 1fr; }
    RunScreen.-beside #calls { width: 1fr; height: 1fr; border-top: none; border-left: solid $tone-track; }
    """

    def __init__(self, services: Services, group: GroupState, name: str) -> None:
        super().__init__(services)
        self.group = group
        self.state = RunState(name, self.key)
        self._problem = ""
        self._fetching = False

    def body(self) -> ComposeResult:
        """Facts, conversation, calls."""
        yield SpanBlock(widget_id="facts")
        with Container(id="halves"):
            yield TextPane(widget_id="talk")
            yield LineTable(self.state.calls, self.services.now(), widget_id="calls")

    @property
    def calls(self) -> LineTable[CallRecord]:
        """The calls."""
        table: LineTable[CallRecord] = self.part("calls", LineTable)
        return table

    def on_mount(self) -> None:
        """Keys go to the conversation."""
        self.focus_home()

    def on_resize(self, event: Resize) -> None:
        """Wide enough for both halves beside each other?"""
        self.set_class(event.size.width >= BESIDE_FROM, "-beside")

    def focus_home(self) -> None:
        """Keys go to the conversation."""
        self.part("talk", TextPane).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("campaigns", self.group.name, self.state.name)

    def headline(self) -> Line:
        """The phase."""
        if self.state.run is None:
            return ()
        status = run_status(self.state.run)
        return run_sign(status.phase, status.reason).spans()

    def status_parts(self) -> tuple[Line, ...]:
        """The case, and where the cursor in the calls is."""
        run = self.state.run
        if run is None:
            return ()
        task = f"case {run.spec.case}, task {run.spec.task_id}, attempt {run.spec.attempt}"
        return (line(muted(task)), line(muted(f"call {self.calls.place_text}")) if len(self.state.calls) else ())

    def moving(self) -> bool:
        """Its times move while it goes on."""
        return self.state.moving()

    def show_state(self) -> None:
        """Facts, conversation, calls; a newer transcript is asked for when something happened."""
        now = self.services.now()
        self.state.run = self.group.run(self.state.name)
        successor = self.group.successor(self.state.name)
        notional = self.group.group is not None and status_of(self.group.group).notional_price
        self.part("facts", SpanBlock).show(
            lambda width: clipped(self.state.facts(width, now, successor=successor, notional=notional), width, _FACT_LINES),
        )
        self._show_talk()
        self.calls.show_empty((line(muted("No model call yet.")),))
        self.calls.show(now)
        if self.state.wants_transcript() and not self._fetching:
            self._fetching = True
            self.run_worker(self._fetch(), exit_on_error=True)

    def _show_talk(self) -> None:
        pane = self.part("talk", TextPane)
        pane.follow = self.state.moving()
        if self._problem:
            pane.show(wrapped((line(f"The conversation cannot be read: {self._problem}"),), pane.text_width))
            return
        if self.state.run is None and self.group.loaded:
            pane.show((line(f"There is no run {self.state.name} any more. ", *self.hint("back", " goes back.")),))
            return
        if self.state.transcript is None:
            pane.show((line(muted("Reading the conversation…")),))
            return
        lines = self.state.conversation(pane.text_width) or wrapped(self.state.silence(self.services.now()), pane.text_width)
        end = self.state.conversation_end(self.services.now())
        pane.show((*lines, *wrapped((end,), pane.text_width)) if end else lines)

    async def _fetch(self) -> None:
        self.state.asked_for_transcript()
        try:
            self.state.take_transcript(await self.services.backend.transcript(self.state.name))
            self._problem = ""
        except NodusError as error:
            self._problem = error.detail
            self.state.transcript_failed()
        finally:
            self._fetching = False
        if not self._problem:
            self.show()
        else:
            self._show_talk()

    def reread(self) -> None:
        """The conversation is another one at another time."""
        self.state.transcript_failed()
        self._problem = ""

    def on_text_pane_resized(self) -> None:
        """Wrap for the new width."""
        self._show_talk()

    # Actions

    def offer(self) -> Offer:
        """What Tab does from where the keys go now; an interrupted group goes on with a key."""
        interrupted = self.group.group is not None and status_of(self.group.group).phase is GroupPhase.INTERRUPTED
        other = "to calls" if self.part("talk", TextPane).has_focus else "to conversation"
        without = frozenset(action for action, holds in (("unfold", self.state.uses_tools), ("files", self._has_files())) if not holds)
        words = {"switch": other, **({"unfold": "fold"} if self.state.whole else {})}
        return Offer(now=frozenset({"resume"} if interrupted else ()), without=without, words=words)

    def _has_files(self) -> bool:
        box = run_status(self.state.run).sandbox if self.state.run is not None else None
        return box is not None and (box.files_kept or box.running)

    def on_descendant_focus(self) -> None:
        """Tab leads elsewhere now."""
        self.show()

    def do_switch(self) -> None:
        """The other half."""
        target = self.calls if self.part("talk", TextPane).has_focus else self.part("talk", TextPane)
        target.focus()

    def do_unfold(self) -> None:
        """Show tool calls and results whole, or folded; the turn at the top stays there."""
        if not self.state.uses_tools:
            self.notice("No tool was used in this conversation.", Tone.WARN)
            return
        pane = self.part("talk", TextPane)
        # The line below the first: where that is the empty one at the end of a turn, the eye is on the next.
        turn = self.state.turn_at(pane.scroll_offset.y + 1)
        self.state.whole = not self.state.whole
        self.show()
        pane.scroll_to_line(self.state.start_of(turn))

    async def do_files(self) -> None:
        """List the files that the agent made, and save some."""
        if (run := self._run()) is None:
            return
        if run_status(run).sandbox is None:
            self.notice(f"{run.name} has no sandbox, so it has no files.", Tone.WARN)
            return
        await save_files(self, run.name)

    def do_copy(self) -> None:
        """Copy the selected call."""
        acting.copy_row(self, self.calls.row_texts())

    def _run(self) -> AgentRun | None:
        if self.state.run is None:
            self.notice(f"The run {self.state.name} is not there.", Tone.WARN)
        return self.state.run

    async def do_kill(self) -> None:
        """Kill this run."""
        if (run := self._run()) is not None:
            await acting.kill_run(self, run)

    async def do_extend(self) -> None:
        """Give it a higher cap."""
        if (run := self._run()) is not None:
            successor = self.group.successor(run.name)
            await acting.extend_run(self, run, self.group.group, successor=successor.name if successor is not None else "")

    async def do_retry(self) -> None:
        """Run its case again."""
        if (run := self._run()) is not None:
            await acting.retry_run(self, run)

    async def do_resume(self) -> None:
        """Let its group go on."""
        if self.group.group is not None:
            await acting.resume_group(self, self.group.group)

    def do_previous(self) -> None:
        """The run whose place this one took."""
        run = self.state.run
        if run is None or run.spec.predecessor is None:
            self.notice("This run took nobody's place.", Tone.WARN)
        else:
            self.app.switch_screen(RunScreen(self.services, self.group, run.spec.predecessor))

    def do_next(self) -> None:
        """The run that took this one's place."""
        successor = self.group.successor(self.state.name)
        if successor is None:
            self.notice("No run took this one's place.", Tone.WARN)
        else:
            self.app.switch_screen(RunScreen(self.services, self.group, successor.name))
