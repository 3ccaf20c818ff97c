"""What an action will do, in numbers, before a person says yes; and the new cap that is proposed to them."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from msgspec import Struct

from nodus_tui.contract.money import MAX_USD, display_usd, enough_text, enough_usd, exact_usd, parse_usd, usd_text
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupStatus
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.view_state.campaigns import status_of, stopped_cases
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted, strong
from nodus_tui.view_state.figures import short_usd
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.money import money_parts
from nodus_tui.view_state.run_columns import run_status


def interrupted_waits(key: KeyNamer = own_key) -> str:
    """Why a higher cap changes nothing yet, and the key that does."""
    return f"The group is interrupted: nothing of it goes on until {key('resume')} resumes it."


def raised_cap_does(status: AgentGroupStatus, key: KeyNamer = own_key) -> str:
    """What a higher cap of a group changes: at once, later, or nothing, with the key that does what is needed then."""
    if status.phase is GroupPhase.INTERRUPTED:
        return "It is raised in place. " + interrupted_waits(key)
    if status.phase is GroupPhase.STALLED and status.reason is Reason.MAX_COST_REACHED and status.needed_cap_usd is None:
        return f"No case waits for this cap, so raising it frees none: {key('extend_waiting')} gives the runs that wait higher caps."
    return "It is raised in place. What waits for funds goes on at once."


_LISTED = 3
"""Groups that a question names; of more it tells the number."""
TYPE_COUNT_FROM = 10
"""Ending this many runs at once asks for their number to be typed, so that no slip of a finger does it."""


class Question(Struct, frozen=True):
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
    reserved = money_parts(status.money).reserved
    less = ", less what calls in flight are charged" if status.going else ""
    stopped, total = stopped_cases(status), status.coverage.total
    ends = status.pending + stopped
    unfinished = line(strong(f"{status.pending} of {total} cases"), " have not ended; they stay unscored.")
    given_up = line(strong(f"{stopped} of {total} cases"), " that a budget stopped do not go on when it has room.")
    lines = [
        *((unfinished,) if status.pending or not stopped else ()),
        *((given_up,) if stopped else ()),
        line(f"{_runs(status.going)} going: a call in flight is charged its worst case." if status.going else "No run is going."),
        *((line(f"{display_usd(reserved)} that is still set aside is freed{less}."),) if reserved else ()),
        line(muted(f"{status.coverage.scored} verdicts and {display_usd(status.money.model_usd)} of spend are kept.")),
    ]
    typed = str(ends) if ends >= TYPE_COUNT_FROM else ""
    return Question(f"Kill group {group.name}?", tuple(lines), f"Kill {ends}", typed)


def kill_run_question(run: AgentRun) -> Question:
    """Ending one run."""
    status = run_status(run)
    lines = [line("Its case stays unscored. ", strong(f"{display_usd(status.cost_usd)} is spent"), " and its transcript is kept.")]
    if status.in_flight_usd:
        lines.append(line(Span(f"The call in flight is charged its worst case, {display_usd(status.in_flight_usd)}.", Tone.WARN)))
    return Question(f"Kill run {run.name}?", tuple(lines), "Kill")


def unsaved_question(what: str, unkept: str) -> Question:
    """Asked before somebody leaves with text that is not saved; told why no draft of it is kept, where none is."""
    kept = line("What was typed is kept as a draft: it is offered when the file is opened again.")
    lost = line(Span(f"! What was typed is lost then: it cannot be kept as a draft ({unkept}).", Tone.BAD))
    return Question(f"Leave without saving {what}?", (lost if unkept else kept,), "Leave")


def unkept_question(unkept: str) -> Question:
    """Asked before somebody leaves with answers of the guided form that cannot be kept; told why."""
    lost = line(Span(f"! What was answered is lost then: it cannot be kept ({unkept}).", Tone.BAD))
    return Question("Leave without your answers?", (lost,), "Leave")


def unsent_question(count: int) -> Question:
    """Asked before somebody leaves while actions on many are still being asked for."""
    what = "1 action is" if count == 1 else f"{count:,} actions are"
    return Question(
        "Leave before all is asked for?",
        (line(f"{what} not asked for yet, for those before take their time. Whoever leaves now gives them up."),),
        "Leave",
    )


def quit_question(
    unfinished: tuple[AgentGroup, ...],
    sweeps: Sequence[str] = (),
    boxes: Sequence[str] = (),
    *,
    starts_anew: bool = False,
    resume: str = "u",
) -> Question:
    """Leaving while this process runs the work. `sweeps` and `boxes`, which are Sandboxes, are those that go on, by name. `starts_anew`:
    what is left is not gone on with, as in the demonstration. `resume` is the key that lets it go on later.
    """
    spending = sorted((group for group in unfinished if status_of(group).going), key=lambda group: -status_of(group).going)
    stalled = [group for group in unfinished if not status_of(group).going and status_of(group).phase is GroupPhase.STALLED]
    others = [group for group in unfinished if group not in spending and group not in stalled]
    lines = [line("This process runs the work. ", muted("What leaving stops:"))]
    lines.extend(line("  ", strong(group.name), f"  {_runs(status_of(group).going)} going") for group in spending[:_LISTED])
    lines.extend(
        line(muted(f"  {label}: "), _listed(groups))
        for label, groups in (("more going", spending[_LISTED:]), ("no run going now", others), ("stalled", stalled))
        if groups
    )
    if sweeps:
        lines.append(line(muted("  sweeps: "), _some(sweeps), muted(", of which no further cell starts")))
    if boxes:
        lines.append(line(muted("  sandboxes: "), _some(boxes), muted(", which end; their files are kept")))
    if spending:
        lines.append(line("No new call starts; calls in flight get 10 seconds to end, then they are charged their worst case."))
    if starts_anew:
        lines.append(line(muted("The demonstration starts anew each time: what stands here now is removed then.")))
    elif unfinished or sweeps:
        lines.append(line(muted(f"Everything is kept; start the console again and press {resume} to go on.")))
    return Question("Stop the work and quit?", tuple(lines), "Stop and quit")


def _listed(groups: Sequence[AgentGroup]) -> str:
    return _some([group.name for group in groups])


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def _cap(run: AgentRun) -> Decimal:
    return run.spec.max_cost_usd or Decimal(0)


def extension_problem(run: AgentRun, successor: str = "", key: KeyNamer = own_key) -> str:
    """Why a run's cap cannot be extended, as a sentence that says what can be done instead; empty when it can be."""
    status = run_status(run)
    if successor or not status.current or status.phase is RunPhase.SUPERSEDED:
        return f"{run.name} was superseded: " + (
            f"extend {successor}, which stands for its case now ({key('next')} opens it)."
            if successor
            else "another run stands for its case now."
        )
    if status.phase.ended:
        what = "its verdict stands" if status.phase is RunPhase.SUCCEEDED else f"{key('retry')} runs its case again instead"
        return f"{run.name} has ended ({status.phase.value}), so no cap holds it: {what}."
    if run.spec.max_cost_usd is None:
        return f"{run.name} has no cap of its own."
    return ""


