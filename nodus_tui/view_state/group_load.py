"""From a group and its runs to what a forecast goes by, and from a forecast to moments. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from nodus_tui.contract.money import nano_from_usd
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import HOLDS_SLOT, AgentRun
from nodus_tui.statistics.queueing import GroupLoad, RunLoad, forecast
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.figures import seconds_between
from nodus_tui.view_state.run_columns import run_seconds, run_status
from nodus_tui.view_state.waiting import UNKNOWN, When, in_line


def held_so_far(run: AgentRun, now: datetime) -> float:
    """Seconds for which a run has held a slot."""
    status = run_status(run)
    if not status.stretches:
        return run_seconds(run, now)
    ends = [*(each.since for each in status.stretches[1:]), status.ended_at or now]
    return sum(seconds_between(each.since, end) for each, end in zip(status.stretches, ends, strict=True) if each.activity in HOLDS_SLOT)


def in_order(runs: Iterable[AgentRun]) -> list[AgentRun]:
    """Runs in the order in which they start."""
    return sorted(runs, key=lambda run: (run.spec.case, run.spec.attempt, run.name))


def load_of(group: AgentGroup, runs: Iterable[AgentRun], now: datetime) -> tuple[GroupLoad, list[AgentRun]]:
    """What the group has to do, and the waiting runs of it in the order of their starts. `runs` are those that have not ended, or more."""
    status = status_of(group)
    current = [run for run in runs if run_status(run).current]
    going = [run for run in current if run_status(run).phase.going]
    waiting = in_order(run for run in current if in_line(run))
    load = GroupLoad(
        going=tuple(_load(run, now) for run in going),
        waiting=tuple(_load(run, now) for run in waiting),
        max_active=group.spec.max_active,
        left=nano_from_usd(max(Decimal(0), status.money.left_usd)),
        mean_seconds=status.mean_run_seconds,
        mean_spent=None if status.mean_run_usd is None else nano_from_usd(status.mean_run_usd),
    )
    return load, waiting


def _load(run: AgentRun, now: datetime) -> RunLoad:
    status = run_status(run)
    cap = nano_from_usd(max(Decimal(0), (run.spec.max_cost_usd or Decimal(0)) - status.carried_usd))
    spent = nano_from_usd(max(Decimal(0), status.cost_usd - status.carried_usd))
    going = status.phase.going
    return RunLoad(cap=max(cap, spent), spent=spent, seconds=held_so_far(run, now) if going else 0.0)


@dataclass(frozen=True, slots=True)
class StartOrder:
    """The line before a group: who starts when, by forecast."""

    order: tuple[str, ...]
    """Names of the waiting runs, the next one first."""
    starts: dict[str, When]
    made_at: datetime

    def place_of(self) -> dict[str, int]:
        """How many start before each."""
        return {name: place for place, name in enumerate(self.order)}


def line_of(group: AgentGroup, runs: Sequence[AgentRun], now: datetime) -> StartOrder:
    """The line before a group as it stands."""
    load, waiting = load_of(group, runs, now)
    starts = forecast(load).starts if waiting else ()
    moments = {
        run.name: UNKNOWN if start is None else When("Forecast", now + timedelta(seconds=start))
        for run, start in zip(waiting, starts, strict=True)
    }
    return StartOrder(tuple(run.name for run in waiting), moments, now)
