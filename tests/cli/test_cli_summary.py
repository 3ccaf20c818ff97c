"""Results as text, JSON, YAML and CSV."""

import csv
import io
import json
from decimal import Decimal

import pytest
from cli_builders import case, results, unscored

from nodus_tui.cli.summary import results_text, seconds_text, summary_text
from nodus_tui.contract.phases import CaseState, Reason, Verdict
from nodus_tui.contract.results import ResultCost

JSON_NAMES = {
    "group",
    "phase",
    "passRate",
    "standardError",
    "ci95",
    "meanReward",
    "coverage",
    "pending",
    "cost",
    "environment",
    "agent",
    "simulated",
    "results",
}
CASE_NAMES = {
    "taskId",
    "repetition",
    "run",
    "state",
    "verdict",
    "reward",
    "reason",
    "costUSD",
    "capUSD",
    "inputTokens",
    "outputTokens",
    "queuedSeconds",
    "durationSeconds",
}


def test_json_has_every_documented_name_and_money_is_text() -> None:
    document = json.loads(results_text((results([case(0), unscored(1, Reason.KILLED)]),), "json"))
    assert set(document) >= JSON_NAMES
    assert set(document["cost"]) == {"modelUSD", "sandboxUSD", "unconfirmedUSD", "capUSD"}
    assert set(document["environment"]) == {"name", "version", "digest", "split", "seed", "shard", "images", "weakerGrader"}
    assert set(document["agent"]) == {"name", "revision"}
    assert set(document["coverage"]) == {"scored", "total"}
    assert set(document["results"][0]) >= CASE_NAMES
    assert document["results"][1]["verdict"] is None
    assert document["cost"]["modelUSD"] == "0.42"
    assert document["results"][0]["costUSD"] == "0.01"


def test_several_groups_are_a_list() -> None:
    document = json.loads(results_text((results([case(0)]), results([case(0)], group="two")), "json"))
    assert [each["group"] for each in document] == ["hello", "two"]


def test_csv_has_one_line_a_case_and_survives_hostile_text() -> None:
    nasty = 'a,"b"\r\n=1+1'
    rows = list(csv.reader(io.StringIO(results_text((results([case(0, message=nasty), case(1)]),), "csv"), newline="")))
    assert rows[0][:3] == ["group", "taskId", "repetition"]
    assert len(rows) == 3
    assert nasty in rows[1]
    assert rows[2][rows[0].index("reason")] == ""


def test_the_summary_never_shows_a_pass_rate_without_error_and_coverage() -> None:
    group = results([case(0), case(1, Verdict.INCORRECT), unscored(2, Reason.INFRASTRUCTURE_FAILURE)])
    text = summary_text(group)
    assert "50.0% ± 9.8 (SE 5.0), 2/3 scored" in text
    assert "1 InfrastructureFailure" in text
    assert "$0.42 of $10.00" in text


def test_marks_of_simulated_notional_and_unconfirmed_money() -> None:
    cost = ResultCost(model_usd=Decimal("0.42"), sandbox_usd=Decimal("0.0075"), unconfirmed_usd=Decimal("0.02"), cap_usd=Decimal(1))
    text = summary_text(results([case(0)], cost=cost, simulated=True))
    assert "simulated: nobody pays it" in text
    assert "$0.02 unconfirmed" in text
    assert "$0.0075 on sandboxes" in text
    assert "notional price" in summary_text(results([case(0)], notional_price=True))


def test_a_group_without_evaluation_says_how_many_answered() -> None:
    answered = case(0, None, state=CaseState.ANSWERED, reason=Reason.ANSWERED)
    assert "1/1 answered" in summary_text(results([answered], environment=None))


@pytest.mark.parametrize("output", ["table", "json", "csv", "yaml"])
def test_no_output_sends_what_a_terminal_obeys(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    hostile = "\x1b]52;c;aGk=\x07\x9b31m\u202e[red]x[/]"
    text = results_text((results([case(0, task_id=hostile, message=hostile, state=CaseState.UNSCORED)]),), output)
    assert not any(char in text for char in "\x1b\x07\x9b\u202e")
    assert "[red]x[/]" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.0, "0.0s"), (59.94, "59.9s"), (59.96, "1m00s"), (245, "4m05s"), (3599.6, "1h00m"), (86_400, "1d00h")],
)
def test_spans_of_time(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text
