"""Pass rates on the screen: never without their error and their coverage, in words for a line and in short for a table's cell."""

from nodus_tui.contract.resources.agent_group import AgentGroupStatus
from nodus_tui.statistics.format import Rated, rate_text_of
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted, strong
from nodus_tui.view_state.figures import percent_text


def pass_rate_words(status: AgentGroupStatus) -> str:
    """`62.0% ± 9.5 (SE 4.9), 97/100 scored`."""
    return rate_text_of(status)


def pass_rate_cell(status: Rated) -> Line:
    """`62.0% ±9.5 97/100`: rate, half of the 95 % interval in points (its ends where it is not symmetric), scored of all cases."""
    coverage = muted(f"{status.coverage.scored}/{status.coverage.total}")
    if status.pass_rate is None:
        return line(muted("– "), coverage)
    rate = strong(percent_text(status.pass_rate))
    if status.ci95 is None:
        return line(rate, muted(" (no SE) "), coverage)
    low, high = status.ci95
    if abs((low + high) / 2 - status.pass_rate) < 0.0005:
        return line(rate, f" ±{100 * (high - low) / 2:.1f} ", coverage)
    return line(strong(percent_text(status.pass_rate, 0)), f" [{100 * low:.0f}–{100 * high:.0f}] ", coverage)


def shorter_pass_rate_cells(status: Rated) -> tuple[Line, ...]:
    """The same in fewer cells, whole points, longest first: neither the interval nor the coverage is ever left out."""
    coverage = muted(f"{status.coverage.scored}/{status.coverage.total}")
    if status.pass_rate is None:
        return ()
    rate = strong(percent_text(status.pass_rate, 0))
    if status.ci95 is None:
        return (line(rate, muted(" no SE "), coverage),)
    low, high = status.ci95
    ends = f"{100 * low:.0f}–{100 * high:.0f}"
    return (
        line(rate, f" [{ends}] ", coverage),
        line(strong(f"{100 * status.pass_rate:.0f}"), f"[{ends}] ", coverage),
        line(strong(f"{ends}%"), " ", coverage),
    )


def honesty_marks(*, simulated: bool, notional: bool, weaker_grader: bool = False) -> Line:
    """What a reader must know of every number of this group."""
    marks = (("simulated", simulated), ("notional price", notional), ("weaker grader", weaker_grader))
    words = [word for word, holds in marks if holds]
    return line(Span(" + ".join(words), Tone.MARK))
