"""One run: its facts, its conversation, its calls. How the conversation is read is in run_reading.py."""

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
from nodus_tui.screens.copying_text import copy_text
from nodus_tui.screens.files import save_files
from nodus_tui.screens.find_bar import FindBar
from nodus_tui.screens.outside import Role, open_outside
from nodus_tui.screens.run_facts import show_facts
from nodus_tui.screens.run_reading import ConversationReader
from nodus_tui.screens.services import Services
from nodus_tui.view_state.call_columns import no_reply_words
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.figures import clock_text
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.run import RunState
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.transcript_text import conversation_text
from nodus_tui.view_state.words import run_sign, unread
from nodus_tui.view_state.wrapping import clipped, wrapped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.lazy_pane import LazyPane
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

BESIDE_FROM = 130
"""From this width on the calls stand beside the conversation instead of below it."""
BOTH_FROM = 34
"""From this height on both halves are shown where they stand below each other; else the one with the keys."""
AGAIN_SECONDS = 5.0
"""After which a conversation that could not be read is asked for again."""
_FACT_LINES = 8
_FEW_FACT_LINES = 6
"""In a low terminal."""


class RunScreen(ViewScreen):
    """One run."""

    VIEW: ClassVar[View] = View.RUN
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.RUN)]
    DEFAULT_CSS = """
    RunScreen #facts { padding: 0 1; margin: 0 0 1 0; }
    RunScreen #halves { height: 1fr; layout: vertical; }
    RunScreen #talk { height: 2fr; padding: 0 1; }
    RunScreen #calls { height: 1fr; min-height: 4; border-top: solid $tone-track; }
    RunScreen.-one #facts { margin: 0; }
    RunScreen.-one #halves { border-top: solid $tone-track; }
    RunScreen.-one #calls { border-top: none; height: 1fr; }
    RunScreen.-one.-talk #calls { display: none; }
    RunScreen.-one.-calls #talk { display: none; }
    RunScreen.-beside #halves { layout: horizontal; }
    RunScreen.-beside #talk { width: 1fr; height: 1fr; }
    RunScreen.-beside #calls { width: 1fr; height: 1fr; border-top: none; border-left: solid $tone-track; }
    """

    def __init__(self, services: Services, group: GroupState, name: str) -> None:
        super().__init__(services)
        self.group = group
        self.state = RunState(name, self.key_offered)
        self.reader = ConversationReader(self, self.state.reading)
        self._problem = ""
        self._fetching = False

    def body(self) -> ComposeResult:
        """Facts, conversation, calls."""
        yield SpanBlock(widget_id="facts")
        with Container(id="halves"):
            yield LazyPane(widget_id="talk")
            yield LineTable(self.state.calls, self.services.now(), widget_id="calls")
        yield FindBar(self.reader.find)

    @property
    def calls(self) -> LineTable[CallRecord]:
        """The calls."""
        table: LineTable[CallRecord] = self.part("calls", LineTable)
        return table

    def on_mount(self) -> None:
        """Keys go to the conversation."""
        self.focus_home()

    def on_resize(self, event: Resize) -> None:
        """Room for both halves, beside or below each other?"""
        beside = event.size.width >= BESIDE_FROM
        self.set_class(beside, "-beside")
        self.set_class(not beside and event.size.height < BOTH_FROM, "-one")

    def focus_home(self) -> None:
        """Keys go to the conversation."""
        self._turn_to(calls=False)

    def _turn_to(self, *, calls: bool) -> None:
        self.set_class(calls, "-calls")
        self.set_class(not calls, "-talk")
        (self.calls if calls else self.reader.pane).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("campaigns", self.group.name, self.state.name)

    def names(self) -> tuple[str, ...]:
        """The run's alone: its group is known by it."""
        return (self.state.name,)

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
        place = self.group.rows.index_of(run.name)
        there = f"run {place + 1:,} of {len(self.group.rows):,}" if place is not None else ""
        calls = f"call {self.calls.place_text}" if len(self.state.calls) else ""
        raw = line(Span("raw", Tone.MARK)) if self.state.reading.raw else ()
        return (line(muted(task)), line(muted(there)), line(muted(calls)), raw)

    def moving(self) -> bool:
        """Its times move while it goes on."""
        return self.state.moving()

    def show_state(self) -> None:
        """Facts, conversation, calls; a newer transcript is asked for when something happened."""
        now = self.services.now()
        self.state.run = self.group.run(self.state.name)
        successor = self.group.successor(self.state.name)
        notional = self.group.group is not None and status_of(self.group.group).notional_price
        most = _FEW_FACT_LINES if self.has_class("-one") else _FACT_LINES
        self.part("facts", SpanBlock).show(
            lambda width: clipped(self.state.facts(width, now, successor=successor, notional=notional), width, most),
        )
        self._show_talk()
        self.calls.show_empty((line(muted(self._no_calls())),))
        self.calls.show(now)
        if self.state.wants_transcript() and not self._fetching:
            self._fetching = True
            self.run_worker(self._fetch(), exit_on_error=True)

    def _no_calls(self) -> str:
        """Why no call is listed: calls come with the conversation."""
        if self.state.transcript is None:
            return "Known with the conversation." if self._problem else "Reading the calls…"
        return "No model call yet." if self.state.moving() else "No model call."

    def _show_talk(self) -> None:
        pane = self.reader.pane
        pane.follow = self.state.moving()
        said = self.state.transcript is not None and bool(self.state.reading.parts) and not self._problem
        if not said or (self.state.run is None and self.group.loaded):
            self.reader.show_instead(wrapped(self._instead(), pane.text_width))
            return
        end = self.state.conversation_end(self.services.now())
        self.reader.show(wrapped((end,), pane.text_width) if end else ())

    def _instead(self) -> tuple[Line, ...]:
        """What stands where the conversation would be."""
        if self._problem:
            return self.unanswered() or (line(Span(f"! {unread('The conversation', self._problem, self.asked_again())}", Tone.BAD)),)
        if self.state.run is None and self.group.loaded:
            return (line(f"There is no run {self.state.name} any more. ", *self.hint("back", " goes back.")),)
        if self.state.transcript is None:
            return (line(muted("Reading the conversation…")),)
        now = self.services.now()
        end = self.state.conversation_end(now)
        return (*self.state.silence(), *((end,) if end else ()))

    async def _fetch(self) -> None:
        self.state.asked_for_transcript()
        try:
            known = self.state.turns_known
            self.state.take_transcript(await self.services.backend.transcript(self.state.name, from_turn=known), known)
            self._problem = ""
        except NodusError as error:
            self._problem = error.detail
            self.state.transcript_failed()
            self.set_timer(AGAIN_SECONDS, self.show)
        finally:
            self._fetching = False
        if not self._problem:
            self.show()
        else:
            self._show_talk()

    def reread(self) -> None:
        """The conversation is another one at another time."""
        self.state.begin_anew()
        self._problem = ""

    def on_text_pane_resized(self) -> None:
        """Wrap for the new width."""
        self._show_talk()

    def on_lazy_pane_scrolled(self) -> None:
        """Other parts are on the screen: what the keys can mean there may be something else."""
        self.show_keys()

    def on_find_bar_closed(self) -> None:
        """Keys go to the conversation again."""
        self.focus_home()

    # Actions

    def offer(self) -> Offer:
        """What Tab and Enter do from where the keys go now; an interrupted group goes on with a key."""
        interrupted = self.group.group is not None and status_of(self.group.group).phase is GroupPhase.INTERRUPTED
        calls = self.calls.has_focus
        run, reading = self.state.run, self.state.reading
        successor = self.group.successor(self.state.name)
        now = {
            "resume": interrupted,
            "hit_next": bool(reading.hits),
            "hit_before": bool(reading.hits),
            "previous": run is not None and run.spec.predecessor is not None,
            "next": successor is not None,
        }
        without = {
            "unfold": not reading.uses_tools,
            "turn_one": not (calls or self.reader.to_turn() is not None),
            "files": not self._has_files(),
        }
        words = {
            "switch": "to conversation" if calls else "to calls",
            "turn_one": "its reply" if calls else "unfold",
            "unfold": "fold all" if reading.whole else "unfold all",
            "raw": "Markdown" if reading.raw else "raw",
        }
        return Offer(
            now=frozenset(action for action, holds in now.items() if holds),
            without=frozenset(action for action, holds in without.items() if holds),
            words=words,
        )

    def subject(self) -> object:
        """The run."""
        return self.state.run

    def _has_files(self) -> bool:
        box = run_status(self.state.run).sandbox if self.state.run is not None else None
        return box is not None and (box.files_kept or box.running)

    def on_descendant_focus(self) -> None:
        """Tab leads elsewhere now."""
        self.show()

    def do_switch(self) -> None:
        """The other half."""
        self._turn_to(calls=not self.calls.has_focus)

    def do_turn_one(self) -> None:
        """Fold or unfold the marked tool call; from a call, go to its reply."""
        if not self.calls.has_focus:
            self.reader.turn_one()
        elif (call := self.calls.cursor_item) is not None:
            if (reply := self.reader.reply_to(call.number)) is None:
                self.notice(no_reply_words(call), Tone.WARN)
            else:
                self._turn_to(calls=False)
                self.reader.go_to_reply(reply)

    def on_line_table_row_opened(self) -> None:
        """A click on the chosen call."""
        self.do_turn_one()

    def action_turn_part(self, key: str) -> None:
        """A click on a tool call's line."""
        self.reader.turn_part(key)

    def do_unfold(self) -> None:
        """Show tool calls and results whole, or folded; what is at the top stays there."""
        if not self.state.reading.uses_tools:
            self.notice("No tool was used in this conversation.", Tone.WARN)
            return
        self.reader.turn_all()
        self.show()

    def do_raw(self) -> None:
        """Messages as they were written, or as Markdown."""
        self.reader.turn_form()
        self.show()

    def do_find(self) -> None:
        """Type what is looked for."""
        self._turn_to(calls=False)
        self.query_one(FindBar).open()

    def do_hit_next(self) -> None:
        """The next place that was found."""
        self.reader.step_hit(1)

    def do_hit_before(self) -> None:
        """The one before."""
        self.reader.step_hit(-1)

    def do_part_next(self) -> None:
        """Mark the next part."""
        self._turn_to(calls=False)
        self.reader.step(1)

    def do_part_before(self) -> None:
        """Mark the one before."""
        self._turn_to(calls=False)
        self.reader.step(-1)

    async def do_facts(self) -> None:
        """All facts, with the limits that the agent gives its sandbox."""
        if (run := self._run()) is not None:
            await show_facts(self, run, self.state.transcript, self.group.successor(run.name))

    async def do_files(self) -> None:
        """List the files that the agent made, and save some."""
        if (run := self._run()) is None:
            return
        if run_status(run).sandbox is None:
            self.notice(f"{run.name} has no sandbox, so it has no files.", Tone.WARN)
            return
        await save_files(self, run.name)

    def do_copy(self) -> None:
        """Copy the marked part of the conversation, or the selected call."""
        if self.calls.has_focus:
            acting.copy_row(self, self.calls.row_texts())
        else:
            self.reader.copy_part()

    def do_copy_code(self) -> None:
        """Copy a block of code."""
        self.reader.copy_code()

    def do_copy_all(self) -> None:
        """Copy the conversation."""
        if text := self._conversation():
            copy_text(self, text, "the conversation")

    async def do_pager(self) -> None:
        """Read it in the person's pager."""
        await self._outside("pager")

    async def do_editor(self) -> None:
        """Open a copy in the person's editor."""
        await self._outside("editor")

    async def _outside(self, role: Role) -> None:
        if text := self._conversation():
            await open_outside(self, role, self.state.name, text)

    def _conversation(self) -> str:
        now = self.services.now()
        transcript = self.state.transcript
        text = conversation_text(transcript, moment=lambda moment: clock_text(moment, now)) if transcript is not None else ""
        if not text:
            self.notice("Nothing has been said yet.", Tone.WARN)
        return text

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
            self._go_to(run.spec.predecessor)

    def do_next(self) -> None:
        """The run that took this one's place."""
        successor = self.group.successor(self.state.name)
        if successor is None:
            self.notice("No run took this one's place.", Tone.WARN)
        else:
            self._go_to(successor.name)

    def do_run_next(self) -> None:
        """The next run of the group's table."""
        self._go_along(1)

    def do_run_before(self) -> None:
        """The one before."""
        self._go_along(-1)

    def _go_along(self, by: int) -> None:
        rows = self.group.rows
        place = rows.index_of(self.state.name)
        if place is None:
            self.notice("This run is not in the group's table: another attempt stands for its case, or a filter hides it.", Tone.WARN)
        elif not 0 <= place + by < len(rows):
            self.notice(
                "This is the last run of the group's table." if by > 0 else "This is the first run of the group's table.", Tone.WARN
            )
        else:
            self._go_to(rows.key_at(place + by))

    def _go_to(self, name: str) -> None:
        self.app.switch_screen(RunScreen(self.services, self.group, name))
