"""Sweeps as a backend tells of them, for tests of the console: two agents by five shards, at work."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from console_records import NOW, START, group, usd
from job_records import job

from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase, Verdict
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupSpec, Coverage, Evaluation
from nodus_tui.contract.resources.job import Job, JobSpec
from nodus_tui.contract.resources.meta import Metadata
from nodus_tui.contract.resources.sweep import AgentGroupTemplate, JobTemplate, Matrix, Sweep, SweepSpec, SweepStatus
from nodus_tui.contract.results import CaseResult, GroupResults, ResultAgent, ResultCost
from nodus_tui.contract.sweep_results import PooledCells, PooledTask, Rate, SweepAxis, SweepCell, SweepCost, SweepResults

AGENTS = ("plain", "careful")
SHARDS = 5
TASKS = 20


def sweep(name: str = "shootout", **status: Any) -> Sweep:
    known: dict[str, Any] = {
        "phase": GroupPhase.RUNNING,
        "cells": 10,
        "ended": 4,
        "failed": 1,
        "going": 2,
        "stalled": 1,
        "cap_usd": usd("6.00"),
        "cost_usd": usd("1.90"),
        "spent_usd": usd("1.60"),
        "reserved_usd": usd("1.20"),
        "left_usd": usd("3.20"),
        "simulated": True,
        "created_at": START,
        "started_at": START + timedelta(seconds=10),
    }
    evaluation = Evaluation(environment="nodus/arithmetic-v2@2.0.0", tasks=TASKS, seed=7)
    template = AgentGroupSpec(agent="plain", max_cost_usd=usd("0.60"), evaluation=evaluation)
    spec = SweepSpec(
        max_cost_usd=usd("6.00"),
        max_parallel=2,
        template=AgentGroupTemplate(kind="AgentGroup", spec=template),
        matrix=Matrix(agents=AGENTS, shards=SHARDS),
    )
    return Sweep(metadata=Metadata(name=name), spec=spec, status=SweepStatus.model_validate({**known, **status}))


def rate(correct: int, scored: int, total: int) -> Rate:
    share = correct / scored if scored else None
    error = None if share is None else (share * (1 - share) / scored) ** 0.5
    return Rate(
        pass_rate=share,
        standard_error=error,
        standard_error_method="clustered by task",
        ci95=None if share is None or error is None else (share - 1.96 * error, share + 1.96 * error),
        ci_method="normal",
        mean_reward=share,
        coverage=Coverage(scored=scored, total=total),
    )


def cell(place: int, *, of: str = "shootout", axes: dict[str, Any] | None = None, **more: Any) -> SweepCell:
    """The cell at a place, from 1: shards outermost, agents within."""
    shard, agent = divmod(place - 1, len(AGENTS))
    known: dict[str, Any] = {
        "name": f"{of}-{place:02d}",
        "kind": "AgentGroup",
        "launched": False,
        "axes": {"agent": AGENTS[agent], "shard": shard + 1} if axes is None else axes,
        "phase": GroupPhase.PENDING,
        "cap_usd": usd("0.60"),
        "cost_usd": Decimal(0),
        "sandbox_usd": Decimal(0),
    }
    return SweepCell.model_validate({**known, **more})


def ended_cell(place: int, correct: int, cost: str = "0.41", **more: Any) -> SweepCell:
    known: dict[str, Any] = {
        "launched": True,
        "phase": GroupPhase.COMPLETED,
        "cost_usd": usd(cost),
        "rate": rate(correct, TASKS, TASKS),
        "simulated": True,
        "started_at": START + timedelta(seconds=10),
        "ended_at": START + timedelta(seconds=52),
    }
    return cell(place, **{**known, **more})


def cells() -> tuple[SweepCell, ...]:
    """One in each state that a person can meet."""
    begun = {"launched": True, "started_at": NOW - timedelta(minutes=1), "simulated": True}
    waits = {"reason": "WaitingForPlace", "message": "waits for one of 2 places (maxParallel)"}
    return (
        ended_cell(1, 12),
        ended_cell(2, 17),
        ended_cell(3, 11),
        ended_cell(4, 9, "0.11", phase=GroupPhase.CANCELLED, reason="Killed", message="killed by ops", rate=rate(7, 9, TASKS)),
        cell(
            5,
            **begun,
            phase=GroupPhase.STALLED,
            reason="MaxCostReached",
            message="3 runs wait at their own caps: extend to at least $0.076",
            cost_usd=usd("0.26"),
            rate=rate(9, 14, TASKS),
        ),
        cell(6, **begun, phase=GroupPhase.RUNNING, cost_usd=usd("0.20"), rate=rate(8, 10, TASKS)),
        cell(7, **begun, phase=GroupPhase.RUNNING, cost_usd=usd("0.10"), rate=rate(0, 0, TASKS)),
        *(cell(place, **waits) for place in (8, 9, 10)),
    )


def groups() -> list[AgentGroup]:
    """The groups of the cells that go, further on than the sweep was when it was asked."""
    return [
        group("shootout-06", cap="0.60", tasks=TASKS, pending=8, coverage=Coverage(scored=12, total=TASKS), spent="0.24", reserved="0.1"),
        group(
            "shootout-07",
            cap="0.60",
            tasks=TASKS,
            pending=TASKS,
            coverage=Coverage(scored=0, total=TASKS),
            spent="0.11",
            reserved="0.1",
            verdicts={},
            pass_rate=None,
            standard_error=None,
            ci95=None,
        ),
    ]


def results(*, told: tuple[SweepCell, ...] | None = None, name: str = "shootout") -> SweepResults:
    found = cells() if told is None else told
    pools = [
        PooledCells(
            axes={"agent": agent},
            cells=tuple(each.name for each in found if each.axes["agent"] == agent),
            rate=rate(32, 54, SHARDS * TASKS),
            cost_usd=usd("1.18"),
            tasks=tuple(PooledTask(task_id=f"sum-{n:03d}", answers=1, correct=(n + place) % 3 > 0) for n in range(54)),
        )
        for place, agent in enumerate(AGENTS)
    ]
    return SweepResults(
        sweep=name,
        phase=GroupPhase.RUNNING,
        axes=(SweepAxis(name="agent", values=AGENTS), SweepAxis(name="shard", values=tuple(range(1, SHARDS + 1)))),
        cost=SweepCost(
            cost_usd=usd("1.90"),
            spent_usd=usd("1.60"),
            reserved_usd=usd("1.20"),
            left_usd=usd("3.20"),
            cap_usd=usd("6.00"),
            sandbox_usd=Decimal(0),
        ),
        cells=found,
        pooled=tuple(pools),
        simulated=True,
    )


def group_results(name: str, correct: int, *, first: int = 0) -> GroupResults:
    """Answers to `TASKS` tasks, those before `correct` right."""
    answers = tuple(
        CaseResult(
            task_id=f"sum-{first + number:03d}",
            repetition=1,
            run=f"{name}-{number:04d}-a1",
            state="Scored",
            verdict=Verdict.CORRECT if number < correct else Verdict.INCORRECT,
            reward=float(number < correct),
            reason=None,
            message="",
            cost_usd=usd("0.02"),
            cap_usd=usd("0.03"),
            input_tokens=10,
            output_tokens=10,
            queued_seconds=0,
            duration_seconds=1,
        )
        for number in range(TASKS)
    )
    scored = rate(correct, TASKS, TASKS)
    return GroupResults(
        group=name,
        phase=GroupPhase.COMPLETED,
        **scored.model_dump(),
        pending=0,
        cost=ResultCost(model_usd=usd("0.41"), sandbox_usd=Decimal(0), unconfirmed_usd=Decimal(0), cap_usd=usd("0.60")),
        environment=None,
        agent=ResultAgent(name="plain", revision=1),
        model="sim-small",
        simulated=True,
        notional_price=False,
        results=answers,
    )


def job_sweep(name: str = "rates") -> tuple[Sweep, SweepResults, list[Job]]:
    """One axis only: three jobs, of which one has ended and one runs."""
    spec = SweepSpec(
        max_cost_usd=usd("1.50"),
        max_parallel=1,
        template=JobTemplate(kind="Job", spec=JobSpec(command=("python", "train.py"), max_cost_usd=usd("0.50"))),
        matrix=Matrix(parameters={"RATE": (0.1, 0.01, 0.001)}),
    )
    status = sweep(
        ended=1, failed=0, going=1, stalled=0, cells=3, cap_usd=usd("1.50"), left_usd=usd("1.00"), reserved_usd=usd("0.49")
    ).status
    told = tuple(
        cell(place, of=name, kind="Job", axes={"RATE": value}, cap_usd=usd("0.50"), name=f"{name}-{place}", **more)
        for place, value, more in (
            (1, 0.1, {"launched": True, "phase": GroupPhase.COMPLETED, "cost_usd": usd("0.01"), "exit_code": 0}),
            (2, 0.01, {"launched": True, "phase": GroupPhase.RUNNING, "started_at": NOW - timedelta(minutes=10)}),
            (3, 0.001, {"reason": "WaitingForPlace", "message": "waits for one of 1 place (maxParallel)"}),
        )
    )
    found = results(told=(), name=name).model_copy(
        update={"axes": (SweepAxis(name="RATE", values=(0.1, 0.01, 0.001)),), "cells": told, "pooled": ()}
    )
    jobs = [job(f"{name}-1", phase="Succeeded", exit_code=0), job(f"{name}-2")]
    return Sweep(metadata=Metadata(name=name), spec=spec, status=status), found, jobs


def cell_changed(name: str, cursor: int, *, of: str = "shootout", **status: Any) -> Event:
    return Event(cursor=cursor, at=NOW, change="Changed", kind="SweepCell", name=name, group=of, status=status)
