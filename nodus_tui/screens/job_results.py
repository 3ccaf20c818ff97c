"""The results of one TrainingJob: its scores with their errors, the verdicts of an Environment's tasks, and where its outputs are."""

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import CaseState
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.exporting import export_job
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.statistics.scores import with_error
from nodus_tui.training_results import has_results, training_document
from nodus_tui.view_state.any_job import job_status
from nodus_tui.view_state.cells import Line, Tone, joined, line, muted
from nodus_tui.view_state.job_results import JobResultsState, JudgedTask, ScoreRow
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.result_cases import sign_of
from nodus_tui.view_state.words import job_sign
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

_HEAD_LINES = 8


class JobResultsScreen(TableScreen[Any]):
    """The results of one TrainingJob."""

    VIEW: ClassVar[View] = View.RESULTS
    ITEM: ClassVar[str] = "score"
    DETAIL_LINES: ClassVar[int] = 3
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.RESULTS)]
    DEFAULT_CSS = """
    JobResultsScreen #head { padding: 0 1; margin: 0 0 1 0; }
    JobResultsScreen.-short #head, JobResultsScreen.-short #detail { margin: 0; }
    """

    def __init__(self, services: Services, name: str) -> None:
        self.state = JobResultsState(name)
        super().__init__(services, self.state)
        self._problem = ""
        self._asked = False
        """Whether its results.json is, or was, asked for."""

    def _name_of(self, _table: LineTable[Any]) -> str:
        """Scores and verdicts have columns of their own, which are chosen by themselves."""
        return f"{self.VIEW.value}/{'judged' if self.state.judged else 'scores'}"

    def above(self) -> ComposeResult:
        """The figures."""
        yield SpanBlock(widget_id="head")

    def reread(self) -> None:
        """Ask for its results.json anew."""
        self._asked = False

    def _job(self) -> TrainingJob | None:
        job = self.services.feed.jobs.rows.find(self.state.name)
        return job if isinstance(job, TrainingJob) else None

    async def _ask(self, job: TrainingJob) -> None:
        try:
            document = await training_document(self.services.backend, job)
        except NodusError as error:
            self._problem = error.detail
        else:
            self._problem = ""
            self.state.take(document)
        self.show()

    # What is shown

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("jobs", self.state.name, "results")

    def headline(self) -> Line:
        """The phase."""
        job = self._job()
        return job_sign(job_status(job)).spans() if job is not None else ()

    def problem(self) -> str:
        """Why its results.json cannot be read."""
        return self.unread("Its results.json", self._problem, "opening the results again")

    def empty_lines(self) -> tuple[Line, ...]:
        """A job may be gone."""
        if self.services.feed.jobs.loaded and self._job() is None:
            return (line(f"There is no job {self.state.name} any more. ", *self.hint("back", " goes back.")),)
        return super().empty_lines()

    def nothing(self) -> tuple[Line, ...]:
        """Scores come at the end, or not at all."""
        job = self._job()
        if job is not None and job_status(job).ended:
            return (line("It has ended without scores. "), self.hint("open", " opens the job, whose log says why."))
        return (line("No scores yet: they come when the harness has ended. "), self.hint("open", " opens the job and its log."))

    def show_state(self) -> None:
        """The figures and the rows; its results.json is asked for once it is there."""
        job = self._job()
        self.state.look(job)
        if job is not None and not has_results(job):
            self._asked = False
        elif job is not None and not self._asked:
            self._asked = True
            self.run_worker(self._ask(job), exit_on_error=True)
        if self.table.rows is not self.state.rows:
            self.table.take(self.state.rows)
            self.table.choose_columns(self.services.tables.columns(self._name_of(self.table)))
        now, most = self.services.now(), min(_HEAD_LINES, self.size.height // 3)
        self.part("head", SpanBlock).show(
            lambda width: clipped((shown for each in self.state.head(now, self.key) for shown in clipped((each,), width, 2)), width, most)
        )
        super().show_state()

    def detail(self, item: Any, _width: int) -> Sequence[Line]:
        """The selected score, or verdict, in words."""
        if isinstance(item, ScoreRow):
            score = item.score
            return (line(score.task, muted(f" {score.metric} "), with_error(score), muted(f" · {score.samples:,} samples")),)
        if isinstance(item, JudgedTask):
            sign = sign_of(item.verdict, CaseState.UNSCORED)[1]
            return (joined((line(item.task_id), sign.spans(), line(item.message))),)
        return ()

    def offer(self) -> Offer:
        """Jobs are compared by the figures of their tables, not task by task; Enter leads to the job also where there are no scores."""
        return Offer(now=frozenset({"open"}), without=frozenset({"compare_groups"}))

    # Actions

    def do_open(self) -> None:
        """The job, its log and its outputs; also where there are no scores."""
        below = self.app.screen_stack[-2] if len(self.app.screen_stack) > 1 else None
        if isinstance(below, JobScreen) and below.job_name == self.state.name:
            self.app.pop_screen()
        else:
            self.app.push_screen(JobScreen(self.services, self.state.name))

    async def do_compare_groups(self) -> None:
        """Say how jobs are compared."""
        self.notice("Two TrainingJobs are compared in their sweep, or by their tables: their answers are no groups.", Tone.WARN)

    async def do_export(self) -> None:
        """Write the results to a file."""
        job = self._job()
        if job is None:
            self.notice(f"The job {self.state.name} is not there.", Tone.WARN)
            return
        await export_job(self, job, self.state.document)
