"""What must hold of the database whenever the scheduler has just been killed, and at every event it ever told.

Read straight from the file with SQLite, beside none of the code under test but the reading of an event.
"""

import re
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct
from paid_server import Served

from local_backend.reading.stream import event_from_row
from nodus_tui.contract.events import Event

_REPLY = re.compile(r"reply (\d+)\nAnswer: \d+")
_PAID_STATES = ("Settled", "Unconfirmed", "Reserved")


class CapsAtEveryEvent:
    """Folds one group's events and holds each state against the rules."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.group: dict[str, Any] = {}
        self.verdicts: Counter[str] = Counter()
        self.count = 0

    def take(self, event: Event) -> None:
        """One event, in order."""
        self.count += 1
        if event.kind == "AgentRun":
            state = self.runs.setdefault(event.name, {})
            before = state.get("verdict")
            state |= event.status
            state["cap"] = event.spec.get("maxCostUSD", state.get("cap"))
            may_have_cost = Decimal(state["costUSD"]) + Decimal(state["inFlightUSD"])
            assert may_have_cost <= Decimal(state["cap"]), f"{event.name} may have cost {may_have_cost} under a cap of {state['cap']}"
            if state.get("verdict") != before:
                assert before is None, f"{event.name}: the verdict {before} became {state.get('verdict')}"
                self.verdicts[event.name] += 1
        elif event.kind == "AgentGroup":
            self.group |= event.status
            money = {name: Decimal(value) for name, value in self.group["money"].items()}
            assert money["spentUSD"] + money["reservedUSD"] + money["leftUSD"] == money["capUSD"]
            assert money["modelUSD"] <= money["capUSD"]


@dataclass
class Kept:
    """What was on the disk once, and must stay there."""

    turns: dict[tuple[str, int], str] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=dict)


class Money(Struct, frozen=True):
    """Nano-dollars over a whole workspace."""

    served: int
    recorded: int
    unconfirmed: int


def check_disk(path: Path, bill: list[Served], kept: Kept) -> Money:
    """Hold the database against the server's bill and against what it held before."""
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    try:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone():
            assert not bill
            return Money(0, 0, 0)
        assert database.execute("PRAGMA quick_check").fetchone()[0] == "ok"
        runs = {row["name"]: row for row in database.execute("SELECT * FROM runs")}
        calls = database.execute("SELECT * FROM calls").fetchall()
        turns = {(row["run"], row["position"]): row for row in database.execute("SELECT * FROM turns")}
        groups = database.execute("SELECT * FROM groups").fetchall()
    finally:
        database.close()
    _every_settled_reply_is_a_turn(bill, runs, calls, turns)
    _everything_served_is_on_record(bill, runs, calls)
    _caps_hold(groups, runs, calls)
    _nothing_vanished(runs, turns, kept)
    paid = sum(call["reserved"] if call["state"] == "Reserved" else call["cost"] for call in calls)
    served = sum(each.cost for each in bill)
    assert paid >= served, f"the server served for {served}, {paid} is on record"
    return Money(served, paid, sum(call["cost"] for call in calls if call["state"] == "Unconfirmed"))


def _every_settled_reply_is_a_turn(bill: list[Served], runs: dict[str, Any], calls: list[Any], turns: dict[tuple[str, int], Any]) -> None:
    by_number = {each.number: each for each in bill}
    by_call = {(row["run"], row["call"]): row for row in turns.values() if row["call"] is not None}
    settled = [call for call in calls if call["state"] == "Settled"]
    assert len(settled) == len(by_call)
    numbers = set()
    for call in settled:
        turn = by_call[call["run"], call["number"]]
        found = _REPLY.fullmatch(turn["text"])
        assert found is not None
        reply = by_number[int(found[1])]
        numbers.add(reply.number)
        assert (turn["role"], turn["position"]) == ("assistant", 2 * call["turn"])
        assert call["cost"] == reply.cost, "a settled call costs what the server reported"
        assert (_case(runs[call["run"]]), call["turn"]) == ((reply.campaign, reply.task), reply.turn)
    assert len(numbers) == len(settled), "one reply was booked twice"


