"""What a group spends in a minute, and what it comes to at its end: estimates from its runs, told with what they assume. Pure."""

from datetime import datetime
from decimal import Decimal
from math import inf

from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.agent_group import AgentGroupStatus
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted
from nodus_tui.view_state.figures import seconds_between, short_usd, span_text
from nodus_tui.view_state.run_columns import run_status

WINDOW_SECONDS = 300.0
"""How far back the burn rate looks."""
_NANO = Decimal("0.000000001")
_MANY = 100
"""Runs from which on the rate is worked out once a second, and not with every frame."""
_SHORTEST = 20.0
"""Seconds of a group's life below which a rate would say nothing."""
_LEAST_ANSWERED = 3
"""Cases that must have come to an answer before the others are forecast from them."""


_Spell = tuple[float, float, float]
"""When a run was paid for, as POSIX seconds (without end while it goes on), and how many dollars. Its money is spread evenly over that
time: calls are not known one by one here. Floats, for thousands are looked at with each frame, and an estimate bears them."""


class Pace:
    """The money of a group's runs over time. Each run costs one step when it changes; only those of the last minutes are looked at."""

    def __init__(self) -> None:
        self._spells: dict[str, _Spell] = {}
        self._unfinished: dict[str, Decimal] = {}
        self._begun = Decimal(0)
        self._told: tuple[int, tuple[Decimal, float]] | None = None
        """The rate of one second, where there are many runs."""

    def clear(self) -> None:
        """Forget all runs."""
        self._spells.clear()
        self._unfinished.clear()
        self._begun = Decimal(0)
        self._told = None

    def take(self, run: AgentRun) -> None:
        """A run as it stands now; one whose case another took over still spent what it spent."""
        status, name = run_status(run), run.name
        own = status.cost_usd - status.carried_usd
        if status.started_at is not None and own > 0:
            end = status.ended_at or status.rested_at
            self._spells[name] = (status.started_at.timestamp(), inf if end is None else end.timestamp(), float(own))
        else:
            self._spells.pop(name, None)
        before = self._unfinished.pop(name, None)
        if before is not None:
            self._begun -= before
        if status.current and not status.phase.ended:
            self._unfinished[name] = status.cost_usd
            self._begun += status.cost_usd

    def forget(self, name: str) -> None:
        """The run is gone."""
        self._spells.pop(name, None)
        self._begun -= self._unfinished.pop(name, Decimal(0))

    def burn(self, status: AgentGroupStatus, now: datetime) -> tuple[Decimal, float] | None:
        """US dollars a minute over the last seconds, and over how many; None where nothing goes on, or too little is known."""
        if status.phase is not GroupPhase.RUNNING or status.started_at is None:
            return None
        window = min(WINDOW_SECONDS, seconds_between(status.started_at, now))
        if window < _SHORTEST:
            return None
        until = now.timestamp()
        if len(self._spells) >= _MANY and self._told is not None and self._told[0] == int(until):
            return self._told[1]
        oldest = until - WINDOW_SECONDS
        self._spells = {name: spell for name, spell in self._spells.items() if spell[1] > oldest}
        spent = sum(_within(spell, until - window, until) for spell in self._spells.values())
        self._told = (int(until), (Decimal(round(spent * 60 / window, 9)).quantize(_NANO), window))
        return self._told[1]

    def at_the_end(self, status: AgentGroupStatus) -> Decimal | None:
        """What the group will have spent on models, if its open cases cost as much as those that came to an answer; None while too few
        did, and where nothing more is to be spent.
        """
        answered = status.coverage.scored + status.verdicts.get(Reason.ANSWERED.value, 0)
        if status.phase.ended or not status.pending or status.mean_run_usd is None or answered < _LEAST_ANSWERED:
            return None
        more = status.mean_run_usd * status.pending - self._begun
        return status.money.model_usd + max(Decimal(0), more)


def _within(spell: _Spell, begins: float, now: float) -> float:
    """The part of a spell's money that falls between two moments."""
    start, ended, usd = spell
    end = min(ended, now)
    if end <= start:
        return usd if begins <= end else 0.0
    return usd * max(0.0, end - max(start, begins)) / (end - start)


def pace_forms(pace: Pace, status: AgentGroupStatus, left: Line, now: datetime) -> tuple[Line, ...]:
    """`~$0.42/min over 5m · ~$6.10 at the end if 58 left cost $0.05 each · ~4m left`, longest form first: the time goes first, for the
    headline has it, then the window, last what the forecast rests on. Empty where nothing is known.
    """
    burn, total = pace.burn(status, now), pace.at_the_end(status)
    rate = line(Span(f"~{short_usd(burn[0])}/min", Tone.MARK)) if burn is not None else ()
    window = line(muted(f" over {span_text(burn[1])}")) if burn is not None else ()
    end, basis, above = _end(status, total)
    return (
        joined(((*rate, *window), (*end, *basis, *above), left)),
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
        line(Span(f"~{short_usd(total)} at the end", Tone.WARN if over else Tone.MARK)),
        line(muted(f" if {status.pending} left cost {short_usd(status.mean_run_usd)} each")),
        line(Span(", above the cap", Tone.WARN)) if over else (),
    )
