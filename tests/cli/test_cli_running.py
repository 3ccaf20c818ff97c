"""Whole verbs on the real embedded backend with simulated models: results, gates, caps, faults."""

import json
import os
import sqlite3
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from cli_workspace import COMMAND, Workspace
from click.testing import Result

Nodus = Callable[..., Result]


def test_the_installed_command_runs_a_spec_to_its_verdicts(workspace: Workspace) -> None:
    done = workspace.installed("run", "-f", workspace.spec(), "-o", "json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results["group"] == "hello"
    assert results["phase"] == "Completed"
    assert results["passRate"] == 1.0
    assert results["coverage"] == {"scored": 3, "total": 3}
    assert results["simulated"] is True
    assert results["agent"] == {"name": "solver", "revision": 1}
    assert results["environment"]["name"] == "nodus/arithmetic-v2"
    assert Decimal(results["cost"]["modelUSD"]) == sum(Decimal(case["costUSD"]) for case in results["results"])
    assert "hello: Completed, 3/3 ended" in done.stderr


def test_a_group_that_ended_is_not_paid_for_again(workspace: Workspace, nodus: Nodus) -> None:
    first = nodus("run", "-f", workspace.spec(), "--json", "-q")
    again = nodus("run", "-f", workspace.spec(), "--json", "-q")
    assert first.exit_code == again.exit_code == 0
    assert first.stdout == again.stdout
    assert "already ended (Completed)" in again.stderr
    other = nodus("run", "-f", workspace.spec(), "--as", "hello-2", "--json", "-q")
    assert json.loads(other.stdout)["group"] == "hello-2"


def test_results_of_an_agent_that_was_changed_since_are_never_passed_off_as_the_specs(workspace: Workspace, nodus: Nodus) -> None:
    assert nodus("run", "-f", workspace.spec(), "-q").exit_code == 0
    changed = nodus("run", "-f", workspace.spec(family="quick"), "--json", "-q")
    assert changed.exit_code == 2
    assert changed.stdout == ""
    assert "hello was launched with revision 1 of solver, and the spec is revision 2" in changed.stderr
    anew = nodus("run", "-f", workspace.spec(family="quick"), "--as", "hello-2", "--json", "-q")
    assert json.loads(anew.stdout)["agent"] == {"name": "solver", "revision": 2}
    unknown = nodus("validate", "-f", workspace.spec(family="qick"))
    assert unknown.exit_code == 2
    assert 'no model family "qick"' in unknown.stderr


def test_the_gate_decides_between_0_and_1(workspace: Workspace, nodus: Nodus) -> None:
    spec = workspace.spec(family="quick", tasks=10)
    assert nodus("run", "-f", spec, "-q").exit_code == 0
    failed = nodus("run", "-f", spec, "-q", "--min-pass-rate", "100%")
    assert failed.exit_code == 1
    assert "below the gate of 100.0%" in failed.stderr
    assert nodus("results", "hello").exit_code == 0
    assert nodus("results", "hello", "--min-pass-rate", "1").exit_code == 1


def test_a_broken_model_is_infrastructure_and_never_a_wrong_verdict(workspace: Workspace, nodus: Nodus) -> None:
    done = nodus("run", "-f", workspace.spec(family="broken", tasks=2), "--json", "-q", "--min-pass-rate", "0")
    assert done.exit_code == 4
    results = json.loads(done.stdout)
    assert results["passRate"] is None
    assert {case["reason"] for case in results["results"]} == {"InfrastructureFailure"}
    retried = nodus("retry", "hello", "--reason", "InfrastructureFailure", "--json", "-q")
    assert retried.exit_code == 4
    assert {case["run"] for case in json.loads(retried.stdout)["results"]}.isdisjoint(case["run"] for case in results["results"])


def test_a_group_cap_that_stalls_the_group_is_3_and_the_advice_frees_it(workspace: Workspace, nodus: Nodus) -> None:
    done = nodus("run", "-f", workspace.spec(cap="0.10"), "--json", "-q")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["phase"] == "Stalled"
    command = done.stderr.partition("`nodus-tui extend-cap ")[2].partition("`")[0].split()
    assert command[0] == "group/hello"
    freed = nodus("extend-cap", *command, "--wait", "--json")
    assert freed.exit_code == 0, freed.stderr
    assert json.loads(freed.stdout)["coverage"] == {"scored": 3, "total": 3}


def test_runs_at_their_own_cap_are_3_and_the_advice_frees_them(workspace: Workspace, nodus: Nodus) -> None:
    done = nodus("run", "-f", workspace.spec(tasks=2, run_cap="0.0005"), "--json", "-q")
    assert done.exit_code == 3
    assert {case["reason"] for case in json.loads(done.stdout)["results"]} == {"MaxCostReached"}
    commands = [part.partition("`")[0].split() for part in done.stderr.split("`nodus-tui extend-cap ")[1:]]
    assert [each[0].partition("/")[0] for each in commands] == ["run", "run"]
    for each in commands:
        assert nodus("extend-cap", *each).exit_code == 0
    waited = nodus("wait", "hello", "--json", "-q")
    assert waited.exit_code == 0, waited.stderr
    assert json.loads(waited.stdout)["passRate"] == 1.0


def test_many_runs_at_their_own_caps_are_raised_by_one_command(workspace: Workspace, nodus: Nodus) -> None:
    done = nodus("run", "-f", workspace.spec(tasks=4, run_cap="0.0005"), "--json", "-q")
    assert done.exit_code == 3
    command = done.stderr.partition("`nodus-tui extend-cap ")[2].partition("`")[0].split()
    assert command[:2] == ["group/hello", "--waiting"]
    refused = nodus("extend-cap", "group/hello", "--waiting", "0.0005")
    assert (refused.exit_code, "no run of hello waits at a cap of its own below $0.0005" in refused.stderr) == (2, True)
    freed = nodus("extend-cap", *command, "--wait", "--json")
    assert freed.exit_code == 0, freed.stderr
    assert json.loads(freed.stdout)["coverage"] == {"scored": 4, "total": 4}
    assert nodus("extend-cap", "group/hello", "--waiting", "1").exit_code == 2, "none waits any more"
    assert "--waiting is for groups" in nodus("extend-cap", "run/hello-c001", "--waiting", "1").stderr


BAD_SPECS = {
    "a cap of zero": ('maxCostUSD: "5.00"', 'maxCostUSD: "0.00"', "spec.maxCostUSD"),
    "101 cases": ("tasks: 3", "tasks: 101", "spec.evaluation.tasks"),
    "an unknown field": ("maxActive: 10", "maxActiv: 10", "maxActive"),
    "an unknown environment": ("nodus/arithmetic-v2@2.0.0", "nodus/arithmetic-v3@2.0.0", "spec.evaluation.environment"),
    "an unknown family": ("[perfect]", "[perfekt]", "spec.model.families"),
    "a tab": ("  agent: solver", "\tagent: solver", "spec.yaml:"),
}


@pytest.mark.parametrize("fault", BAD_SPECS)
def test_a_bad_spec_is_2_with_its_line_and_changes_nothing(fault: str, workspace: Workspace, nodus: Nodus) -> None:
    assert nodus("get", "groups").exit_code == 0
    before = _everything(workspace)
    good, bad, told = BAD_SPECS[fault]
    text = (workspace.folder / workspace.spec()).read_text(encoding="utf-8")
    assert good in text
    spec = workspace.write(text.replace(good, bad))
    # An estimate needs neither the environment nor a usable model.
    verbs = [("run", "-q"), ("apply",), ("validate",)] + ([("estimate",)] if "unknown e" not in fault and "family" not in fault else [])
    for verb in verbs:
        done = nodus(*verb, "-f", spec)
        assert done.exit_code == 2, (verb, done.stderr)
        assert "spec.yaml:" in done.stderr
        assert told in done.stderr
        assert done.stdout == ""
    assert _everything(workspace) == before


def _everything(workspace: Workspace) -> list[str]:
    """What the workspace's databases hold, but for the questions that were asked of it."""
    dumps = []
    for path in sorted(workspace.home.rglob("*.db")):
        connection = sqlite3.connect(path)
        dumps += [line for line in connection.iterdump() if "requests" not in line]
        connection.close()
    assert dumps
    return dumps


def test_every_fault_is_listed_as_json(workspace: Workspace, nodus: Nodus) -> None:
    text = (workspace.folder / workspace.spec()).read_text(encoding="utf-8")
    spec = workspace.write(text.replace("maxActive: 10", "maxActive: 0").replace("timeout: 30m", "timeout: 59s"))
    done = nodus("validate", "-f", spec, "--json")
    assert done.exit_code == 2
    faults = json.loads(done.stdout)
    assert [fault["path"] for fault in faults] == ["spec.maxActive", "spec.evaluation.timeout"]
    assert all(fault["line"] > 0 and fault["column"] > 0 and fault["file"].endswith("spec.yaml") for fault in faults)
    assert json.loads(nodus("validate", "-f", workspace.spec(), "--json").stdout) == []


def test_standard_input_and_directories_are_specs_too(workspace: Workspace, nodus: Nodus) -> None:
    text = (workspace.folder / workspace.spec()).read_text(encoding="utf-8")
    applied = nodus("apply", "-f", "-", "--json", text=text)
    assert [each["outcome"] for each in json.loads(applied.stdout)["documents"]] == ["created", "created"]
    assert "nodus-tui wait hello" in applied.stderr
    folder = workspace.folder / "specs"
    folder.mkdir()
    (folder / "one.yaml").write_text(text, encoding="utf-8")
    applied = nodus("apply", "-f", str(folder), "--json")
    assert [each["outcome"] for each in json.loads(applied.stdout)["documents"]] == ["unchanged", "unchanged"]


def test_a_dry_run_changes_nothing(workspace: Workspace, nodus: Nodus) -> None:
    done = nodus("apply", "-f", workspace.spec(), "--dry-run", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["dryRun"] is True
    assert json.loads(nodus("get", "groups", "--json").stdout) == []
    assert json.loads(nodus("get", "agents", "--json").stdout) == []


def test_what_get_prints_can_be_applied_again(workspace: Workspace, nodus: Nodus) -> None:
    nodus("run", "-f", workspace.spec(), "-q")
    for target in ("agents/solver", "groups/hello"):
        text = nodus("get", target, "-o", "yaml").stdout
        outcome = json.loads(nodus("apply", "-f", "-", "--json", text=text).stdout)
        assert [each["outcome"] for each in outcome["documents"]] == ["unchanged"], target
    assert nodus("get", "runs", "--group", "hello", "-o", "csv").stdout.count("\n") == 4


def test_the_estimate_has_its_documented_names(workspace: Workspace, nodus: Nodus) -> None:
    spec = workspace.spec(tasks=100, run_cap="0.10", cap="10.00")
    document = json.loads(nodus("estimate", "-f", spec, "--minutes-per-case", "10", "-o", "json").stdout)
    assert document["cases"] == 100
    assert document["modelCeilingUSD"] == "10.00"
    assert document["sandboxMinutes"] == 1000
    assert document["sandboxUSD"] == {"CPU": "0.13", "L4": "7.17", "H100 SXM": "43.33"}
    assert document["wallClockMinutes"] == 100
    assert document["wallClockByMaxActive"] == {"1": 1000, "10": 100, "25": 40, "50": 20, "100": 10}
    assert document["roomForAll"] is True
    assert document["casesSureToStart"] == 100
    assert document["halfWidth95"] == pytest.approx(0.098, abs=0.0005)
    assert "100 min at 10 min a case, assumed: --minutes-per-case says otherwise" in nodus("estimate", "-f", spec).stdout
    assert "at 10 min a case\n" in nodus("estimate", "-f", spec, "--minutes-per-case", "10").stdout
    both = nodus("estimate", "-f", spec, "-f", workspace.spec("other"), "--json")
    assert both.exit_code == 2, "two files that define the agent twice"
    both = nodus("estimate", "-f", spec, "-f", workspace.spec("other", agent="solver-2"), "--json")
    assert [each["group"] for each in json.loads(both.stdout)] == ["hello", "other"]
    assert json.loads(nodus("get", "groups", "--json").stdout) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_under_stderr_does_not_change_the_exit_code(workspace: Workspace) -> None:
    def code_of(*arguments: str) -> int:
        with Path("/dev/full").open("wb") as full:
            return subprocess.run(
                [COMMAND, *arguments], env=os.environ | workspace.environment, stderr=full, stdout=subprocess.DEVNULL, check=False
            ).returncode

    assert code_of("results", "nope") == 2
    assert code_of("run", "-f", workspace.spec(), "-o", "json") == 0


def test_a_state_folder_named_to_hurt_a_terminal_is_shown_not_sent(
    workspace: Workspace, nodus: Nodus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODUS_HOME", str(workspace.folder / "x\x1b]52;c;UEFX\x07"))
    told = nodus("scheduler", "status")
    assert told.exit_code == 4
    assert "no scheduler runs for" in told.stdout
    assert "\x1b" not in told.output


def test_a_state_folder_whose_name_no_record_can_hold_is_refused(nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_HOME", "/tmp/caf\udce9")
    for arguments in (("scheduler", "status"), ("get", "groups"), ("doctor",)):
        told = nodus(*arguments)
        assert told.exit_code == 2
        assert "no UTF-8: name a folder whose name is" in told.stderr
