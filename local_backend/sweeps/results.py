"""The results of a sweep as they stand: its cells, and what cells that differ by shard and repetition only come to together. Reads only."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from local_backend.jobs.describing import cost_nano
from local_backend.reporting import sandbox_nano, time_json
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import GroupRecord, RunRecord
from local_backend.storage.store import Store
from local_backend.storage.sweep_records import CellRecord, SweepRecord
from local_backend.sweeps.cells import axes_of
from nodus_tui.contract.money import usd_from_nano
from nodus_tui.contract.resources.agent_group import Coverage
from nodus_tui.contract.resources.sweep import Scalar, SweepSpec
from nodus_tui.contract.resources.training_job import TaskScore
from nodus_tui.contract.sweep_results import PooledCells, PooledTask, Rate, SweepAxis, SweepCell, SweepCost, SweepResults
from nodus_tui.statistics.pass_rate import TaskCount, summary_of_counts

_POOLED_OVER = ("shard", "repetition")
_AT_ONCE = 50
"""Cells made into results before the event loop gets its turn."""


class _Work(Struct):
    """What is known of a cell's group or job. Money is nano-dollars."""

    spent: int = 0
    sandbox: int = 0
    exit_code: int | None = None
    scores: tuple[TaskScore, ...] = ()
    counts: dict[str, TaskCount] = field(default_factory=dict)
    """The scored answers by task."""
    rewards: list[float] = field(default_factory=list)


async def sweep_results(store: Store, record: SweepRecord, cells: Sequence[CellRecord], clock: Callable[[], datetime]) -> SweepResults:
    """The results of a sweep."""
    spec = SweepSpec.model_validate(record.spec)
    kind = spec.template.kind
    work = await (_groups(store, record.name, clock) if kind == "AgentGroup" else _jobs(store, record.name, clock))
    evaluation = getattr(spec.template.spec, "evaluation", None)
    cases = evaluation.cases if evaluation is not None else 0
    made: list[SweepCell] = []
    for place, cell in enumerate(cells):
        if place % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)
        made.append(_cell(cell, work.get(cell.name), cases))
    status = record.status
    return SweepResults(
        sweep=record.name,
        phase=record.phase,
        message=record.message,
        axes=tuple(SweepAxis(name=name, values=values) for name, values in axes_of(spec).items()),
        cost=SweepCost.model_validate(
            {name: status[name] for name in ("costUSD", "spentUSD", "reservedUSD", "leftUSD", "capUSD")}
            | {"sandboxUSD": usd_from_nano(sum(each.sandbox for each in work.values()))}
        ),
        cells=tuple(made),
        pooled=tuple(_pools(cells, work, cases)) if cases else (),
        simulated=bool(status.get("simulated")),
        notional_price=bool(status.get("notionalPrice")),
    )


def _cell(cell: CellRecord, work: _Work | None, cases: int) -> SweepCell:
    found = work or _Work(spent=cell.spent)
    return SweepCell.model_validate(
        {
            "name": cell.name,
            "kind": cell.kind,
            "launched": cell.launched,
            "axes": cell.axes,
            "phase": cell.phase,
            "reason": cell.reason,
            "message": cell.message,
            "capUSD": usd_from_nano(cell.cap),
            "costUSD": usd_from_nano(found.spent),
            "sandboxUSD": usd_from_nano(found.sandbox),
            "rate": _rate(found.counts.values(), cases, found.rewards) if cases and cell.launched else None,
            "scores": found.scores,
            "exitCode": found.exit_code,
            "simulated": cell.simulated,
            "notionalPrice": cell.notional,
            "startedAt": time_json(cell.started_at),
            "endedAt": time_json(cell.ended_at),
        }
    )


def _rate(counts: Iterable[TaskCount], total: int, rewards: Sequence[float]) -> Rate:
    summary = summary_of_counts(counts, total=total, rewards=rewards)
    return Rate(
        pass_rate=summary.pass_rate,
        standard_error=summary.standard_error,
        standard_error_method=summary.standard_error_method,
        ci95=(summary.ci95[0], summary.ci95[1]) if summary.ci95 is not None else None,
        ci_method=summary.ci_method,
        mean_reward=summary.mean_reward,
        coverage=Coverage(scored=summary.scored, total=summary.total),
    )


def _pools(cells: Sequence[CellRecord], work: Mapping[str, _Work], cases: int) -> list[PooledCells]:
    """One for each combination of the other axes. A task is one cluster, in however many cells it was answered."""
    together: dict[tuple[Scalar, ...], list[CellRecord]] = defaultdict(list)
    for cell in cells:
        together[tuple(value for name, value in cell.axes.items() if name not in _POOLED_OVER)].append(cell)
    return [_pool(members, work, cases) for members in together.values()]


def _pool(members: Sequence[CellRecord], work: Mapping[str, _Work], cases: int) -> PooledCells:
    counts: dict[str, TaskCount] = {}
    rewards: list[float] = []
    for cell in members:
        found = work.get(cell.name, _Work())
        rewards += found.rewards
        for task, count in found.counts.items():
            before = counts.get(task, TaskCount(0, 0))
            counts[task] = TaskCount(before.answers + count.answers, before.correct + count.correct)
    return PooledCells(
        axes={name: value for name, value in members[0].axes.items() if name not in _POOLED_OVER},
        cells=tuple(cell.name for cell in members),
        rate=_rate(counts.values(), cases * len(members), rewards),
        cost_usd=usd_from_nano(sum(work[cell.name].spent if cell.name in work else cell.spent for cell in members)),
        tasks=tuple(PooledTask(task_id=task, answers=count.answers, correct=count.correct) for task, count in sorted(counts.items())),
    )


async def _groups(store: Store, sweep: str, clock: Callable[[], datetime]) -> dict[str, _Work]:
    """By cell; a group that was deleted since is left out."""
    mine = "name IN (SELECT name FROM sweep_cells WHERE sweep = ?)"
    groups, runs = await store.read_many(
        [
            (f"SELECT * FROM groups WHERE {mine}", (sweep,)),  # noqa: S608 - a constant
            (f"SELECT * FROM runs WHERE group_{mine} ORDER BY seq", (sweep,)),  # noqa: S608 - a constant
        ]
    )
    found = {GroupRecord.from_row(row).name: _Work() for row in groups}
    by_group: dict[str, list[RunRecord]] = defaultdict(list)
    for place, row in enumerate(runs):
        if place % 1000 == 999:
            await asyncio.sleep(0)
        by_group[row["group_name"]].append(RunRecord.from_row(row))
    now = clock()
    for name, mine_runs in by_group.items():
        work = found[name]
        work.spent = sum(run.spent for run in mine_runs)
        work.sandbox = sandbox_nano(mine_runs, now)
        for run in mine_runs:
            if run.current and run.verdict is not None and run.verdict.scored:
                before = work.counts.get(run.task_id, TaskCount(0, 0))
                work.counts[run.task_id] = TaskCount(before.answers + 1, before.correct + (run.verdict.value == "Correct"))
                work.rewards.append(run.reward or 0.0)
    return found


async def _jobs(store: Store, sweep: str, clock: Callable[[], datetime]) -> dict[str, _Work]:
    rows = await store.read("SELECT * FROM jobs WHERE name IN (SELECT name FROM sweep_cells WHERE sweep = ?)", (sweep,))
    now = clock()
    found = {}
    for record in map(JobRecord.from_row, rows):
        scores = tuple(TaskScore.model_validate(each) for each in record.scores)
        found[record.name] = _Work(spent=cost_nano(record, now), exit_code=record.exit_code, scores=scores)
    return found
