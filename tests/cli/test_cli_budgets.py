"""Budgets by the command line: made, looked at, refusing, removed."""

import json
from collections.abc import Callable

import pytest
from cli_workspace import Workspace
from click.testing import Result

pytestmark = pytest.mark.timeout(90)


def budget(workspace: Workspace, limit: str, name: str = "month", **more: object) -> str:
    document = {"apiVersion": "nodus.dev/v1", "kind": "Budget", "metadata": {"name": name}, "spec": {"limitUSD": limit, **more}}
    return workspace.write(json.dumps(document), f"{name}.json")


def test_a_budget_is_made_shown_changed_and_deleted(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    scope = {"project": "red", "selector": {"matchLabels": {"team": "a"}}}
    path = budget(workspace, "100.00", period="Monthly", action="Notify", scope=scope, notify={"emails": ["a@example.com"]})
    assert nodus("validate", "-f", path).exit_code == 0
    made = nodus("apply", "-f", path)
    assert made.exit_code == 0, made.stderr
    assert "created" in made.stdout
    assert "$100.00, Monthly, Notify" in made.stdout
    listed = nodus("get", "budgets")
    assert listed.stdout.splitlines()[0].split() == ["NAME", "USED", "SPENT", "LIMIT", "LEFT", "STATE", "ACTION", "PERIOD", "ENDS", "SCOPE"]
    for words in ("month", "░░░░░░░░░░░░   0%", "$0.00", "$100.00", "open", "Notify", "Monthly", "-01 00:00:00Z", "project red, team=a"):
        assert words in listed.stdout
    (document,) = json.loads(nodus("get", "budgets", "-o", "json").stdout)
    assert (document["kind"], document["spec"]["limitUSD"], document["status"]["spentUSD"]) == ("Budget", "100.00", "0.00")
    assert "month,0%,$0.00,$100.00,$100.00,open,Notify,Monthly," in nodus("get", "budgets", "-o", "csv").stdout
    assert "Budget month: $0.00 spent, $100.00 left" in nodus("watch", "--once").stdout
    assert "is a Budget: this is done with groups" in nodus("extend-cap", "month", "2").stderr
    described = nodus("describe", "month").stdout
    for words in ("project red, team=a", "Notify: nothing is stopped", "50%, 80%, 100%", "a@example.com", "$100.00 left"):
        assert words in described
    changed = nodus("apply", "-f", budget(workspace, "50.00", period="Monthly", action="Notify", scope=scope))
    assert "limitUSD: 100.00 → 50.00" in changed.stdout
    assert nodus("delete", "--yes", "budget/month").exit_code == 0
    assert nodus("get", "budget/month").exit_code == 2


def test_what_a_budget_does_not_pay_for_is_exit_3_and_a_raise_lets_it_run(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    # One call of these costs a tenth of a cent; the worst case of the first does not fit.
    assert nodus("apply", "-f", budget(workspace, "0.000001")).exit_code == 0
    path = workspace.spec(tasks=2)
    stalled = nodus("run", "-q", "-f", path, "-o", "json")
    assert stalled.exit_code == 3, stalled.stderr
    assert {each["reason"] for each in json.loads(stalled.stdout)["results"]} <= {"BudgetExceeded", None}
    assert "blocking" in nodus("get", "budgets").stdout
    described = nodus("describe", "budget/month").stdout
    assert "Blocking:      yes: new work in its scope is refused" in described
    assert described.endswith("It stops 1 group: hello. A higher limit lets that go on.\n")
    for verb in ("apply", "run"):
        refused = nodus(verb, "-f", workspace.spec(name="more"))
        assert refused.exit_code == 3, refused.stderr
        assert "more is refused by budget month" in refused.stderr
        assert "until its limit is raised" in refused.stderr
    assert nodus("get", "group/more").exit_code == 2
    assert nodus("apply", "-f", budget(workspace, "1.00")).exit_code == 0
    done = nodus("wait", "-q", "hello", "-o", "json")
    assert done.exit_code == 0, done.stderr
    assert "open" in nodus("get", "budgets").stdout


def test_faults_of_a_budget_are_told_where_they_stand(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    refused = nodus("validate", "-f", budget(workspace, "1.00", thresholds=[80, 50], notify={"emails": ["nobody"]}))
    assert refused.exit_code == 2
    assert "thresholds must rise" in refused.stderr
    assert '"nobody" is no e-mail address' in refused.stderr
