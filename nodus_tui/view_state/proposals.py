"""What an action will do, in numbers, before a person says yes; and the new cap that is proposed to them."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from nodus_tui.contract.money import MAX_USD, display_usd, parse_usd, usd_text
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted, strong
from nodus_tui.view_state.run_columns import run_status

TYPE_COUNT_FROM = 10
"""Ending this many runs at once asks for their number to be typed, so that no slip of a finger does it."""


@dataclass(frozen=True)
class Question:
    """What a dialog asks."""

    title: str
    lines: tuple[Line, ...]
    go: str
    """The word on the button that does it."""
    typed: str = ""
    """What must be typed before it can be done; empty when nothing must."""


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"


def kill_group_question(group: AgentGroup) -> Question:
    """Ending a whole group."""
    status = status_of(group)
    lines = [
        line(strong(f"{status.pending} of {status.coverage.total} cases"), " have not ended; they stay unscored."),
        line(f"{_runs(status.going)} going: a call in flight is charged its worst case." if status.going else "No run is going."),
        line(f"{display_usd(status.money.reserved_usd)} of reserved caps is released."),
        line(muted(f"{status.coverage.scored} verdicts and {display_usd(status.money.model_usd)} of spend are kept.")),
    ]
    typed = str(status.pending) if status.pending >= TYPE_COUNT_FROM else ""
    return Question(f"Kill group {group.name}?", tuple(lines), f"Kill {status.pending}", typed)


def kill_run_question(run: AgentRun) -> Question:
    """Ending one run."""
    status = run_status(run)
    lines = [line("Its case stays unscored. ", strong(f"{display_usd(status.cost_usd)} is spent"), " and its transcript is kept.")]
    if status.in_flight_usd:
        lines.append(line(Span(f"The call in flight is charged its worst case, {display_usd(status.in_flight_usd)}.", Tone.WARN)))
    return Question(f"Kill run {run.name}?", tuple(lines), "Kill")


def quit_question(unfinished: tuple[AgentGroup, ...]) -> Question:
    """Leaving while this process runs the work."""
    going = sum(status_of(group).going for group in unfinished)
    names = ", ".join(group.name for group in unfinished[:3]) + (" and others" if len(unfinished) > 3 else "")
    lines = [
        line("This process runs the work of ", strong(names), "."),
        line(
            f"{_runs(going)} going: no new call starts; calls in flight get 10 seconds to end, then they are charged their worst case."
            if going
            else "No run is going now; what waits goes on waiting.",
        ),
        line(muted("Everything is kept; start the console again and press u to go on.")),
    ]
    return Question("Stop the work and quit?", tuple(lines), "Stop and quit")


def _round_up(amount: Decimal) -> Decimal:
    """Up to two significant digits, or to the cent from a dollar on."""
    digits = 2 if amount >= 1 else max(2, -amount.adjusted() + 1)
    return min(MAX_USD, amount.quantize(Decimal(1).scaleb(-min(9, digits)), rounding=ROUND_CEILING))


def proposed_cap(cap: Decimal, needed: Decimal | None) -> Decimal:
    """Twice the cap, or what the backend says is needed where that is more."""
    return _round_up(max(cap * 2, needed or cap))


def cap_problem(text: str, cap: Decimal) -> str:
    """What is wrong with a typed cap, as a sentence; empty when it can be asked for."""
    cleaned = text.strip().removeprefix("$")
    if not cleaned:
        return "Type the new cap in US dollars."
    try:
        amount = parse_usd(cleaned)
    except ValueError as error:
        return str(error)
    if amount <= cap:
        return f"The new cap must be above {display_usd(cap)}; a cap is only ever raised."
    return ""


def typed_cap(text: str) -> Decimal:
    """The amount of a text that `cap_problem` found nothing wrong with."""
    return parse_usd(text.strip().removeprefix("$"))


def cap_input(amount: Decimal) -> str:
    """A proposed cap as the text to edit."""
    return usd_text(amount)
