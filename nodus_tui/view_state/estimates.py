"""The estimate view: what a launch may cost at most and how long it takes, or everything that is wrong with its spec."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal

from nodus_tui.contract.errors import Fault
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.money import display_usd
from nodus_tui.statistics.minutes_text import beside_minutes
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted, strong
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.pass_rates import honesty_marks

Basis = Literal["assumed", "measured", "chosen"]
_BASES: Mapping[Basis, str] = {"assumed": " a case, assumed", "measured": " a case, measured here", "chosen": " a case"}
_LABEL = 20
"""Cells of the labels: two more than the longest has, so that none runs into its figure."""


def _minutes(minutes: Decimal) -> str:
    """Always in minutes, as the command line has it, so that two figures can be compared; few and many are told otherwise as well:
    `0.5 min (30 s)`, `20 min`, `1,000 min (16 h 40 min)`.
    """
    return f"{_number(minutes)} min{beside_minutes(minutes)}"


def _number(minutes: Decimal) -> str:
    digits = 0 if minutes >= 10 or minutes == minutes.to_integral_value() else 1 if minutes >= 1 else 2
    whole, point, part = f"{minutes:,.{digits}f}".partition(".")
    return f"{whole}{(point + part).rstrip('0').rstrip('.')}"


def _row(label: str, *parts: str | Span) -> Line:
    return line(muted(f"  {label}".ljust(_LABEL)), *parts)


def estimated_name(estimate: Estimate | KindEstimate) -> str:
    """What was estimated."""
    return estimate.group if isinstance(estimate, Estimate) else f"{estimate.kind} {estimate.name}"


def estimated_target(estimate: Estimate | KindEstimate) -> tuple[str, str]:
    """Its kind and its name."""
    return ("AgentGroup", estimate.group) if isinstance(estimate, Estimate) else (estimate.kind, estimate.name)


def estimate_lines(estimate: Estimate | KindEstimate, key: KeyNamer = own_key, basis: Basis = "chosen") -> tuple[Line, ...]:
    """One document's estimate; `basis` is what the minutes of a case rest on."""
    return _group_lines(estimate, key, basis) if isinstance(estimate, Estimate) else _kind_lines(estimate)


def _kind_lines(estimate: KindEstimate) -> tuple[Line, ...]:
    """A kind that only tells its ceiling here."""
    lines = [
        line(strong(estimate.name), muted(f"  {estimate.kind}")),
        _row("costs, at most", strong(display_usd(estimate.ceiling_usd)), muted(f"  (cap {display_usd(estimate.cap_usd)})")),
    ]
    if estimate.longest_seconds is not None:
        lines.append(_row("longest time", _minutes(estimate.longest_seconds / 60)))
    if estimate.cells is not None:
        lines.append(_row("cells", str(estimate.cells), muted(f"  sure to start: {estimate.cells_sure_to_start}")))
    if estimate.tasks is not None:
        lines.append(_row("tasks", str(estimate.tasks)))
    for hardware, seconds in estimate.seconds_by_hardware.items():
        price = estimate.usd_by_hardware.get(hardware)
        lines.append(_row(hardware, f"~{_minutes(seconds / 60)}", muted(f"  {display_usd(price)}" if price is not None else "")))
    lines.extend(line(Span(f"  ! {note}", Tone.WARN)) for note in estimate.notes)
    return tuple(lines)


