"""Groups, and cells of a sweep, compared by each task's mean score. Pure; docs/statistics.md says why never by two headline numbers."""

from collections import defaultdict
from collections.abc import Mapping

from nodus_tui.contract.results import GroupResults, PairedDifference
from nodus_tui.contract.sweep_results import PooledCells
from nodus_tui.statistics.paired import compare_paired, paired_interval


def means_of_group(results: GroupResults) -> dict[str, float]:
    """The mean of the scored answers to each task: 1 for a correct one, 0 for any other."""
    answers: dict[str, list[bool]] = defaultdict(list)
    for case in results.results:
        if case.verdict is not None:
            answers[case.task_id].append(case.verdict.value == "Correct")
    return {task: sum(each) / len(each) for task, each in answers.items()}


def means_of_pool(pool: PooledCells) -> dict[str, float]:
    """The same of cells taken together."""
    return {task.task_id: task.correct / task.answers for task in pool.tasks}


def compared(first: str, first_means: Mapping[str, float], second: str, second_means: Mapping[str, float]) -> PairedDifference:
    """How the first differs from the second on the tasks that both answered."""
    shared = first_means.keys() & second_means.keys()
    found = compare_paired(first_means, second_means) if len(shared) > 1 else None
    return PairedDifference(
        first=first,
        second=second,
        tasks=len(shared),
        difference=found.difference if found else None,
        standard_error=found.standard_error if found else None,
        ci95=paired_interval(found) if found else None,
        unpaired_standard_error=found.unpaired_standard_error if found else None,
        correlation=found.correlation if found else None,
        only_first=len(first_means.keys() - shared),
        only_second=len(second_means.keys() - shared),
    )


def difference_text(difference: PairedDifference) -> str:
    """`+12.5 points ± 8.1 (SE 4.1) on 40 tasks that both answered`, or why there is no figure."""
    tasks = f"{difference.tasks} task{'s' if difference.tasks != 1 else ''} that both answered"
    if difference.difference is None or difference.ci95 is None or difference.standard_error is None:
        return f"no difference to tell: {tasks}, and it takes two"
    half = (difference.ci95[1] - difference.ci95[0]) / 2
    return f"{100 * difference.difference:+.1f} points ± {100 * half:.1f} (SE {100 * difference.standard_error:.1f}) on {tasks}"
