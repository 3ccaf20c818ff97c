"""All jobs, and the selected one in words."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.screens import acting, acting_many
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.result_ways import show_job_results
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.any_job import AnyJob
from nodus_tui.view_state.cells import Line, line, muted
from nodus_tui.view_state.jobs import job_facts
from nodus_tui.view_state.key_actions import View
from nodus_tui.widgets.key_bar import NOTHING_SPECIAL, Offer


class JobsScreen(TableScreen[AnyJob]):
    """All jobs."""

    VIEW: ClassVar[View] = View.JOBS
    ITEM: ClassVar[str] = "job"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.JOBS)]

    def __init__(self, services: Services) -> None:
        super().__init__(services, services.feed.jobs)
        self.state = services.feed.jobs

    def headline(self) -> Line:
        """How many are in which phase."""
        return self.state.summary()

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is, and who does the work."""
        return (*super().status_parts(), line(muted(self.services.whose_work())))

    def detail(self, item: AnyJob, width: int) -> Sequence[Line]:
        """The selected job in words."""
        return job_facts(item, self.services.now(), width)

    def nothing(self) -> tuple[Line, ...]:
        """How the first job comes about."""
        return (
            line("No jobs yet."),
            (),
            self.hint("launch", "  estimates a spec file and launches it"),
            line(muted("or, in a shell:  nodus-tui run -f FILE   with a Job in it")),
        )

    def offer(self) -> Offer:
        """Results of what is scored only."""
        return NOTHING_SPECIAL if isinstance(self.table.cursor_item, TrainingJob) else Offer(without=frozenset({"results"}))

    def open_item(self, item: AnyJob) -> None:
        """The job and its log."""
        self.app.push_screen(JobScreen(self.services, item.name))

    def do_results(self) -> None:
        """The scores of the selected TrainingJob."""
        show_job_results(self, self.table.cursor_item)

    async def do_kill(self) -> None:
        """Kill the selected job, or those that are picked."""
        if picked := self.picked():
            await acting_many.kill_jobs(self, picked)
        elif (job := self.selected()) is not None:
            await acting.kill_job(self, job)

    async def do_delete(self) -> None:
        """Delete the selected job, or those that are picked."""
        if items := self.meant():
            await acting_many.delete(self, items)

    async def do_retry(self) -> None:
        """Try the selected job again, or those that are picked."""
        if picked := self.picked():
            await acting_many.retry_jobs(self, picked)
        elif (job := self.selected()) is not None:
            await acting.retry_job(self, job)

    async def do_extend(self) -> None:
        """Give the selected job a higher cap, or those that are picked."""
        if picked := self.picked():
            await acting_many.extend_jobs(self, picked)
        elif (job := self.selected()) is not None:
            await acting.extend_job(self, job)
