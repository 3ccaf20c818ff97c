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
    assert "is a Budget: this is done with groups" in nodus("kill", "--yes", "month").stderr
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
    assert described.endswith("It stops 1 group: hello. A higher limit lets that go on: `nodus-tui extend-cap budget/month AMOUNT`.\n")
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


def test_one_verb_raises_a_limit_and_what_it_held_goes_on(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    assert nodus("apply", "-f", budget(workspace, "0.000001", action="Block")).exit_code == 0
    assert nodus("run", "-q", "-f", workspace.spec(tasks=2)).exit_code == 3
    for same_or_less in ("0.000001", "0.0000001"):
        refused = nodus("extend-cap", "budget/month", same_or_less)
        assert (refused.exit_code, "The new limit must be above $0.000001" in refused.stderr) == (2, True), refused.stderr
    raised = nodus("extend-cap", "month", "1")
    assert (raised.exit_code, raised.stdout) == (0, "budget month has a limit of $1.00 now; it was $0.000001\n")
    assert nodus("wait", "-q", "hello").exit_code == 0
    told = json.loads(nodus("extend-cap", "budget/month", "$2.50", "-o", "json").stdout)
    assert (told["kind"], told["name"], told["changes"][0]["new"]) == ("Budget", "month", "2.50")
    (document,) = json.loads(nodus("get", "budgets", "-o", "json").stdout)
    assert (document["spec"]["limitUSD"], document["spec"]["action"]) == ("2.50", "Block")


def test_a_raise_says_what_it_cannot_do_with_a_budget(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    assert nodus("apply", "-f", budget(workspace, "1.00")).exit_code == 0
    for option in ("--wait", "--restart", "--waiting"):
        refused = nodus("extend-cap", option, "budget/month", "2")
        assert (refused.exit_code, "are for work, and month is a budget" in refused.stderr) == (2, True), refused.stderr
    missing = nodus("extend-cap", "budget/months", "2")
    assert (missing.exit_code, "month" in missing.stderr) == (2, True)


def test_what_works_is_meant_by_a_name_before_a_budget_of_the_same(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    assert nodus("apply", "-f", budget(workspace, "5.00", name="hello")).exit_code == 0
    assert nodus("run", "-q", "-f", workspace.spec(tasks=1)).exit_code == 0
    refused = nodus("extend-cap", "hello", "9")
    assert (refused.exit_code, "budget" in refused.stderr) == (2, False), refused.stderr
    (document,) = json.loads(nodus("get", "budgets", "-o", "json").stdout)
    assert document["spec"]["limitUSD"] == "5.00"


def test_faults_of_a_budget_are_told_where_they_stand(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    refused = nodus("validate", "-f", budget(workspace, "1.00", thresholds=[80, 50], notify={"emails": ["nobody"]}))
    assert refused.exit_code == 2
    assert "thresholds must rise" in refused.stderr
    assert '"nobody" is no e-mail address' in refused.stderr
