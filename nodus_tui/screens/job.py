"""One job: its facts, and its log, which follows as it grows."""

import asyncio
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.screens import acting
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.files import save_outputs
from nodus_tui.screens.result_ways import show_job_results
from nodus_tui.screens.services import Services
from nodus_tui.view_state.any_job import AnyJob, job_status, score_lines
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.job_log import LogTail
from nodus_tui.view_state.jobs import job_facts
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.words import job_sign, unread
from nodus_tui.view_state.wrapping import clipped, wrapped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_pane import TextPane

_FACT_LINES = 8
_WAIT_SECONDS = 10.0
"""How long the backend is asked to wait for more of the log."""
_PAUSE_SECONDS = 2.0
"""Between two tries to read it, after one has failed."""
_REPAINT_SECONDS = 0.25
"""A log that floods is painted this often."""


class JobScreen(ViewScreen):
    """One job."""

    VIEW: ClassVar[View] = View.JOB
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.JOB)]
    DEFAULT_CSS = """
    JobScreen #facts { padding: 0 1; margin: 0 0 1 0; }
    JobScreen.-short #facts { margin: 0; }
    JobScreen #log { padding: 0 1; border-top: solid $tone-track; }
    """

    def __init__(self, services: Services, name: str) -> None:
        super().__init__(services)
        self.job_name = name
        self.tail = LogTail()
        self._problem = ""
        self._known = False
        """Whether the backend has told of the job: it may be launched a moment ago only."""

    @property
    def job(self) -> AnyJob | None:
        """The job as it stands; None where there is none of that name (any more)."""
        return self.services.feed.jobs.rows.find(self.job_name)

    def body(self) -> ComposeResult:
        """Facts and log."""
        yield SpanBlock(widget_id="facts")
        yield TextPane(widget_id="log")

    def on_mount(self) -> None:
        """Keys go to the log, which is read from now on."""
        self.focus_home()
        self.reread()

    def reread(self) -> None:
        """Read the log from its end on."""
        self.tail = LogTail()
        self.run_worker(self._read(self.tail), exclusive=True, group="log", exit_on_error=True)

    def focus_home(self) -> None:
        """Keys go to the log."""
        self.part("log", TextPane).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("jobs", self.job_name)

    def headline(self) -> Line:
        """The phase."""
        return job_sign(job_status(self.job)).spans() if self.job is not None else ()

    def status_parts(self) -> tuple[Line, ...]:
        """Whether the log goes on."""
        if self._problem:
            return (line(Span(f"! {unread('What follows', self._problem, self.asked_again())}", Tone.WARN)),) if self.tail.read else ()
        following = self.part("log", TextPane).at_end
        words = "the log has ended" if self.tail.ended else "the log follows" if following else f"{self.key('last')} follows the log again"
        return (line(muted(words)),)

    def moving(self) -> bool:
        """Its cost grows while it runs."""
        return self.job is not None and not job_status(self.job).ended

    def show_state(self) -> None:
        """Facts and log."""
        job, now = self.job, self.services.now()
        if job is None:
            gone = line(f"There is no job {self.job_name} any more. ", *self.hint("back", " goes back."))
            told = gone if self._known or self._problem else line(muted("The backend has not told of it yet…"))
            self.part("facts", SpanBlock).show(lambda _width: (told if self.services.feed.jobs.loaded else (),))
        else:
            self._known = True
            most = _FACT_LINES + len(score_lines(job))
            self.part("facts", SpanBlock).show(lambda width: clipped(job_facts(job, now, width), width, most))
        self._show_log()

    def _show_log(self) -> None:
        pane = self.part("log", TextPane)
        pane.follow = True
        lines = self.tail.lines(pane.text_width)
        if not lines and self._problem:
            lines = wrapped(
                self.unanswered() or (line(Span(f"! {unread('The log', self._problem, self.asked_again())}", Tone.BAD)),), pane.text_width
            )
        elif not lines:
            words = "Nothing was written." if self.tail.ended else "Nothing is written yet." if self.tail.read else "Reading the log…"
            lines = wrapped((line(muted(words)),), pane.text_width)
        pane.show(lines)

    async def _read(self, tail: LogTail) -> None:
        """Read the log to its end, as long as this view stands."""
        while not tail.ended:
            # What is there already, or that nothing is, is told without waiting for more.
            wait_seconds = _WAIT_SECONDS if tail.read else 0
            try:
                piece = await self.services.backend.job_log(self.job_name, after=tail.place, wait_seconds=wait_seconds)
            except NodusError as error:
                self._problem = error.detail
                self.show()
                if error.code is ErrorCode.NOT_FOUND:
                    return
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            first = not tail.read
            self._problem = ""
            if tail.take(piece):
                self.show()
                if first:
                    self.call_after_refresh(self.part("log", TextPane).action_to_end)
            await asyncio.sleep(_REPAINT_SECONDS)

    def on_text_pane_resized(self) -> None:
        """Wrap for the new width."""
        self._show_log()

    # Actions

    def offer(self) -> Offer:
        """Files only where some were kept, results only where something is scored, another attempt only where there can be one; what ended
        for its cap asks for a higher one.
        """
        job = self.job
        kept = job is not None and bool(job_status(job).outputs)
        without = {"files"} if not kept else set[str]()
        if not isinstance(job, TrainingJob):
            without.add("results")
        if job is None:
            without.add("retry")
        capped = job is not None and job_status(job).reason == "MaxCostReached"
        return Offer(now=frozenset({"extend"}) if capped else frozenset(), without=frozenset(without), words={})

    def subject(self) -> object:
        """The job."""
        return self.job

    def do_results(self) -> None:
        """The scores of a TrainingJob."""
        show_job_results(self, self.job)

    async def do_files(self) -> None:
        """List the outputs that were kept, and save some."""
        if self.job is None or not job_status(self.job).outputs:
            self.notice(f"{self.job_name} has kept no outputs (yet).", Tone.WARN)
            return
        await save_outputs(self, self.job_name)

    def _there(self) -> AnyJob | None:
        if self.job is None:
            self.notice(f"The job {self.job_name} is not there.", Tone.WARN)
        return self.job

    async def do_kill(self) -> None:
        """Kill this job."""
        if (job := self._there()) is not None:
            await acting.kill_job(self, job)

    async def do_retry(self) -> None:
        """Try this job again; its log goes on."""
        if (job := self._there()) is not None and await acting.retry_job(self, job):
            self.reread()

    async def do_extend(self) -> None:
        """Give this job a higher cap; where that begins another attempt, its log goes on."""
        if (job := self._there()) is not None and await acting.extend_job(self, job):
            self.reread()