def first_ends(run: AgentRun) -> str:
    """What of a run comes to its end before a higher cap takes effect; empty where nothing is under way."""
    phase = run_status(run).phase
    return "its grading" if phase is RunPhase.GRADING else "the step under way" if phase.going else ""


def _round_up(amount: Decimal) -> Decimal:
    """Up to two significant digits, or to the cent from a dollar on."""
    digits = 2 if amount >= 1 else max(2, -amount.adjusted() + 1)
    return min(MAX_USD, amount.quantize(Decimal(1).scaleb(-min(9, digits)), rounding=ROUND_CEILING))


def proposed_cap(cap: Decimal, needed: Decimal | None) -> Decimal:
    """Twice the cap, or what the backend says is needed where that is more."""
    return _round_up(max(cap * 2, enough_usd(needed) if needed is not None else cap))


def too_low(cap: Decimal, needed: Decimal | None, who: str, what_then: str) -> Line:
    """The warning beside a typed cap that is less than `who` needs, and `what_then` would happen; empty where it is enough."""
    if needed is None or cap >= needed:
        return ()
    return line(Span(f"! {who[:1].upper()}{who[1:]} needs at least {enough_text(needed)}: {what_then}.", Tone.WARN))


def set_aside(run: AgentRun, cap: Decimal, *, afresh: bool = False) -> Decimal:
    """US dollars that the group's cap must have room for before the case of a run goes on under such a cap, or begins `afresh`: then
    nothing of the cap is spent yet. What a going run holds of the group's cap is there.
    """
    status = run_status(run)
    held = max(Decimal(0), _cap(run) - status.cost_usd) if status.phase.going else Decimal(0)
    return max(Decimal(0), cap - (Decimal(0) if afresh else status.cost_usd) - held)


def group_room(group: AgentGroup | None, run: AgentRun, cap: Decimal, key: KeyNamer = own_key, *, afresh: bool = False) -> Line:
    """What the cap of a run's group leaves for a higher cap of the run, a warning where that is too little; nothing without a group."""
    if group is None:
        return ()
    left, needed = money_parts(status_of(group).money).left, set_aside(run, cap, afresh=afresh)
    if needed <= left:
        return line(muted(f"The group's cap leaves {short_usd(left)}; {short_usd(needed)} of it is set aside."))
    raises = f" ({key('extend_group')} raises it)" if key("extend_group") else ""
    return line(
        Span(
            f"! The group's cap leaves {short_usd(left)} of the {short_usd(needed)} that it needs: it would wait for it{raises}.", Tone.WARN
        )
    )


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
        return f"The new cap must be above {exact_usd(cap)}; a cap is only ever raised."
    return ""


def typed_cap(text: str) -> Decimal:
    """The amount of a text that `cap_problem` found nothing wrong with."""
    return parse_usd(text.strip().removeprefix("$"))


def cap_input(amount: Decimal) -> str:
    """A proposed cap as the text to edit."""
    return usd_text(amount)
