"""Sweeps as people and programs read them: the table of cells, what cells come to together, and the lines under both. Pure."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from nodus_tui.cli.cell_texts import seconds_text
from nodus_tui.cli.output import csv_text, json_text, pairs_text, table_text, yaml_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.sweep import Scalar, Sweep, scalar_text
from nodus_tui.contract.sweep_results import PooledCells, Rate, SweepCell, SweepResults
from nodus_tui.statistics.format import pass_rate_text

_FIGURES = frozenset({"COST", "CAP", "EXIT", "TOOK", "CELLS"})

_CSV = (
    "cell",
    "phase",
    "reason",
    "message",
    "passRate",
    "standardError",
    "low95",
    "high95",
    "scored",
    "total",
    "exitCode",
    "costUSD",
    "capUSD",
)


def sweep_results_text(results: Sequence[SweepResults], output: str) -> str:
    """The results in one of the formats. JSON is one object for one sweep, a list for several; YAML a document each; CSV a line a cell."""
    if output == "json":
        documents = [each.to_document() for each in results]
        return json_text(documents[0] if len(documents) == 1 else list(documents))
    if output == "yaml":
        return yaml_text([each.to_document() for each in results])
    if output == "csv":
        return _csv(results)
    return "\n\n".join("\n\n".join(filter(None, (cells_table(each), pools_table(each), sweep_summary(each)))) for each in results)


def _csv(results: Sequence[SweepResults]) -> str:
    axes = list(dict.fromkeys(axis.name for each in results for axis in each.axes))
    rows: list[Mapping[str, JsonValue]] = []
    for each in results:
        for cell in each.cells:
            document = cell.to_document()
            rate: dict[str, JsonValue] = {}
            if cell.rate is not None:
                low, high = cell.rate.ci95 or (None, None)
                rate = {"passRate": cell.rate.pass_rate, "standardError": cell.rate.standard_error, "low95": low, "high95": high}
                rate |= {"scored": cell.rate.coverage.scored, "total": cell.rate.coverage.total}
            rows.append(
                {"sweep": each.sweep, "cell": cell.name, **document, **rate, **{f"axis.{name}": cell.axes.get(name) for name in axes}}
            )
    return csv_text(rows, ["sweep", "cell", *(f"axis.{name}" for name in axes), *_CSV[1:]])


def cells_table(results: SweepResults) -> str:
    """One line a cell, in the order in which they start."""
    scored = any(cell.kind == "AgentGroup" for cell in results.cells)
    titles = (
        "CELL",
        *(axis.name.upper() for axis in results.axes),
        "PHASE",
        "PASS RATE" if scored else "EXIT",
        "COST",
        "CAP",
        "TOOK",
        "NOTE",
    )
    rows = [
        (
            cell.name,
            *(axis_text(cell.axes[axis.name]) for axis in results.axes),
            cell.phase.value,
            rate_text(cell.rate, ended=cell.phase.ended) if scored else "-" if cell.exit_code is None else str(cell.exit_code),
            display_usd(cell.cost_usd),
            display_usd(cell.cap_usd),
            _took(cell),
            note_of(cell),
        )
        for cell in results.cells
    ]
    return table_text(titles, rows, right=_FIGURES)


def _took(cell: SweepCell) -> str:
    if cell.started_at is None or cell.ended_at is None:
        return "-"
    return seconds_text((cell.ended_at - cell.started_at).total_seconds())


def note_of(cell: SweepCell) -> str:
    """Why it is as it is; the scores of a TrainingJob that has some."""
    scores = ", ".join(f"{each.task} {each.metric} {each.value:.4g}" for each in cell.scores)
    return scores or ": ".join(part for part in (cell.reason or "", cell.message) if part)


def rate_text(rate: Rate | None, *, ended: bool) -> str:
    """`62.0% ± 9.5 (SE 4.9), 97/100 scored`; a hyphen where nothing is scored at all."""
    if rate is None:
        return "-"
    return pass_rate_text(
        pass_rate=rate.pass_rate,
        standard_error=rate.standard_error,
        ci95=rate.ci95,
        scored=rate.coverage.scored,
        total=rate.coverage.total,
        ended=ended,
    )


def pools_table(results: SweepResults) -> str:
    """What cells that differ by shard and repetition only come to together; empty where no cell does."""
    if all(len(pool.cells) == 1 for pool in results.pooled):
        return ""
    names = list(results.pooled[0].axes)
    titles = (*(name.upper() for name in names), "CELLS", "PASS RATE", "TASKS", "COST")
    rows = [
        (
            *(axis_text(pool.axes[name]) for name in names),
            str(len(pool.cells)),
            rate_text(pool.rate, ended=results.phase.ended),
            str(len(pool.tasks)),
            display_usd(pool.cost_usd),
        )
        for pool in results.pooled
    ]
    return "Taken together (shards are disjoint tasks; repetitions the same ones):\n" + table_text(titles, rows, right=_FIGURES | {"TASKS"})


def axis_text(value: Scalar) -> str:
    """A value on an axis."""
    return scalar_text(value)


def pool_name(pool: PooledCells) -> str:
    """`agent=plain`; `all cells` where shard and repetition are the only axes."""
    return ", ".join(f"{name}={axis_text(value)}" for name, value in pool.axes.items()) or "all cells"


def sweep_summary(results: SweepResults) -> str:
    """Phase, money, and what keeps it from going on."""
    cost = results.cost
    ended = sum(cell.phase.ended for cell in results.cells)
    kept = ((cost.spent_usd, "spent by cells at rest"), (cost.reserved_usd, "reserved"), (cost.left_usd, "left"))
    parts = ", ".join(f"{display_usd(amount)} {what}" for amount, what in kept)
    money = [f"{display_usd(cost.cost_usd)} of {display_usd(cost.cap_usd)} ({parts})"]
    money += [f"{display_usd(cost.sandbox_usd)} on sandboxes, apart from the cap"] if cost.sandbox_usd else []
    money += ["simulated: nobody pays it"] if results.simulated else []
    money += ["notional price: nobody pays it"] if results.notional_price and not results.simulated else []
    return pairs_text(
        [
            ("Sweep", f"{results.sweep} ({results.phase.value})"),
            ("Why", results.message),
            ("Cells", f"{ended}/{len(results.cells)} ended"),
            ("Cost", "; ".join(money)),
        ]
    )


def sweep_row(sweep: Sweep) -> tuple[str, ...]:
    """The cells of one line of `get sweeps`."""
    spec, status = sweep.spec, sweep.status
    axes = " × ".join(f"{len(values)} {name}" for name, values in _axis_counts(sweep).items()) or "one cell"
    if status is None:
        return sweep.name, "-", "-", "-", "-", display_usd(spec.max_cost_usd), "-", spec.template.kind, axes
    mark = " (simulated)" if status.simulated else " (notional price)" if status.notional_price else ""
    return (
        sweep.name,
        status.phase.value + mark,
        f"{status.ended}/{status.cells}",
        str(status.going),
        display_usd(status.cost_usd),
        display_usd(status.cap_usd),
        display_usd(status.left_usd),
        spec.template.kind,
        axes,
    )


def _axis_counts(sweep: Sweep) -> dict[str, Sequence[object]]:
    matrix = sweep.spec.matrix
    named: dict[str, Sequence[object]] = {
        "accelerators": matrix.accelerators,
        "agents": matrix.agents,
        **matrix.parameters,
        "shards": range(matrix.shards) if matrix.shards > 1 else (),
        "repetitions": range(sweep.spec.repetitions) if sweep.spec.repetitions > 1 else (),
    }
    return {name: values for name, values in named.items() if values}


SWEEP_TITLES = ("NAME", "PHASE", "ENDED", "GOING", "SPENT", "CAP", "LEFT", "TEMPLATE", "AXES")
