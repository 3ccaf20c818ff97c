"""The estimate of a group before it is launched: money, time, room under its cap, and the precision to expect. Pure; money is exact."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal

from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.estimates import Estimate
from nodus_tui.contract.money import nano_from_usd
from nodus_tui.contract.resources.agent import AgentSandbox, AgentSpec
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.statistics.hardware_rates import slice_rate, slices
from nodus_tui.statistics.notes import dollars, slice_notes
from nodus_tui.statistics.planning import expected_half_width, sandbox_money, wall_clock_minutes

SHOWN_MAX_ACTIVE = (1, 10, 25, 50, 100)
"""The values of maxActive for which an estimate always tells the wall clock; the spec's own comes beside them."""

MAX_MINUTES_PER_CASE = 1_000_000
"""Almost two years; more is a slip of the keyboard."""


def estimate_group(
    *,
    group: AgentGroup,
    agent: AgentSpec,
    minutes_per_case: Decimal,
    rates: Mapping[str, Decimal],
    simulated: bool,
    notional: bool = False,
    extra_notes: tuple[str, ...] = (),
    every_run_waits: bool = False,
) -> Estimate:
    """The estimate of a group whose runs follow `agent`, if a case takes so many minutes on average.

    `rates` are US dollars an hour by hardware; `every_run_waits` is what the model's price means for a run's cap.
    Raises ValueError unless minutes_per_case lies above zero and within MAX_MINUTES_PER_CASE.
    """
    if not minutes_per_case.is_finite() or not 0 < minutes_per_case <= MAX_MINUTES_PER_CASE:
        raise ValueError(f"minutes per case must be above zero and at most {MAX_MINUTES_PER_CASE:,}, not {minutes_per_case}")
    spec, box = group.spec, agent.sandbox
    cases = spec.cases
    per_run, cap = agent.per_run_max_cost_usd, spec.max_cost_usd
    wanted = cases * per_run
    sure = min(cases, nano_from_usd(cap) // nano_from_usd(per_run))
    minutes = cases * minutes_per_case
    wall = wall_clock_minutes(cases, spec.max_active, minutes_per_case)
    timeout = spec.evaluation.timeout if spec.evaluation else None
    fits = timeout is None or _seconds(wall) <= _whole_seconds(timeout)
    notes = (
        *_cap_notes(cases, sure, per_run, cap),
        *(() if fits or timeout is None else (_timeout_note(group, wall, timeout, minutes_per_case),)),
        *slice_notes(box.hardware, box.cpus, box.memory_gib),
        *(("The model is simulated: its answers are made up, and nobody pays for them.",) if simulated else ()),
        *(("The model's price is notional: it lets the caps bite, and nobody pays it.",) if notional else ()),
        *extra_notes,
    )
    return Estimate(
        group=group.name,
        every_run_waits=every_run_waits,
        agent=spec.agent,
        cases=cases,
        model_ceiling_usd=min(wanted, cap),
        per_run_cap_usd=per_run,
        cap_usd=cap,
        minutes_per_case=minutes_per_case,
        sandbox_minutes=minutes,
        sandbox_usd=sandbox_money(minutes, _sandbox_rates(box, rates)),
        sandboxed=bool(agent.tools),
        wall_clock_minutes=wall,
        wall_clock_by_max_active={
            str(active): wall_clock_minutes(cases, active, minutes_per_case) for active in sorted({*SHOWN_MAX_ACTIVE, spec.max_active})
        },
        timeout_minutes=None if timeout is None else Decimal(_whole_seconds(timeout)) / 60,
        fits_timeout=fits,
        room_for_all=wanted <= cap,
        cases_sure_to_start=sure,
        half_width95=expected_half_width(spec.evaluation.tasks, spec.evaluation.repetitions) if spec.evaluation else None,
        simulated=simulated,
        notes=notes,
    )


def _sandbox_rates(box: AgentSandbox, rates: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """An hour of one of its sandboxes on each hardware of the price list; on the one that it asks for, as many devices as it asks for."""
    listed = {name: rate * slices(name, box.cpus, box.memory_gib) for name, rate in rates.items()}
    own = slice_rate(rates, box.hardware, box.cpus, box.memory_gib, box.accelerators)
    return listed if own is None else {**listed, box.hardware: own}


def _seconds(minutes: Decimal) -> Decimal:
    return 60 * minutes


def _whole_seconds(duration: timedelta) -> int:
    return duration // timedelta(seconds=1)


def _cap_notes(cases: int, sure: int, per_run: Decimal, cap: Decimal) -> tuple[str, ...]:
    if sure == cases:
        return ()
    raise_it = f"raise maxCostUSD to {dollars(cases * per_run)} to give every case room"
    if sure == 0:
        return (f"The group's cap of {dollars(cap)} is below the per-run cap of {dollars(per_run)}, so no case can start: {raise_it}.",)
    room = f"is sure to start only {sure} of {cases} cases, if each spends its whole {dollars(per_run)}"
    return (f"The group's cap of {dollars(cap)} {room}: {raise_it}.",)


def _timeout_note(group: AgentGroup, wall: Decimal, timeout: timedelta, minutes_per_case: Decimal) -> str:
    cases, active = group.spec.cases, group.spec.max_active
    waves = _whole_seconds(timeout) // _seconds(minutes_per_case)
    enough = -(-cases // int(waves)) if waves else 0
    cure = f"raise the timeout or set maxActive to {enough}" if 0 < enough <= 1000 else "raise the timeout"
    return (
        f"At maxActive {active} and {_minutes_text(minutes_per_case)} a case the {cases} cases take {_minutes_text(wall)}, "
        "longer than the evaluation timeout of "
        f"{duration_text(timeout)}; what is not graded by then stays unscored: {cure}."
    )


def _minutes_text(minutes: Decimal) -> str:
    text = f"{minutes:f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} min"
