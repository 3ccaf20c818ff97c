"""The Python interface on the embedded backend: every call of it, in threads, on running loops, and with broken values."""

import asyncio
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sdk_place import EVALUATION

from nodus_tui import sdk as nodus
from nodus_tui.contract.money import usd_text
from nodus_tui.sdk import aio, handles

pytestmark = pytest.mark.timeout(60)


def worker(family: str = "haiku", cap: str = "0.10") -> nodus.Agent:
    return nodus.Agent.create("worker", families=[family], system="Be brief.", max_tokens=100, per_run_max_cost=cap)


def evaluate(**more: Any) -> nodus.AgentGroup:
    return nodus.AgentGroup.create("eval", **{"agent": "worker", "max_active": 2, "max_cost": "0.20", "evaluation": EVALUATION, **more})


@pytest.mark.parametrize("in_process", [True, False], ids=["in process", "as chosen by default"])
def test_a_users_script_runs_as_a_program(workspace: Path, in_process: bool) -> None:
    spec = workspace / "agent.yaml"
    spec.write_text(
        """\
apiVersion: nodus.dev/v1
kind: Agent
metadata:
  name: parallel-agents-worker
spec:
  system: |
    Follow the task's requested answer format; otherwise answer in one short sentence.
  model:
    access: Nodus
    families: [haiku]
    maxTokens: 1024
  perRunMaxCostUSD: "0.10"
""",
        encoding="utf-8",
    )
    environment = {**os.environ, "NODUS_IN_PROCESS": "1" if in_process else "0"}
    command = Path(sys.executable).with_name("nodus-tui")
    subprocess.run([command, "apply", "-f", spec], env=environment, check=True, capture_output=True)
    try:
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("agent_evaluation.py")], env=environment, capture_output=True, text=True, check=False
        )
    finally:
        if not in_process:
            subprocess.run([command, "scheduler", "stop"], env=environment, check=False, capture_output=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[:3] == ["Completed: cases=2, pending=0", "pass rate: 1.0", "mean reward: 1.0"]
    assert [line.split()[1:] for line in lines[3:]] == [["Scored", "Correct"]] * 2
    assert done.returncode == 0


def test_status_and_results_read_by_attribute_and_by_documented_name() -> None:
    worker()
    group = evaluate()
    status = group.wait(timeout=timedelta(seconds=50))
    assert status.phase is nodus.GroupPhase.COMPLETED
    assert status.evaluation.pass_rate == status.evaluation.get("passRate") == status["passRate"] == 1.0
    assert status.evaluation.get("coverage") == {"scored": 2, "total": 2}
    assert status.evaluation.get("noSuchFigure") is None
    assert isinstance(status.cost, Decimal)
    assert status.cost > 0
    results = group.results()
    assert results.summary.pass_rate == 1.0
    assert [case.get("verdict") for case in results] == ["Correct", "Correct"]
    assert results[0].verdict is nodus.Verdict.CORRECT
    assert results[0]["costUSD"] == usd_text(results[0].cost_usd)
    assert [case.task_id for case in results[:1]] == [results[0].task_id]
    assert group.runs()[0].transcript().turns[-1].role == "assistant"
    assert nodus.AgentGroup.list()[0].name == nodus.AgentGroup.get("eval").name == "eval"
    group.delete()
    with pytest.raises(nodus.NodusError, match="there is no AgentGroup"):
        group.status()


def test_a_wait_that_takes_too_long_raises_and_the_group_goes_on() -> None:
    worker("slow")
    group = evaluate()
    with pytest.raises(TimeoutError, match=r"eval is .* after 0\.5 s, 2 of 2 cases pending; it goes on"):
        group.wait(timeout=0.5)
    assert not group.status().phase.ended
    group.delete()
    assert nodus.AgentGroup.list() == ()


def test_a_stalled_group_ends_the_wait_and_goes_on_when_its_cap_is_raised() -> None:
    worker(cap="0.10")
    group = evaluate(max_cost="0.05")
    status = group.wait(timeout=50)
    assert (status.phase, status.reason) == (nodus.GroupPhase.STALLED, nodus.Reason.MAX_COST_REACHED)
    outcome = group.extend_cap("0.40")
    assert outcome.changed
    assert group.wait(timeout=50).evaluation.get("passRate") == 1.0


def test_runs_are_killed_extended_and_retried() -> None:
    worker("slow", cap="0.10")
    group = evaluate()
    first, second = _until_going(group)
    assert first.kill().changed
    status = first.status()
    assert status is not None
    assert status.phase is nodus.RunPhase.CANCELLED
    group.kill()
    assert group.wait(timeout=50).phase is nodus.GroupPhase.CANCELLED
    again = group.retry(reasons=["Killed"])
    assert again.changed
    group.kill()
    assert second.name != group.runs()[1].name


def _until_going(group: nodus.AgentGroup) -> tuple[nodus.AgentRun, ...]:
    while not group.runs() or group.status().going < 2:
        pass
    return group.runs()


def test_extending_a_run_gives_its_successor() -> None:
    worker(cap="0.0002")
    group = evaluate()
    assert group.wait(timeout=50).phase is nodus.GroupPhase.STALLED
    runs = group.runs()
    successors = [run.extend_cap(Decimal("0.10")) for run in runs]
    assert {run.name for run in successors}.isdisjoint({run.name for run in runs})
    assert group.wait(timeout=50).evaluation.get("passRate") == 1.0


def test_map_gives_answers_in_the_order_of_the_inputs() -> None:
    agent = worker()
    answers = agent.map(["one", ("second", "two"), {"id": "third", "prompt": "three"}], timeout=50)
    assert [answer.input_id for answer in answers] == ["input-0001", "second", "third"]
    assert all(answer.state is nodus.CaseState.ANSWERED and answer.text for answer in answers)
    status = nodus.AgentGroup.list()[0].status()
    assert status.money.cap_usd == Decimal("0.30")


def test_an_input_without_an_answer_says_why() -> None:
    answers = worker("broken").map(["one"], timeout=50)
    assert answers[0].text is None
    assert answers[0].reason is nodus.Reason.INFRASTRUCTURE_FAILURE
    assert answers[0].message


def test_a_plain_group_is_created_with_its_inputs() -> None:
    agent = worker()
    group = nodus.AgentGroup.create("plain", agent=agent, max_cost="1.00")
    with pytest.raises(nodus.NodusError, match="call submit_many first"):
        group.wait()
    group.submit_many(["a", "b"])
    assert group.wait(timeout=50).phase is nodus.GroupPhase.COMPLETED
    assert len(group.answers()) == 2
    with pytest.raises(nodus.NodusError, match="inputs of plain are fixed"):
        group.submit_many(["c"])
    other = nodus.submit_many("worker", ["c"], name="other", max_cost="0.10")
    assert other.wait(timeout=50).evaluation.pending == 0
    assert agent.submit_many(["d"]).wait(timeout=50).phase is nodus.GroupPhase.COMPLETED


def test_agents_are_created_once_and_applied_as_revisions() -> None:
    assert worker().revision == 1
    with pytest.raises(nodus.NodusError) as taken:
        worker()
    assert taken.value.code is nodus.ErrorCode.CONFLICT
    changed = nodus.Agent.apply("worker", families=["haiku"], system="Be long.", max_tokens=200)
    assert (changed.revision, changed.spec.system) == (2, "Be long.")
    assert nodus.Agent.get("worker").revision == 2
    with pytest.raises(nodus.NodusError, match='did you mean "worker"'):
        nodus.Agent.get("workre")


def test_a_group_is_created_once() -> None:
    worker()
    evaluate()
    with pytest.raises(nodus.NodusError, match='there is AgentGroup "eval" already'):
        evaluate()
    assert evaluate(exist_ok=True).wait(timeout=50).evaluation.pending == 0


@pytest.mark.parametrize("cap", [0.2, 1, None, True])
def test_money_is_never_a_float(cap: Any) -> None:
    with pytest.raises(TypeError, match="max_cost is money"):
        evaluate(max_cost=cap)
    with pytest.raises(TypeError, match="is money"):
        nodus.AgentGroup("eval").extend_cap(cap)
    with pytest.raises(TypeError, match="per_run_max_cost is money"):
        nodus.Agent.create("worker", families=["haiku"], per_run_max_cost=cap)


def test_every_fault_is_in_the_error_and_nothing_is_created() -> None:
    worker()
    with pytest.raises(nodus.NodusError) as refused:
        evaluate(max_active=0, evaluation={**EVALUATION, "tasks": 101, "timeout": "59s", "sed": 1})
    assert refused.value.code is nodus.ErrorCode.INVALID_SPEC
    assert len(refused.value.faults) >= 4
    text = str(refused.value)
    for part in ("spec.maxActive", "spec.evaluation.tasks", "spec.evaluation.timeout", 'did you mean "seed"'):
        assert part in text
    assert nodus.AgentGroup.list() == ()


@pytest.mark.parametrize("inputs", ["one prompt", {"id": "a", "prompt": "b"}, [3], [("a", "b", "c")]])
def test_inputs_of_a_wrong_shape_are_refused(inputs: Any) -> None:
    with pytest.raises(TypeError):
        nodus.submit_many("worker", inputs)


@pytest.mark.parametrize("timeout", ["60", True, -1])
def test_timeouts_of_a_wrong_kind_are_refused(timeout: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="timeout is a number of seconds"):
        nodus.AgentGroup("eval").wait(timeout)


async def test_the_asynchronous_calls_do_the_same() -> None:
    agent = await nodus.aio.Agent.create("worker", families=["haiku"], max_tokens=100, per_run_max_cost="0.10")
    group = await nodus.aio.AgentGroup.create("eval", agent=agent, max_active=2, max_cost="0.20", evaluation=EVALUATION)
    status, answers = await asyncio.gather(group.wait(timeout=50), agent.map(["one", "two"], timeout=50))
    assert status.evaluation.get("passRate") == 1.0
    assert len(answers) == 2
    assert [case.get("verdict") for case in await group.results()] == ["Correct", "Correct"]
    await group.delete()


async def test_the_synchronous_calls_work_where_a_loop_is_running() -> None:
    assert asyncio.get_running_loop().is_running()
    worker()
    assert evaluate().wait(timeout=50).phase is nodus.GroupPhase.COMPLETED


async def test_cancelling_an_awaited_wait_leaves_the_group_alone() -> None:
    await asyncio.to_thread(worker, "slow")
    group = await nodus.aio.AgentGroup.create("eval", agent="worker", max_cost="0.20", evaluation=EVALUATION)
    waiting = asyncio.ensure_future(group.wait())
    await asyncio.wait({waiting}, timeout=0.2)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not (await group.status()).phase.ended
    await group.kill()


def test_threads_share_one_backend() -> None:
    worker()
    with ThreadPoolExecutor(4) as pool:
        groups = list(pool.map(lambda n: nodus.submit_many("worker", [f"say {n}"], name=f"group-{n}"), range(4)))
        phases = list(pool.map(lambda group: group.wait(timeout=50).phase, groups))
    assert phases == [nodus.GroupPhase.COMPLETED] * 4


def test_a_program_that_ends_in_the_middle_leaves_its_work_to_the_next(workspace: Path) -> None:
    script = """
from nodus_tui import sdk as nodus
nodus.Agent.create("worker", families=["slow"], per_run_max_cost="0.10")
group = nodus.submit_many("worker", ["one"], name="left")
while not group.status().going:
    pass
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    config = workspace / "config.yaml"
    quick = json.loads(config.read_text(encoding="utf-8"))
    quick["models"][1]["simulated"]["latencySeconds"] = 0
    config.write_text(json.dumps(quick), encoding="utf-8")
    status = nodus.AgentGroup.get("left").wait(timeout=50)
    assert status.phase is nodus.GroupPhase.COMPLETED
    assert status.money.unconfirmed_usd > 0 or status.cost > 0


def _signature(call: Callable[..., Any]) -> str:
    return str(inspect.signature(call)).replace("nodus_tui.sdk.aio.", "nodus_tui.sdk.handles.")


@pytest.mark.parametrize("name", ["Agent", "AgentGroup", "AgentRun"])
def test_both_interfaces_have_the_same_calls(name: str) -> None:
    sync, awaited = getattr(handles, name), getattr(aio, name)
    calls = {each for each in vars(sync) if not each.startswith("_")}
    assert calls == {each for each in vars(awaited) if not each.startswith("_")}
    for call in calls:
        one, other = getattr(sync, call), getattr(awaited, call)
        assert _signature(one) == _signature(other)
        assert inspect.getdoc(one) == inspect.getdoc(other)
        assert inspect.iscoroutinefunction(other)
        assert not inspect.iscoroutinefunction(one)


@pytest.mark.parametrize("name", ["submit_many", "sandboxes", "check_environment"])
def test_both_interfaces_have_the_same_functions(name: str) -> None:
    one, other = getattr(handles, name), getattr(aio, name)
    assert _signature(one) == _signature(other)
    assert inspect.getdoc(one) == inspect.getdoc(other)
    assert inspect.iscoroutinefunction(other)
    assert getattr(nodus, name) is one
