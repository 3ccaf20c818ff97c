"""Recorded values for the console's tests: groups, runs and transcripts as a backend gives them. Made up here, run by nothing."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.phases import CallState, GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupSpec, AgentGroupStatus, Coverage, Evaluation, GroupMoney
from nodus_tui.contract.resources.agent_run import (
    AgentRun,
    AgentRunSpec,
    AgentRunStatus,
    CallRecord,
    RunSandbox,
    ToolCallRecord,
    ToolResultRecord,
    Transcript,
    TranscriptTurn,
)
from nodus_tui.contract.resources.meta import Metadata

START = datetime(2026, 3, 14, 14, 0, 0, tzinfo=UTC)
NOW = START + timedelta(minutes=3, seconds=10)
ZERO = Decimal(0)


def usd(text: str) -> Decimal:
    return Decimal(text)


def group(name: str = "fleet", *, cap: str = "6.00", tasks: int = 100, max_active: int = 10, **status: Any) -> AgentGroup:
    spent, reserved = usd(status.pop("spent", "1.00")), usd(status.pop("reserved", "0.50"))
    cap_usd = usd(cap)
    money = GroupMoney(
        cap_usd=cap_usd,
        spent_usd=spent,
        reserved_usd=reserved,
        left_usd=cap_usd - spent - reserved,
        model_usd=usd(status.pop("model", str(spent))),
        unconfirmed_usd=usd(status.pop("unconfirmed", "0")),
    )
    fields: dict[str, Any] = {
        "phase": GroupPhase.RUNNING,
        "created_at": START,
        "started_at": START + timedelta(seconds=2),
        "deadline_at": START + timedelta(minutes=30),
        "agent_revision": 1,
        "model_family": "sim-small",
        "model_name": "simulated-1",
        "simulated": True,
        "money": money,
        "coverage": Coverage(scored=40, total=tasks),
        "pending": tasks - 42,
        "going": 10,
        "verdicts": {"Correct": 28, "Incorrect": 10, "InvalidOutput": 2, "InfrastructureFailure": 2},
        "pass_rate": 0.7,
        "standard_error": 0.0725,
        "ci95": (0.558, 0.842),
        "mean_reward": 0.7,
    }
    return AgentGroup(
        metadata=Metadata(name=name),
        spec=AgentGroupSpec(
            agent="solver",
            max_active=max_active,
            max_cost_usd=cap_usd,
            evaluation=Evaluation(environment="nodus/arithmetic-v2@2.0.0", tasks=tasks, seed=7),
        ),
        status=AgentGroupStatus.model_validate({**fields, **status}),
    )


def run(case: int = 0, *, of: str = "fleet", name: str = "", cap: str = "0.06", **status: Any) -> AgentRun:
    spec = {"attempt": status.pop("attempt", 1), "predecessor": status.pop("predecessor", None), "repetition": status.pop("repetition", 1)}
    task = status.pop("task", f"sum-{case:03d}")
    fields: dict[str, Any] = {
        "phase": RunPhase.PENDING,
        "cost_usd": ZERO,
        "carried_usd": ZERO,
        "in_flight_usd": ZERO,
        "unconfirmed_usd": ZERO,
        "created_at": START,
        "max_turns": 50,
        "simulated": True,
    }
    return AgentRun(
        metadata=Metadata(name=name or f"{of}-{case:04d}-a{spec['attempt']}"),
        spec=AgentRunSpec(agent="solver", agent_revision=1, max_cost_usd=usd(cap), group=of, task_id=task, case=case, **spec),
        status=AgentRunStatus.model_validate({**fields, **status}),
    )


def scored(case: int, verdict: Verdict, cost: str = "0.0213", **more: Any) -> AgentRun:
    reward = None if verdict is Verdict.INFRASTRUCTURE_FAILURE else float(verdict is Verdict.CORRECT)
    return run(
        case,
        phase=RunPhase.FAILED if reward is None else RunPhase.SUCCEEDED,
        verdict=verdict,
        reward=reward,
        cost_usd=usd(cost),
        input_tokens=1240,
        output_tokens=310,
        calls=2,
        turns=2,
        started_at=START + timedelta(seconds=3),
        ended_at=START + timedelta(seconds=21, milliseconds=400),
        queued_seconds=3,
        duration_seconds=18.4,
        **more,
    )


def every_kind_of_run() -> list[AgentRun]:
    """One run in each state that a person can meet."""
    going = {"started_at": START + timedelta(minutes=2), "calls": 1, "turns": 1, "input_tokens": 640, "output_tokens": 95}
    return [
        scored(0, Verdict.CORRECT),
        scored(1, Verdict.INCORRECT),
        scored(2, Verdict.INVALID_OUTPUT),
        scored(
            3,
            Verdict.INFRASTRUCTURE_FAILURE,
            reason=Reason.INFRASTRUCTURE_FAILURE,
            message="the model server closed the connection after the request went out; $0.021 is charged as the worst case",
            unconfirmed_usd=usd("0.021"),
        ),
        run(4, phase=RunPhase.RUNNING, cost_usd=usd("0.0107"), in_flight_usd=usd("0.0312"), **going),
        run(
            5,
            phase=RunPhase.RUNNING,
            reason=Reason.RATE_LIMITED,
            message="the provider asked for a pause of 12 s",
            until=NOW + timedelta(seconds=12),
            cost_usd=usd("0.0107"),
            **going,
        ),
        run(
            6,
            phase=RunPhase.WAITING,
            reason=Reason.MAX_COST_REACHED,
            message="its next call might cost $0.0312 and $0.0089 is left of $0.06; a cap of $0.0823 lets it go on",
            cost_usd=usd("0.0511"),
            **going,
        ),
        run(7, phase=RunPhase.GRADING, cost_usd=usd("0.0198"), **going),
        run(8, reason=Reason.WAITING_FOR_SLOT, message="10 of 10 slots are taken"),
        run(
            9,
            reason=Reason.MAX_COST_REACHED,
            message="waits for $0.04 of the group's cap: $0.16 reserved by 4 runs",
        ),
        run(
            10,
            phase=RunPhase.CANCELLED,
            reason=Reason.KILLED,
            message="killed by ops",
            cost_usd=usd("0.0042"),
            ended_at=NOW,
            duration_seconds=4.0,
            **going,
        ),
        run(11, phase=RunPhase.INTERRUPTED, reason=Reason.INTERRUPTED, message="the scheduler stopped; u lets the group go on", **going),
    ]


def conversation(name: str, *texts: str) -> Transcript:
    """System, user, then replies and users in turn."""
    said = texts or (
        "You are a calculator. Answer with one number.",
        "What is 17 + 25?\nThink first, then write the number alone on the last line.",
        "17 + 25 = 42\n\n42",
    )
    turns = []
    for index, text in enumerate(said):
        role = "system" if index == 0 else "user" if index % 2 else "assistant"
        call = index // 2 if role == "assistant" else None
        turns.append(TranscriptTurn(index=index, role=role, text=text, at=START + timedelta(seconds=index), call=call))
    calls = tuple(
        CallRecord(
            number=number,
            state=CallState.SETTLED,
            attempt=1,
            turn=number,
            reserved_usd=usd("0.0312"),
            cost_usd=usd("0.0107"),
            input_bound=812,
            input_tokens=640,
            output_tokens=95,
            started_at=START + timedelta(seconds=10 * number),
            ended_at=START + timedelta(seconds=10 * number + 2, milliseconds=300),
            stop_reason="stop",
        )
        for number in range(1, len(said) // 2 + 1)
    )
    return Transcript(run=name, turns=tuple(turns), calls=calls, simulated=True, price_source="configuration")


IMAGE = "nodus-base@sha256:" + "9f86d081884c7d65" * 4


def tool_run(case: int = 0, *, running: bool = False, **more: Any) -> AgentRun:
    """A run that worked in a sandbox, or works in it now."""
    box = RunSandbox(
        engine="bubblewrap",
        image=IMAGE,
        rate_usd=usd("0.0075"),
        running=running,
        seconds=192.4,
        cost_usd=usd("0.0004"),
        started_at=START + timedelta(seconds=3),
        files_kept=not running,
    )
    if not running:
        return scored(case, Verdict.CORRECT, task="repair-07", sandbox=box, **more)
    going = {"started_at": START + timedelta(seconds=3), "calls": 2, "turns": 2, "input_tokens": 640, "output_tokens": 95}
    return run(case, phase=RunPhase.RUNNING, task="repair-07", cost_usd=usd("0.0107"), sandbox=box, **{**going, **more})


def tool_conversation(name: str, *, ended: bool = True) -> Transcript:
    """A conversation with tools: a listing, a test that fails, a repair, an answer; without its end the last command is under way."""
    listing = "".join(f"-rw-r--r-- 1 agent agent {100 + 7 * number:>4} tests/test_case_{number:02d}.py\n" for number in range(12))
    failing = "E       assert median([1, 2, 3, 4]) == 2.5\nE        +  where 2 = median([1, 2, 3, 4])\n1 failed in 0.03s\n"
    edit = {"path": "median.py", "old": "return values[middle]", "new": "return (values[middle - 1] + values[middle]) / 2"}
    steps: list[tuple[str, list[tuple[str, dict[str, Any]]], list[ToolResultRecord]]] = [
        ("I look at the files first.", [("bash", {"command": "ls -la tests"})], [_result("bash", listing, exit_code=0, seconds=0.04)]),
        (
            "",
            [("bash", {"command": "python -m pytest -q 2>&1 | tail -3\necho done", "timeoutSeconds": 60}), ("read", {"path": "median.py"})],
            [_result("bash", failing, exit_code=1, seconds=1.31), _result("read", "no such file: median.py", error=True, seconds=0.01)],
        ),
        ("The middle of an even number of values lies between two.", [("edit", edit)], [_result("edit", "1 place changed", seconds=0.02)]),
        ("", [("bash", {"command": "sleep 1000"})], [_result("bash", "killed after 2m", seconds=120.0)]),
    ]
    turns = [
        TranscriptTurn(index=0, role="system", text="You repair code.", at=START),
        TranscriptTurn(index=1, role="user", text="median.py is wrong for even counts. Repair it.", at=START),
    ]
    for step, (text, asked, results) in enumerate(steps if ended else steps[:2], start=1):
        calls = tuple(ToolCallRecord(id=f"c{step}-{n}", name=tool, arguments=json.dumps(words)) for n, (tool, words) in enumerate(asked))
        at = START + timedelta(seconds=10 * step)
        turns.append(TranscriptTurn(index=len(turns), role="assistant", text=text, at=at, call=step, tool_calls=calls))
        if ended or step < 2:
            turns.append(TranscriptTurn(index=len(turns), role="tool", text="", at=at, tool_results=tuple(results)))
    if ended:
        turns.append(TranscriptTurn(index=len(turns), role="assistant", text="It is repaired.", at=START + timedelta(seconds=60), call=4))
    return conversation(name).model_copy(update={"turns": tuple(turns)})


def _result(name: str, text: str, *, exit_code: int | None = None, error: bool = False, seconds: float) -> ToolResultRecord:
    return ToolResultRecord(call_id="", name=name, text=text, is_error=error, exit_code=exit_code, seconds=seconds)


def snapshot(*groups: AgentGroup, runs: list[AgentRun] | None = None, cursor: int = 100) -> Snapshot:
    return Snapshot(cursor=cursor, groups=groups, runs=tuple(runs or ()))


def changed(kind: str, name: str, cursor: int, *, of: str = "", **status: Any) -> Event:
    """An event with changed status fields under their camelCase names."""
    return Event(cursor=cursor, at=NOW, change="Changed", kind=kind, name=name, group=of, status=status)


def created(resource: AgentGroup | AgentRun, cursor: int) -> Event:
    document = resource.to_document()
    of = resource.spec.group or "" if isinstance(resource, AgentRun) else ""
    return Event(
        cursor=cursor,
        at=NOW,
        change="Created",
        kind=resource.kind,
        name=resource.name,
        group=of,
        metadata=document["metadata"],
        spec=document["spec"],
        status=document["status"],
    )
