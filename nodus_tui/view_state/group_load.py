"""From a group and its runs to what a forecast goes by. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from nodus_tui.contract.money import nano_from_usd
from nodus_tui.contract.phases import HOLDS_SLOT
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.statistics.queueing import GroupLoad, RunLoad
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.figures import seconds_between
from nodus_tui.view_state.run_columns import run_seconds, run_status
from nodus_tui.view_state.waiting import in_line

Order = tuple[int, int, str]
"""Case, attempt and name of a run: in this order they start."""

_nano = lru_cache(maxsize=1024)(nano_from_usd)
"""Most runs of a group have the same amounts."""


def order_of(run: AgentRun) -> Order:
    """Where a run stands in the order of its group's starts."""
    return (run.spec.case, run.spec.attempt, run.name)


def held_so_far(run: AgentRun, now: datetime) -> float:
    """Seconds for which a run has held a slot."""
    status = run_status(run)
    if not status.stretches:
        return run_seconds(run, now)
    ends = [*(each.since for each in status.stretches[1:]), status.ended_at or now]
    return sum(seconds_between(each.since, end) for each, end in zip(status.stretches, ends, strict=True) if each.activity in HOLDS_SLOT)


def in_order(runs: Iterable[AgentRun]) -> list[AgentRun]:
    """Runs in the order in which they start."""
    return sorted(runs, key=order_of)


def load_of(group: AgentGroup, runs: Iterable[AgentRun], now: datetime) -> GroupLoad:
    """What the group has to do. `runs` are those that have not ended, or more."""
    current = [run for run in runs if run_status(run).current]
    going = [run_load(run, now) for run in current if run_status(run).phase.going]
    waiting = in_order(run for run in current if in_line(run_status(run).phase, run_status(run).reason))
    return group_load(group, going, [run_load(run, now) for run in waiting])


def group_load(group: AgentGroup, going: Sequence[RunLoad], waiting: Sequence[RunLoad]) -> GroupLoad:
    """The same from runs that are known as loads already, those in line in their order."""
    status = status_of(group)
    return GroupLoad(
        going=tuple(going),
        waiting=tuple(waiting),
        max_active=group.spec.max_active,
        left=_nano(max(Decimal(0), status.money.left_usd)),
        mean_seconds=status.mean_run_seconds,
        mean_spent=None if status.mean_run_usd is None else _nano(status.mean_run_usd),
    )


def run_load(run: AgentRun, now: datetime) -> RunLoad:
    """One run, as far as a forecast goes by it."""
    status = run_status(run)
    cap = max(0, _nano(run.spec.max_cost_usd or Decimal(0)) - _nano(status.carried_usd))
    spent = max(0, _nano(status.cost_usd) - _nano(status.carried_usd))
    return RunLoad(cap=max(cap, spent), spent=spent, seconds=held_so_far(run, now) if status.phase.going else 0.0)
