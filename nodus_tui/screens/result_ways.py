"""The way to the results of what is selected: of a group, of a TrainingJob. Light, for many views have this way."""

from collections.abc import Sequence

from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.any_job import AnyJob
from nodus_tui.view_state.cells import Tone

_NAMED = 3
"""Groups that a sentence names; more are too many for its line."""


def show_group_results(screen: ViewScreen, group: str) -> None:
    """Open the results of a group."""
    # Imported here: the results lead on to runs and groups, which have this way themselves.
    from nodus_tui.screens.results import ResultsScreen  # noqa: PLC0415

    screen.app.push_screen(ResultsScreen(screen.services, group))


async def compare_groups(screen: ViewScreen, names: Sequence[str]) -> None:
    """Compare the two groups of these names, or the one with another that is asked for; more than two are refused."""
    # Imported here: see above.
    from nodus_tui.screens.comparison import ComparisonScreen, compare_with_another  # noqa: PLC0415

    match names:
        case [name]:
            await compare_with_another(screen, name)
        case [first, second]:
            screen.app.push_screen(ComparisonScreen(screen.services, first, second))
        case [_, *_]:
            several = " ".join(names) if len(names) <= _NAMED else "NAME NAME NAME…"
            screen.notice(
                f"Two are compared at a time here, and {len(names)} are picked. In a shell:  nodus-tui compare {several}", Tone.WARN
            )


def show_job_results(screen: ViewScreen, job: AnyJob | None) -> None:
    """Open the results of a job that scores a model; a command has outputs instead, and that is told."""
    if job is None:
        screen.notice("No job is selected.", Tone.WARN)
    elif isinstance(job, TrainingJob):
        from nodus_tui.screens.job_results import JobResultsScreen  # noqa: PLC0415

        screen.app.push_screen(JobResultsScreen(screen.services, job.name))
    else:
        where = f"{screen.key('files')} in its view lists them"
        screen.notice(f"{job.name} is a command: what it came to is in its outputs; {where}.", Tone.WARN)
