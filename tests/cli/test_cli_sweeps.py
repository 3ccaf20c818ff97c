"""Sweeps by the command line: run, results, compare, the verbs that act, Ctrl-C, and a scheduler that is killed in the middle."""

import csv
import io
import json
import os
import signal
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from cli_workspace import SPEC, Workspace
from click.testing import Result
from test_cli_interrupting import started

pytestmark = pytest.mark.timeout(90)

AGENTS = "---\n".join(
    SPEC.format(name="unused", family=family, tasks=1, active=1, run_cap="0.10", cap="1.00", agent=name).partition("---\n")[0]
    for name, family in (("good", "perfect"), ("fair", "quick"), ("ill", "broken"), ("calm", "steady"))
)


def spec(
    workspace: Workspace,
    name: str = "grid",
    *,
    agents: tuple[str, ...] = ("good", "fair"),
    shards: int = 2,
    tasks: int = 10,
    cap: str = "10.00",
    cell_cap: str = "1.00",
    parallel: int = 2,
    active: int = 10,
) -> str:
    evaluation = {"environment": "nodus/arithmetic-v2@2.0.0", "tasks": tasks, "seed": 7}
    sweep = {
        "apiVersion": "nodus.dev/v1",
        "kind": "Sweep",
        "metadata": {"name": name},
        "spec": {
            "maxCostUSD": cap,
            "maxParallel": parallel,
            "template": {
                "kind": "AgentGroup",
                "spec": {"agent": agents[0], "maxActive": active, "maxCostUSD": cell_cap, "evaluation": evaluation},
            },
            "matrix": {"agents": agents, "shards": shards},
        },
    }
    return workspace.write(f"{AGENTS}---\n{json.dumps(sweep)}\n", f"{name}.yaml")


