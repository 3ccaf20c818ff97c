"""Two cells of a sweep beside each other, in lines: what each came to, and how they differ on the tasks that both answered."""

from datetime import datetime

from nodus_tui.contract.results import PairedDifference
from nodus_tui.contract.sweep_results import PooledCells
from nodus_tui.statistics.comparing import compared, difference_text, means_of_pool, solved_text
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.figures import short_usd
from nodus_tui.view_state.sweep_cells import CellNow, axes_words, outcome_forms, took_text


def _side(item: CellNow, now: datetime) -> tuple[Line, ...]:
    took = took_text(item, now)
    figures = joined((outcome_forms(item, now)[0], line(short_usd(item.cost(now))), line(muted(took)) if took else ()))
    return line(strong(item.name), muted(f"  {axes_words(item.cell)}")), line("  ", *figures)


def difference_lines(difference: PairedDifference) -> tuple[Line, ...]:
    """The difference with its error; who solved what; what two separate rates would have given; what was left out, and what to know."""
    lines = [line(f"{difference.first} − {difference.second}: ", strong(difference_text(difference)))]
    if difference.tasks:
        lines.append(line(f"{solved_text(difference)}."))
    if difference.unpaired_standard_error is not None:
        correlation = f", correlation {difference.correlation:.2f}" if difference.correlation is not None else ""
        lines.append(line(muted(f"Two separate rates would have an SE of {100 * difference.unpaired_standard_error:.1f}{correlation}.")))
    if difference.only_first or difference.only_second:
        lines.append(line(muted(f"Left out: {difference.only_first} and {difference.only_second} tasks that one alone answered.")))
    lines += [line(Span(note, Tone.WARN)) for note in difference.notes]
    return tuple(lines)


def comparison_lines(
    first: CellNow,
    second: CellNow,
    difference: PairedDifference | None,
    pools: tuple[PooledCells | None, PooledCells | None],
    now: datetime,
) -> tuple[Line, ...]:
    """All that the dialog says. `difference` is that of the two cells' tasks; None where they are no groups with tasks."""
    lines = [*_side(first, now), *_side(second, now), ()]
    if difference is None:
        return (*lines, *_scores(first, second))
    lines += difference_lines(difference)
    of_first, of_second = pools
    if of_first is not None and of_second is not None and of_first.axes != of_second.axes:
        together = compared(_pool_words(of_first), means_of_pool(of_first), _pool_words(of_second), means_of_pool(of_second))
        lines += [(), line(muted("With all their shards and repetitions taken together:")), *difference_lines(together)]
    return tuple(lines)


def _pool_words(pool: PooledCells) -> str:
    return ", ".join(f"{name} {value}" for name, value in pool.axes.items())


def _scores(first: CellNow, second: CellNow) -> tuple[Line, ...]:
    """Scores by the same name beside each other; jobs have none."""
    others = {(score.task, score.metric): score for score in second.scores}
    shared = [(score, others[score.task, score.metric]) for score in first.scores if (score.task, score.metric) in others]
    if not shared:
        return (line(muted("They have no tasks or scores to compare: jobs are compared by what they cost and how long they took.")),)
    return tuple(
        line(
            f"{one.task} {one.metric}: ",
            strong(f"{one.value:.4g}"),
            muted(" and "),
            strong(f"{other.value:.4g}"),
            muted(f", {one.value - other.value:+.4g}"),
        )
        for one, other in shared
    )
