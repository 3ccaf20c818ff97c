"""Groups, and cells of a sweep, compared by each task's mean score. Pure; docs/statistics.md says why never by two headline numbers."""

from collections import defaultdict
from collections.abc import Callable, Mapping

from nodus_tui.contract.results import GroupResults, PairedDifference, SolvedTasks
from nodus_tui.contract.sweep_results import PooledCells, SweepResults
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


def solved(mean: float) -> bool:
    """Whether a task counts as solved: more than half of its scored answers are correct."""
    return mean > 0.5


def compared_groups(first: GroupResults, second: GroupResults) -> PairedDifference:
    """How one group differs from another, with what a reader should know of the two."""
    difference = compared(first.group, means_of_group(first), second.group, means_of_group(second))
    notes = (*difference.notes, *_grader_notes(first, second), *_group_notes((first, second)))
    return difference.model_copy(update={"notes": notes})


def compared_pools(results: SweepResults, name: Callable[[PooledCells], str]) -> tuple[PairedDifference, ...]:
    """How the first variant of a sweep differs from each other one; nothing where there are not two."""
    if len(results.pooled) < 2:
        return ()
    first, *others = results.pooled
    made = []
    for other in others:
        difference = compared(name(first), means_of_pool(first), name(other), means_of_pool(other))
        notes = (*difference.notes, *_pool_notes(first, name(first), results), *_pool_notes(other, name(other), results))
        made.append(difference.model_copy(update={"notes": notes}))
    return tuple(made)


def why_not_compared(results: SweepResults) -> str:
    """Why the variants of a sweep cannot be compared task by task, as a sentence without its subject; empty where they can."""
    kind = results.cells[0].kind if results.cells else ""
    if kind == "Job":
        return "its cells are Jobs, which have exit codes and outputs and no verdicts: `nodus-tui results` shows them beside each other"
    if kind == "TrainingJob":
        return "its cells are TrainingJobs, which tell figures of whole benchmarks: `nodus-tui results` shows them beside each other"
    if not results.pooled:
        return "its groups have no evaluation: their caller grades, and nothing of them is scored here"
    return (
        "" if len(results.pooled) > 1 else "it has one variant: its cells differ by shard or repetition only, and those are taken together"
    )


def _pool_notes(pool: PooledCells, name: str, results: SweepResults) -> tuple[str, ...]:
    """What is to be known of one variant before it is compared."""
    notes = []
    mine = [cell for cell in results.cells if cell.name in set(pool.cells)]
    coverage = pool.rate.coverage
    if coverage.scored < coverage.total:
        rest = "the others count nowhere" if all(cell.phase.ended for cell in mine) else "figures may still change"
        notes.append(f"{name}: {coverage.scored} of {coverage.total} cases are scored; {rest}.")
    if any(cell.simulated for cell in mine):
        notes.append(f"{name} was answered by a simulated model: it says nothing about any real one.")
    return tuple(notes)


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
        solved=_solved(first_means, second_means, shared),
        notes=_task_notes(first_means, second_means, shared),
    )


def _solved(first: Mapping[str, float], second: Mapping[str, float], shared: set[str]) -> SolvedTasks:
    by_first = {task for task in shared if solved(first[task])}
    by_second = {task for task in shared if solved(second[task])}
    return SolvedTasks(
        both=len(by_first & by_second),
        first_only=len(by_first - by_second),
        second_only=len(by_second - by_first),
        neither=len(shared - by_first - by_second),
    )


def _task_notes(first: Mapping[str, float], second: Mapping[str, float], shared: set[str]) -> tuple[str, ...]:
    if first and second and not shared:
        return ("They were asked different tasks, so their rates differ by the tasks' difficulty too.",)
    return ()


def _grader_notes(first: GroupResults, second: GroupResults) -> tuple[str, ...]:
    one, other = first.environment, second.environment
    if one is None or other is None or (one.name, one.version) == (other.name, other.version):
        return ()
    return (f"They were graded by two environments: {one.name}@{one.version} and {other.name}@{other.version}.",)


def _group_notes(both: tuple[GroupResults, GroupResults]) -> tuple[str, ...]:
    """What is to be known of each group before the two are compared; what holds of both is said once."""
    notes = []
    ungraded = [each.group for each in both if each.environment is None]
    if ungraded:
        notes.append(f"{_named(ungraded, 'has', 'have')} no grader: the caller grades, and nothing of it is scored here.")
    for each in both:
        if each.environment is not None and each.coverage.scored < each.coverage.total:
            rest = "the others count nowhere" if each.phase.ended else "figures may still change"
            notes.append(f"{each.group}: {each.coverage.scored} of {each.coverage.total} cases are scored; {rest}.")
    simulated = [each.group for each in both if each.simulated]
    if simulated:
        notes.append(f"{_named(simulated, 'was', 'were')} answered by a simulated model: that says nothing about any real one.")
    graders = ((each.group, each.environment.weaker_grader if each.environment is not None else "") for each in both)
    notes += [f"{name} has a weaker grader: {weaker}" for name, weaker in graders if weaker]
    return tuple(notes)


def _named(names: list[str], one: str, several: str) -> str:
    return f"{' and '.join(names)} {one if len(names) == 1 else several}"


def difference_text(difference: PairedDifference) -> str:
    """`+12.5 points ± 8.1 (SE 4.1) on 40 tasks that both answered`, or why there is no figure."""
    tasks = f"{difference.tasks} task{'s' if difference.tasks != 1 else ''} that both answered"
    if difference.difference is None or difference.ci95 is None or difference.standard_error is None:
        return f"no difference to tell: {tasks}, and it takes two"
    half = (difference.ci95[1] - difference.ci95[0]) / 2
    return f"{100 * difference.difference:+.1f} points ± {100 * half:.1f} (SE {100 * difference.standard_error:.1f}) on {tasks}"


def solved_text(difference: PairedDifference) -> str:
    """`30 solved by both, 6 by first alone, 1 by second alone, 3 by neither`."""
    counts = difference.solved
    alone = f"{counts.first_only} by {difference.first} alone, {counts.second_only} by {difference.second} alone"
    return f"{counts.both} solved by both, {alone}, {counts.neither} by neither"