def test_run_gives_the_cells_what_they_come_to_together_and_a_comparison(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    path = spec(workspace)
    done = nodus("run", "-f", path, "-o", "json")
    assert done.exit_code == 0, done.stderr
    assert "grid: Completed, 4/4 cells ended; $" in done.stderr
    stands = nodus("watch", "sweep/grid", "--once").stdout
    assert "Sweep grid: Completed" in stands
    assert stands.count("SweepCell grid-") == 4
    results = json.loads(done.stdout)
    assert [cell["axes"] for cell in results["cells"]] == [{"agent": a, "shard": s} for s in (1, 2) for a in ("good", "fair")]
    assert [pool["axes"] for pool in results["pooled"]] == [{"agent": "good"}, {"agent": "fair"}]
    for pool in results["pooled"]:
        assert pool["rate"]["coverage"] == {"scored": 20, "total": 20}
        assert len({task["taskId"] for task in pool["tasks"]}) == 20
    assert results["pooled"][0]["rate"]["passRate"] == 1.0
    assert Decimal(results["cost"]["costUSD"]) == sum(Decimal(cell["costUSD"]) for cell in results["cells"])
    table = nodus("results", "sweep/grid").stdout
    assert "Taken together (shards are disjoint tasks; repetitions the same ones):" in table
    assert "good       2  100.0% [83.9, 100.0] (SE 0.0), 20/20 scored     20" in table
    (row,) = json.loads(nodus("compare", "sweep/grid", "-o", "json").stdout)
    fair = results["pooled"][1]["rate"]["passRate"]
    assert (row["first"], row["second"], row["tasks"]) == ("agent=good", "agent=fair", 20)
    assert row["difference"] == pytest.approx(1 - fair)
    assert [note.startswith("agent=") and "simulated model" in note for note in row["notes"]] == [True, True]
    (cells,) = json.loads(nodus("compare", "grid-1", "grid-2", "-o", "json").stdout)
    assert (cells["tasks"], cells["onlyFirst"]) == (10, 0)
    apart = json.loads(nodus("compare", "grid-1", "grid-3", "-o", "json").stdout)[0]
    assert (apart["tasks"], apart["difference"], apart["onlyFirst"]) == (0, None, 10)
    lines = list(csv.DictReader(io.StringIO(nodus("results", "sweep/grid", "-o", "csv").stdout)))
    assert [(line["cell"], line["axis.agent"], line["axis.shard"], line["scored"]) for line in lines][:2] == [
        ("grid-1", "good", "1", "10"),
        ("grid-2", "fair", "1", "10"),
    ]
    assert "2 agents × 2 shards" in nodus("get", "sweeps").stdout
    assert json.loads(nodus("get", "sweep/grid", "-o", "json").stdout)["status"]["ended"] == 4
    assert "grid-4" in nodus("describe", "grid").stdout
    again = nodus("run", "-f", path, "-o", "json")
    assert "has already ended (Completed)" in again.stderr
    assert json.loads(again.stdout) == results
    assert nodus("run", "-f", path, "--as", "other", "--min-pass-rate", "0.99", "-q").exit_code == 1
    assert nodus("wait", "sweep/other", "--min-pass-rate", "0.2").exit_code == 0
    deleted = nodus("delete", "--yes", "sweeps/grid")
    assert deleted.stdout == "deleted Sweep grid with its 4 cells\n"
    assert "grid-1" not in nodus("get", "groups").stdout
    assert nodus("results", "sweep/grid").exit_code == 2


def test_what_cannot_be_compared_says_why(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    template = {"kind": "Job", "spec": {"command": ["true"], "maxCostUSD": "1"}}
    spec = {"maxCostUSD": "5", "maxParallel": 2, "template": template, "matrix": {"parameters": {"N": [1, 2]}}}
    sweep = {"apiVersion": "nodus.dev/v1", "kind": "Sweep", "metadata": {"name": "one"}, "spec": spec}
    assert nodus("run", "-f", workspace.write(json.dumps(sweep), "one.yaml"), "-q").exit_code == 0
    done = nodus("compare", "sweep/one")
    assert (done.exit_code, "one cannot be compared task by task: its cells are Jobs" in done.stderr) == (2, True), done.stderr


def test_a_stall_is_exit_3_and_caps_are_extended_where_the_sweep_has_the_money(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    done = nodus("run", "-f", spec(workspace, agents=("good",), shards=2, cap="0.15", cell_cap="0.05"))
    assert done.exit_code == 3
    assert "grid is stalled: grid-1 stalls at its caps" in done.stderr
    refused = nodus("extend-cap", "group/grid-1", "0.16")
    assert refused.exit_code == 3
    assert "a cap of $0.16 for it does not fit under what the sweep has left" in refused.stderr
    assert nodus("extend-cap", "sweep/grid", "2.00").stdout == "raised the cap of grid from $0.15 to $2.00\n"
    assert nodus("extend-cap", "group/grid-1", "group/grid-2", "1.00").exit_code == 0
    assert nodus("wait", "sweep/grid").exit_code == 0


def test_cells_that_broke_are_infrastructure_and_are_retried_by_name(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    done = nodus("run", "-f", spec(workspace, agents=("good", "ill"), shards=1, tasks=2))
    assert done.exit_code == 4
    assert "grid-2: nothing is scored (2 InfrastructureFailure)" in done.stderr
    assert nodus("retry", "sweep/grid", "grid-1", "--no-wait").stdout == "grid: of those cells nothing is there to retry\n"
    assert nodus("retry", "sweep/grid", "grid-9", "--no-wait").exit_code == 2
    assert nodus("retry", "sweep/grid").exit_code == 4
    assert nodus("retry", "sweep/grid", "--reason", "Killed").exit_code == 2


def test_what_the_verbs_refuse_of_sweeps(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    for words in (
        ("pause", "group/grid"),
        ("compare", "one"),
        ("compare", "sweep/grid", "other"),
        ("resume", "job/grid"),
        ("wait", "run/x"),
    ):
        assert nodus(*words).exit_code == 2
    assert nodus("kill", "--yes", "cell/grid-1").exit_code == 2
    both = workspace.write(
        f"{Path(spec(workspace, 'one')).read_text()}---\n{Path(spec(workspace, 'two')).read_text().rpartition('---')[2]}"
    )
    assert "--as names one sweep, and there are 2" in nodus("run", "-f", both, "--as", "x").stderr


async def test_ctrl_c_pauses_the_sweep_and_resume_goes_on_with_it(workspace: Workspace) -> None:
    path = spec(workspace, agents=("calm",), shards=3, tasks=12, parallel=1, active=2)
    async with started(workspace, "run", "-f", path, "-o", "json") as command:
        await command.says("1 going")
        command.process.send_signal(signal.SIGINT)
        code, results = await command.result()
    assert code == 130
    assert (results["phase"], results["cells"][1]["launched"]) == ("Interrupted", False)
    assert "`nodus-tui resume sweep/grid` goes on with it" in "".join(command.said)
    done = workspace.installed("resume", "sweep/grid", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert [cell["rate"]["coverage"]["scored"] for cell in json.loads(done.stdout)["cells"]] == [12, 12, 12]


async def test_a_scheduler_that_is_killed_in_the_middle_costs_no_cell(workspace: Workspace) -> None:
    path = spec(workspace, agents=("calm", "good"), shards=2, tasks=4, parallel=2)
    async with started(workspace, "run", "-f", path) as command:
        await command.says("2 going")
        os.kill(command.process.pid, signal.SIGKILL)
        await command.process.wait()
    done = workspace.installed("run", "-f", path, "-o", "json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert [cell["rate"]["coverage"]["scored"] for cell in results["cells"]] == [4] * 4
    assert len(json.loads(workspace.installed("get", "groups", "-o", "json").stdout)) == 4
    assert Decimal(results["cost"]["costUSD"]) <= Decimal("10.00")


async def test_a_cell_that_was_not_launched_is_killed_by_its_name_and_a_sweep_by_its_own(workspace: Workspace) -> None:
    # One short call after the other: the kill waits for the one in flight.
    path = spec(workspace, agents=("calm",), shards=3, tasks=100, cell_cap="3.00", parallel=1, active=1)
    async with started(workspace, "run", "-f", path, "-o", "json") as command:
        await command.says("1 going")
        assert workspace.installed("kill", "--yes", "cell/grid-3").stdout == "killed grid-3; it was not launched\n"
        assert workspace.installed("pause", "sweep/grid").stdout.startswith("paused grid: no further cell starts")
        killed = workspace.installed("kill", "--yes", "sweep/grid")
        assert killed.stdout.startswith("killed grid: 2 unfinished cells ended")
        code, results = await command.result()
    assert code == 1
    assert [(cell["phase"], cell["reason"]) for cell in results["cells"]] == [("Cancelled", "Killed")] * 3
