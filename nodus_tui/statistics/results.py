"""From the scored cases of a group to its pass rate, in one pass, for a backend that asks after every verdict. Pure."""

from collections.abc import Iterable

from msgspec import Struct

from nodus_tui.statistics.pass_rate import PassRateSummary, TaskCount, summary_of_counts


class ScoredCase(Struct, frozen=True):
    """One case with a verdict that counts: Correct, Incorrect or InvalidOutput. An unscored case must not become one."""

    task_id: str
    correct: bool
    """Whether the verdict is Correct."""
    reward: float


def summarise(cases: Iterable[ScoredCase], total: int) -> PassRateSummary:
    """The pass rate of the scored cases among `total`. Raises ValueError when more cases are scored than there are."""
    counts: dict[str, tuple[int, int]] = {}
    rewards: list[float] = []
    for case in cases:
        answers, correct = counts.get(case.task_id, (0, 0))
        counts[case.task_id] = answers + 1, correct + case.correct
        rewards.append(case.reward)
    return summary_of_counts((TaskCount(*count) for count in counts.values()), total=total, rewards=rewards)
