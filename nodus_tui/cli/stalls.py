"""What frees a stalled group: which cap, by how much, and the command that raises it."""

from decimal import ROUND_CEILING, Decimal

from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.money import display_usd, enough_usd, exact_usd, usd_text
from nodus_tui.contract.phases import Reason, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroupStatus
from nodus_tui.contract.resources.agent_run import AgentRun

_SHOWN_RUNS = 3
"""Runs that are told each with its command; more of them are raised together."""


async def waiting_runs(backend: Backend, group: str) -> list[AgentRun]:
    """The group's current runs that wait on a cap, their own or the group's."""
    page = await backend.list("AgentRun", Query(group=group))
    return _waiting([run for run in page.items if isinstance(run, AgentRun)])


def _waiting(runs: list[AgentRun]) -> list[AgentRun]:
    return [run for run in runs if run.status is not None and run.status.reason is Reason.MAX_COST_REACHED and not run.status.phase.ended]


def unstarted(run: AgentRun) -> bool:
    """Whether the run waits to start, so for its group's cap rather than its own."""
    return run.status is not None and run.status.phase is RunPhase.PENDING


def caps_to_start(runs: list[AgentRun]) -> Decimal:
    """What those of these runs that have not started reserve when they all start."""
    return sum((run.spec.max_cost_usd or Decimal(0) for run in runs if unstarted(run)), Decimal(0))


def room_for_all(status: AgentGroupStatus, runs: list[AgentRun]) -> Decimal:
    """The least group cap, as people are told it, under which all these waiting runs can start at once."""
    return enough_usd(status.money.cap_usd + max(caps_to_start(runs) - status.money.left_usd, Decimal(0)))


async def stands_stalled(backend: Backend, group: str, status: AgentGroupStatus) -> bool:
    """Whether nothing of a group can go on under the caps as they are now, or for want of its model's server.

    Its phase alone does not tell: it is the last word of a scheduler, and a cap may have been raised since.
    """
    if status.reason is Reason.WAITING_FOR_MODEL:
        return True
    page = await backend.list("AgentRun", Query(group=group))
    unfinished = [run for run in page.items if isinstance(run, AgentRun) and run.status is not None and not run.status.phase.ended]
    waiting = _waiting(unfinished)
    fits = any(unstarted(run) and (run.spec.max_cost_usd or Decimal(0)) <= status.money.left_usd for run in waiting)
    return len(waiting) == len(unfinished) and not fits


async def stall_sentences(backend: Backend, group: str, status: AgentGroupStatus) -> list[str]:
    """Sentences for a person in front of a stalled group."""
    return stall_advice(group, status, await waiting_runs(backend, group))


def stall_advice(group: str, status: AgentGroupStatus, waiting: list[AgentRun]) -> list[str]:
    """The same from the runs that wait. Pure."""
    sentences = [f"{group} is stalled" + (f": {status.message}" if status.message else ": every unfinished case waits on a cap")]
    to_start = sum(unstarted(run) for run in waiting)
    if to_start:
        cases = "case cannot start" if to_start == 1 else "cases cannot start"
        command = f"nodus-tui extend-cap group/{group} {usd_text(room_for_all(status, waiting))}"
        sentences.append(f"{to_start} {cases} under the group's cap of {display_usd(status.money.cap_usd)}; room for all: `{command}`")
    stuck = [run for run in waiting if not unstarted(run)]
    if len(stuck) > _SHOWN_RUNS:
        command = f"nodus-tui extend-cap group/{group} --waiting {usd_text(max(map(next_cap, stuck)))}"
        return [*sentences, f"{len(stuck)} runs wait at their own caps; all of them go on with `{command}`"]
    for run in stuck:
        cap = run.spec.max_cost_usd or Decimal(0)
        command = f"nodus-tui extend-cap run/{run.name} {usd_text(next_cap(run))}"
        sentences.append(f"{run.name} waits at its own cap of {exact_usd(cap)}; go on with `{command}`")
    return sentences


def next_cap(run: AgentRun) -> Decimal:
    """Twice the run's cap, or what its next call needs where that is more, rounded up to a plain figure."""
    needed = run.status.needed_cap_usd if run.status else None
    return rounded_cap(max(2 * (run.spec.max_cost_usd or Decimal(0)), enough_usd(needed or Decimal(0))))


def rounded_cap(amount: Decimal) -> Decimal:
    """At least the amount, in whole cents; in hundredths of a cent below ten cents; exact below a cent."""
    if amount < Decimal("0.01"):
        return amount
    return amount.quantize(Decimal("0.01" if amount >= Decimal("0.1") else "0.0001"), rounding=ROUND_CEILING)