def _case(run: Any) -> tuple[str, int]:
    return run["group_name"], int(run["task_id"].removeprefix("t"))


def _everything_served_is_on_record(bill: list[Served], runs: dict[str, Any], calls: list[Any]) -> None:
    recorded, served = Counter[tuple[str, int, int]](), Counter[tuple[str, int, int]]()
    paid, owed = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for call in calls:
        if call["state"] in _PAID_STATES:
            case = _case(runs[call["run"]])
            recorded[*case, call["turn"]] += 1
            paid[case] += call["reserved"] if call["state"] == "Reserved" else call["cost"]
    for each in bill:
        served[each.campaign, each.task, each.turn] += 1
        owed[each.campaign, each.task] += each.cost
    for key, count in served.items():
        assert recorded[key] >= count, f"{key}: {count} replies served, {recorded[key]} calls on record"
    for case, cost in owed.items():
        assert paid[case] >= cost, f"{case}: served for {cost}, {paid[case]} on record"


def _caps_hold(groups: list[Any], runs: dict[str, Any], calls: list[Any]) -> None:
    spent, under_way = Counter[str](), Counter[str]()
    for call in calls:
        spent[call["run"]] += call["cost"]
        under_way[call["run"]] += call["reserved"] if call["state"] == "Reserved" else 0
    for name, run in runs.items():
        assert run["spent"] == spent[name]
        assert run["in_flight"] == under_way[name]
        assert run["carried"] + spent[name] + under_way[name] <= run["cap"], name
    for group in groups:
        total = sum(spent[name] + under_way[name] for name, run in runs.items() if run["group_name"] == group["name"])
        assert total <= group["cap"], group["name"]


def _nothing_vanished(runs: dict[str, Any], turns: dict[tuple[str, int], Any], kept: Kept) -> None:
    for place, text in kept.turns.items():
        assert turns[place]["text"] == text, f"the turn {place} was lost or changed"
    for name, verdict in kept.verdicts.items():
        assert runs[name]["verdict"] == verdict, f"the verdict of {name} was lost or changed"
    kept.turns = {place: row["text"] for place, row in turns.items()}
    kept.verdicts = {name: run["verdict"] for name, run in runs.items() if run["verdict"] is not None}


def check_ended(path: Path, campaign: str, cases: int, bill: list[Served]) -> CapsAtEveryEvent:
    """Hold a campaign that has come to its end against its events and the bill."""
    with sqlite3.connect(path) as database:
        database.row_factory = sqlite3.Row
        runs = database.execute("SELECT * FROM runs WHERE group_name = ? AND current", (campaign,)).fetchall()
        told = CapsAtEveryEvent()
        for row in database.execute("SELECT * FROM events WHERE group_name = ? ORDER BY cursor", (campaign,)):
            told.take(event_from_row(row))
        open_calls = database.execute("SELECT count(*) FROM calls WHERE state = 'Reserved'").fetchone()[0]
        answers = {
            row["run"]: row["text"]
            for row in database.execute("SELECT run, text, max(position) FROM turns WHERE role = 'assistant' GROUP BY run")
        }
    database.close()
    assert open_calls == 0
    assert sorted(_case(run)[1] for run in runs) == list(range(cases)), "each case stands once"
    by_number = {each.number: each for each in bill}
    for run in runs:
        assert run["phase"] in {"Succeeded", "Failed"}
        if run["phase"] == "Succeeded":
            found = _REPLY.fullmatch(answers[run["name"]])
            assert found is not None
            assert run["verdict"] == ("Correct" if by_number[int(found[1])].right else "Incorrect")
            assert told.verdicts[run["name"]] == 1, "a verdict is told once"
    scored = [run["name"] for run in runs if run["verdict"] is not None]
    assert sorted(told.verdicts) == sorted(scored), "no case has two verdicts"
    return told
