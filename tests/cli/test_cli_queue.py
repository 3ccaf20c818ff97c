"""`queue`: what waits, a group's timeline and what-if as text and as JSON, of a real workspace."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
from cli_builders import NOW, run
from cli_workspace import Workspace
from click.testing import Result

from nodus_tui.cli.queue_texts import TIMELINE_TITLES, queue_table, timeline_text
from nodus_tui.contract.phases import Reason, RunPhase, Verdict
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunSpec, AgentRunStatus
from nodus_tui.contract.resources.meta import Metadata
from nodus_tui.view_state.waiting import When, bundle_of, waiter_of_run

Nodus = Callable[..., Result]


@pytest.fixture
def waiting(nodus: Nodus, workspace: Workspace) -> Nodus:
    """A group that is applied and not worked on: its runs are not made yet."""
    assert nodus("apply", "-f", workspace.spec(family="slow", tasks=9, active=2)).exit_code == 0
    return nodus


def test_a_group_whose_tasks_are_not_made_waits_as_one_row(waiting: Nodus) -> None:
    told = waiting("queue")
    assert told.exit_code == 0
    assert "9 for its tasks" in told.output
    assert "9 cases" in told.output
    (row,) = json.loads(waiting("queue", "hello", "-o", "json").stdout)
    assert (row["kind"], row["name"], row["count"], row["untilKind"], row["until"]) == ("AgentGroup", "hello", 9, "Unknown", None)


def test_what_a_group_that_was_run_did_stands_on_one_axis(nodus: Nodus, workspace: Workspace) -> None:
    assert nodus("run", "-f", workspace.spec(tasks=3)).exit_code == 0
    text = nodus("queue", "hello", "--timeline").stdout
    rows = [row for row in text.splitlines() if "hello-c00" in row]
    assert len(rows) == 3
    assert all(row.endswith("✓") for row in rows)
    assert "█ worked" in text
    found = json.loads(nodus("queue", "hello", "--timeline", "-o", "json").stdout)
    assert [each["run"] for each in found] == ["hello-c001", "hello-c002", "hello-c003"]
    assert [each["activity"] for each in found[0]["stretches"]] == ["Queued", "Working", "Grading"]
    assert found[0]["ended"] is True
    assert nodus("queue").stdout == ""
    assert "nothing waits" in nodus("queue").stderr
    assert "there is nothing to forecast" in nodus("queue", "hello", "--max-active", "5").stdout


def test_another_max_active_is_told_beside_the_present(nodus: Nodus, workspace: Workspace) -> None:
    assert nodus("apply", "-f", workspace.spec(family="slow", tasks=9, active=2, cap="0.50")).exit_code == 0
    found = json.loads(nodus("queue", "hello", "--max-active", "9", "-o", "json").stdout)
    assert [(each["maxActive"], each["present"]) for each in found] == [(2, True), (9, False)]


@pytest.mark.parametrize("arguments", [("--timeline",), ("--max-active", "3"), ("hello", "--timeline", "--max-active", "3")])
def test_what_does_not_go_together_is_refused(nodus: Nodus, arguments: tuple[str, ...]) -> None:
    told = nodus("queue", *arguments)
    assert told.exit_code == 2
    assert "nodus-tui queue GROUP" in told.output or "choose one" in told.output


def test_a_row_of_the_table_says_who_waits_for_what_since_when_and_until_when() -> None:
    late = When("Forecast", NOW + timedelta(minutes=40))
    made = [
        waiter_of_run(run(number, RunPhase.PENDING, Reason.WAITING_FOR_SLOT), stalled=False, start=late, ahead=number, bundle="hello/x")
        for number in range(4)
    ]
    told = queue_table([made[0], bundle_of(made[:1], made[1], made[3], 3)], NOW)
    titles, first, rest = told.splitlines()
    assert titles.split()[:3] == ["WHO", "GROUP", "KIND"]
    assert queue_table(made[:1], NOW, of_one_group=True).split()[:2] == ["WHO", "KIND"]
    assert "~03:45" in first
    assert "3 more, cases" in rest
    assert "a slot" in rest


def test_a_group_that_is_not_there_is_named(waiting: Nodus) -> None:
    told = waiting("queue", "helo")
    assert told.exit_code != 0
    assert 'there is no AgentGroup "helo"' in told.output


def test_the_chart_takes_the_width_that_there_is_and_hostile_names_do_no_harm() -> None:
    here = NOW.astimezone(timezone(timedelta(hours=2)))

    def told(case: int, task: str, ended: datetime | None) -> AgentRun:
        status = {"cost_usd": "0", "carried_usd": "0", "in_flight_usd": "0", "unconfirmed_usd": "0", "created_at": NOW}
        done = {"phase": RunPhase.SUCCEEDED, "verdict": Verdict.CORRECT, "started_at": NOW, "ended_at": ended}
        return AgentRun(
            metadata=Metadata(name=f"g-c{case}"),
            spec=AgentRunSpec(agent="a", task_id=task, case=case, group="g"),
            status=AgentRunStatus.model_validate({**status, **(done if ended else {"phase": RunPhase.PENDING})}),
        )

    text = timeline_text([told(1, "\x1b[2Jevil", NOW + timedelta(minutes=5)), told(2, "宽", None)], here + timedelta(minutes=5), 100)
    head, first, second, *_ = text.splitlines()
    assert "\x1b" not in text
    assert max(len(row) for row in (head, first, second)) <= 100
    assert head.split()[:3] == list(TIMELINE_TITLES)
    assert "╵05:05" in head
    assert timeline_text([], here, 100) == ""
