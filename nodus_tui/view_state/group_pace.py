"""What a group spends in a minute, and what it comes to at its end: estimates from its runs, told with what they assume. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from nodus_tui.contract.money import display_usd, nano_from_usd, usd_from_nano
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.agent_group import AgentGroupStatus
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted
from nodus_tui.view_state.figures import forecast_text, seconds_between, span_text
from nodus_tui.view_state.run_columns import run_status

WINDOW = timedelta(minutes=5)
"""How far back the burn rate looks."""
_SHORTEST = 20.0
"""Seconds of a group's life below which a rate would say nothing."""
_LEAST_ANSWERED = 3
"""Cases that must have come to an answer before the others are forecast from them."""


@dataclass(frozen=True, slots=True)
class _Spell:
    """When a run was paid for, and how much. Its money is spread evenly over that time: calls are not known one by one here."""

    start: datetime
    end: datetime | None
    nano: int


class Pace:
    """The money of a group's runs over time. Each run costs one step when it changes; only those of the last minutes are looked at."""

    def __init__(self) -> None:
        self._spells: dict[str, _Spell] = {}
        self._unfinished: dict[str, int] = {}
        self._begun_nano = 0

    def clear(self) -> None:
        """Forget all runs."""
        self._spells.clear()
        self._unfinished.clear()
        self._begun_nano = 0

    def take(self, run: AgentRun) -> None:
        """A run as it stands now; one whose case another took over still spent what it spent."""
        status = run_status(run)
        self.forget(run.name)
        own = nano_from_usd(status.cost_usd - status.carried_usd)
        if status.started_at is not None and own > 0:
            self._spells[run.name] = _Spell(status.started_at, status.ended_at or status.rested_at, own)
        if status.current and not status.phase.ended:
            nano = self._unfinished[run.name] = nano_from_usd(status.cost_usd)
            self._begun_nano += nano

    def forget(self, name: str) -> None:
        """The run is gone."""
        self._spells.pop(name, None)
        self._begun_nano -= self._unfinished.pop(name, 0)

    def burn(self, status: AgentGroupStatus, now: datetime) -> tuple[Decimal, float] | None:
        """US dollars a minute over the last seconds, and over how many; None where nothing goes on, or too little is known."""
        if status.phase is not GroupPhase.RUNNING or status.started_at is None:
            return None
        begins = max(now - WINDOW, status.started_at)
        window = seconds_between(begins, now)
        if window < _SHORTEST:
            return None
        self._spells = {name: spell for name, spell in self._spells.items() if spell.end is None or spell.end > now - WINDOW}
        spent = sum(_within(spell, begins, now) for spell in self._spells.values())
        return usd_from_nano(int(spent * 60 / window)), window

    def at_the_end(self, status: AgentGroupStatus) -> Decimal | None:
        """What the group will have spent on models, if its open cases cost as much as those that came to an answer; None while too few
        did, and where nothing more is to be spent.
        """
        answered = status.coverage.scored + status.verdicts.get(Reason.ANSWERED.value, 0)
        if status.phase.ended or not status.pending or status.mean_run_usd is None or answered < _LEAST_ANSWERED:
            return None
        more = status.mean_run_usd * status.pending - usd_from_nano(self._begun_nano)
        return status.money.model_usd + max(Decimal(0), more)


def _within(spell: _Spell, begins: datetime, now: datetime) -> float:
    """The part of a spell's money that falls between two moments."""
    end = min(spell.end or now, now)
    whole = seconds_between(spell.start, end)
    part = seconds_between(max(spell.start, begins), end)
    if whole <= 0:
        return float(spell.nano) if begins <= end else 0.0
    return spell.nano * part / whole


def pace_forms(pace: Pace, status: AgentGroupStatus, left: float | None, now: datetime) -> tuple[Line, ...]:
    """`~$0.42/min over 5m · ~$6.10 at the end if 58 left cost $0.05 each · ~4m left`, longest form first: the time goes first, for the
    headline has it, then the window, last what the forecast rests on. Empty where nothing is known.
    """
    burn, total = pace.burn(status, now), pace.at_the_end(status)
    rate = line(Span(f"~{display_usd(burn[0])}/min", Tone.MARK)) if burn is not None else ()
    window = line(muted(f" over {span_text(burn[1])}")) if burn is not None else ()
    end, basis, above = _end(status, total)
    rest = line(Span(f"{forecast_text(left)} left", Tone.MARK)) if left is not None else ()
    return (
        joined(((*rate, *window), (*end, *basis, *above), rest)),
        joined(((*rate, *window), (*end, *basis, *above))),
        joined((rate, (*end, *basis, *above))),
        joined((rate, (*end, *above))),
    )


def _end(status: AgentGroupStatus, total: Decimal | None) -> tuple[Line, Line, Line]:
    """What it comes to at the end, what that rests on, and a warning where the cap is too low for it."""
    if total is None or status.mean_run_usd is None:
        return (), (), ()
    over = total > status.money.cap_usd
    return (
        line(Span(f"~{display_usd(total)} at the end", Tone.WARN if over else Tone.MARK)),
        line(muted(f" if {status.pending} left cost {display_usd(status.mean_run_usd)} each")),
        line(Span(", above the cap", Tone.WARN)) if over else (),
    )
