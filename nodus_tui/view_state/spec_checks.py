"""What the editor of a spec says beside the text: its problems, the field under the cursor, what can be typed, what it may cost."""

from collections.abc import Sequence

from nodus_tui.contract.errors import Fault
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.outcomes import AppliedDocument
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.estimates import Basis, estimate_lines
from nodus_tui.view_state.key_actions import KeyNamer, own_key

_MOST_FAULTS = 50
_WHOLE = 20
"""Estimates that are told in full; of more only what they come to together: nobody reads a thousand, and laying them out takes time."""


def problem_line(fault: Fault) -> Line:
    """One problem: where, which field, what, and what may be meant."""
    place = f"{fault.line}:{fault.column}" if fault.line else "the spec"
    suggestion = f' – did you mean "{fault.suggestion}"?' if fault.suggestion else ""
    return line(
        Span("! ", Tone.BAD), strong(f"{place} "), muted(f"{fault.path} " if fault.path else ""), fault.message, Span(suggestion, Tone.KEY)
    )


def problem_lines(faults: Sequence[Fault]) -> tuple[Line, ...]:
    """All of them."""
    return tuple(problem_line(fault) for fault in faults)


def problem_count(faults: Sequence[Fault]) -> Line:
    """How many there are."""
    if not faults:
        return line(Span("✓ no problem", Tone.GOOD))
    return line(Span(f"! {len(faults)} problem{'' if len(faults) == 1 else 's'}", Tone.BAD))


def next_fault(faults: Sequence[Fault], row: int) -> Fault | None:
    """The first fault behind a line, from 1; behind the last comes the first."""
    placed = sorted((fault for fault in faults if fault.line), key=lambda fault: (fault.line, fault.column))
    return next((fault for fault in placed if fault.line > row), placed[0] if placed else None)


def outcome_line(outcomes: Sequence[AppliedDocument]) -> Line:
    """How the text stands to what is applied."""
    words = {
        "created": ("new", Tone.INFO),
        "changed": ("changed", Tone.WARN),
        "unchanged": ("as applied", Tone.GOOD),
        "refused": ("! apply refuses it", Tone.BAD),
    }
    return joined(line(f"{each.kind} {each.name} ", Span(*words[each.outcome])) for each in outcomes)


def standing_line(outcomes: Sequence[AppliedDocument]) -> Line:
    """The same in as few words as it takes: one word where it is one for all."""
    words = {
        "created": ("not applied", Tone.INFO),
        "changed": ("changed since applied", Tone.WARN),
        "unchanged": ("as applied", Tone.GOOD),
        "refused": ("! valid, but apply refuses it", Tone.BAD),
    }
    found = {each.outcome for each in outcomes}
    return line(Span(*words[found.pop()])) if len(found) == 1 else outcome_line(outcomes)


def cost_line(estimates: Sequence[Estimate | KindEstimate], basis: Basis = "chosen") -> Line:
    """What all of it may cost at most, and how long the longest may take."""
    if not estimates:
        return line(muted("nothing in it costs money"))
    ceilings = [each.model_ceiling_usd if isinstance(each, Estimate) else each.ceiling_usd for each in estimates]
    whole = sum(ceilings[1:], ceilings[0])
    parts = [line("at most ", strong(display_usd(whole)))]
    groups = [each for each in estimates if isinstance(each, Estimate)]
    if groups:
        parts.append(line(f"{sum(each.cases for each in groups):,} cases"))
        minutes = max(each.wall_clock_minutes for each in groups)
        told = f"~{minutes:,.0f} min" if minutes >= 10 else f"~{minutes:,.1f} min"
        parts.append(line(told, muted(" assumed") if basis == "assumed" else ""))
        if any(each.every_run_waits for each in groups):
            parts.append(line(Span("! each run would wait at its own cap", Tone.WARN)))
        if short := [each for each in groups if not each.room_for_all]:
            parts.append(line(Span(f"! sure to start: {short[0].cases_sure_to_start} of {short[0].cases} cases", Tone.WARN)))
        if basis != "assumed" and any(not each.fits_timeout for each in groups):
            parts.append(line(Span("! longer than the timeout", Tone.WARN)))
    return joined(parts)


def side_lines(
    faults: Sequence[Fault],
    outcomes: Sequence[AppliedDocument],
    estimates: Sequence[Estimate | KindEstimate],
    problem: str,
    *,
    checking: bool,
    key: KeyNamer = own_key,
    basis: Basis = "chosen",
) -> tuple[Line, ...]:
    """Everything that is known of the text, for the pane beside it and for the dialog on narrow screens."""
    lines: list[Line] = []
    if checking:
        lines += [line(muted("checking…")), ()]
    if problem:
        lines += [line(Span(f"! {problem}", Tone.WARN)), ()]
    if faults:
        told = (each for fault in faults[:_MOST_FAULTS] for each in (problem_line(fault), ()))
        more = (line(muted(f"and {len(faults) - _MOST_FAULTS:,} more below these")),) if len(faults) > _MOST_FAULTS else ()
        return (*lines, problem_count(faults), (), *told, *more)
    for outcome in outcomes:
        lines.append(outcome_line((outcome,)))
        if outcome.outcome == "refused":
            lines.append(line(muted(f"{outcome.message}.")))
    if outcomes:
        lines.append(())
    for estimate in estimates[:_WHOLE]:
        lines += [*estimate_lines(estimate, key, basis), ()]
    if rest := estimates[_WHOLE:]:
        lines += [line(f"and {len(rest):,} more: ", *cost_line(rest, basis)), ()]
    if estimates:
        lines.append(line(muted("Ceilings, not forecasts: nothing ever spends more than its cap.")))
    return tuple(lines)