def _group_lines(estimate: Estimate, key: KeyNamer, basis: Basis) -> tuple[Line, ...]:
    every = (
        line(Span("! no run could make a call: each would wait at its own cap", Tone.BAD))
        if estimate.every_run_waits
        else line(Span("✓ room for every case to start", Tone.GOOD))
        if estimate.room_for_all
        else line(Span(f"! sure to start: {estimate.cases_sure_to_start} of {estimate.cases} cases; the others wait for funds", Tone.WARN))
    )
    # Where nobody knows how long a case takes, it is no alarm that the assumption does not fit.
    assumed = basis == "assumed" and not estimate.fits_timeout
    in_time = () if estimate.fits_timeout or assumed else (Span("  ! longer than the timeout", Tone.WARN),)
    marks = honesty_marks(simulated=estimate.simulated, notional=False)
    lines: list[Line] = [
        (*line(strong(estimate.group), muted("  agent "), estimate.agent), *((Span("  "), *marks) if marks else ())),
        _row("cases", str(estimate.cases), muted("  95% interval "), _half_width(estimate)),
        _row(
            "models, at most",
            strong(display_usd(estimate.model_ceiling_usd)),
            muted(f"  ({display_usd(estimate.per_run_cap_usd)} a run, group cap {display_usd(estimate.cap_usd)})"),
        ),
        (muted("".ljust(_LABEL)), *every),
        _row(
            "wall clock, est.",
            strong(f"~{_minutes(estimate.wall_clock_minutes)}"),
            muted(f"  at {_minutes(estimate.minutes_per_case)}{_BASES[basis]}; "),
            *((Span(change, Tone.KEY), muted(" changes that")) if (change := key("minutes")) else ()),
            *in_time,
        ),
    ]
    if estimate.timeout_minutes is not None:
        short = (Span("  ~ shorter than that, if the assumption holds", Tone.MARK),) if assumed else ()
        lines.append(_row("timeout", _minutes(estimate.timeout_minutes), *short))
    lines.append(_wall_clock_table(estimate))
    lines.extend(_sandbox_rows(estimate))
    for note in estimate.notes:
        of_time = assumed and "longer than the evaluation timeout" in note
        lines.append(line(Span(f"  ~ {note}", Tone.MARK) if of_time else Span(f"  ! {note}", Tone.WARN)))
    return tuple(lines)


def _sandbox_rows(estimate: Estimate) -> tuple[Line, ...]:
    if not estimate.sandboxed:
        return (_row("sandboxes", "none", muted("  the agent has no tools, so its runs start none")),)
    minutes = _row("sandbox-minutes", f"{estimate.sandbox_minutes:,.0f}", muted("  whatever maxActive is"))
    if not estimate.sandbox_usd:
        return (minutes,)
    priced = "   ".join(f"{hardware} {display_usd(amount)}" for hardware, amount in estimate.sandbox_usd.items())
    return (minutes, _row("sandboxes, est.", priced))


def _half_width(estimate: Estimate) -> str:
    return "–" if estimate.half_width95 is None else f"±{100 * estimate.half_width95:.1f} points (p = 0.5)"


def _wall_clock_table(estimate: Estimate) -> Line:
    cells = "   ".join(f"{active} → {_number(minutes)}" for active, minutes in estimate.wall_clock_by_max_active.items())
    return _row("  by maxActive", cells, muted("   minutes"))


def fault_lines(faults: tuple[Fault, ...]) -> tuple[Line, ...]:
    """Every fault with its place: file, line, column, field, what to do."""
    lines: list[Line] = []
    for fault in faults:
        place = ":".join(str(part) for part in (fault.file, fault.line, fault.column) if part)
        hint = f' – did you mean "{fault.suggestion}"?' if fault.suggestion else ""
        lines.append(line(Span("! ", Tone.BAD), strong(place or "the spec"), muted(f"  {fault.path}" if fault.path else "")))
        lines.append(line(f"  {fault.message}", Span(hint, Tone.KEY)))
    return tuple(lines)


def existing_lines(names: Sequence[str], older: Sequence[str]) -> tuple[Line, ...]:
    """Groups and sweeps of the file that exist already with the same spec; `older` are those with another revision of their agent."""
    lines = [
        line(strong(name), muted(" exists with this spec: it is not launched twice, Enter opens it. Under another name it runs anew."))
        for name in names
    ]
    lines.extend(
        line(Span(f"! {name} was launched with another revision of its agent: to run this one, give the group another name.", Tone.WARN))
        for name in older
    )
    return tuple(lines)


def fault_count(faults: tuple[Fault, ...], again: str) -> str:
    """How many there are, and the key that reads the file again."""
    return f"{len(faults)} fault{'' if len(faults) == 1 else 's'}; nothing was changed. Mend the file and press {again} to read it again."
