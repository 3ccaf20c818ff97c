"""The smaller verbs, and how the command line behaves at its edges."""

import json
import os
import pty
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml
from cli_workspace import COMMAND, Workspace
from click.testing import Result

import nodus_tui.cli.verbs.get as get_verb
from nodus_tui.cli.checks_backend import model_checks
from nodus_tui.cli.verbs.doctor import check_lines
from nodus_tui.contract.backend_info import ModelFact

Nodus = Callable[..., Result]

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_kill_needs_a_yes_and_names_what_it_did(workspace: Workspace, nodus: Nodus) -> None:
    nodus("apply", "-f", workspace.spec(family="slow"))
    refused = nodus("kill", "hello")
    assert refused.exit_code == 2
    assert "--yes" in refused.stderr
    killed = nodus("kill", "hello", "--yes", "--why", "enough seen", "--json")
    assert killed.exit_code == 0
    assert json.loads(killed.stdout)["changed"] is True
    again = nodus("kill", "hello", "--yes", "--json")
    assert json.loads(again.stdout)["changed"] is False
    assert nodus("wait", "hello", "-q").exit_code == 1


def test_a_kill_of_what_has_ended_asks_nothing(workspace: Workspace, nodus: Nodus) -> None:
    nodus("run", "-f", workspace.spec(tasks=1), "-q")
    name = json.loads(nodus("get", "runs", "--json").stdout)[0]["metadata"]["name"]
    for target, told in (("hello", "group hello has ended (Completed)"), (f"run/{name}", f"run {name} has ended (Succeeded)")):
        done = nodus("kill", target)
        assert done.exit_code == 0
        assert done.stderr == f"nodus-tui: {told}; there is nothing to kill\n"
        assert done.stdout == ""
    assert json.loads(nodus("kill", "hello", "--json").stdout) == []


def test_delete_takes_a_group_with_its_runs(workspace: Workspace, nodus: Nodus) -> None:
    nodus("run", "-f", workspace.spec(), "-q")
    assert nodus("delete", "groups/hello").exit_code == 2
    assert nodus("delete", "groups", "--yes").exit_code == 2
    assert nodus("delete", "groups/hello", "agents/solver", "--yes").exit_code == 0
    assert json.loads(nodus("get", "runs", "--json").stdout) == []
    assert nodus("results", "hello").exit_code == 2


def test_describe_shows_the_calls_and_the_conversation_of_a_run(workspace: Workspace, nodus: Nodus) -> None:
    nodus("run", "-f", workspace.spec(tasks=1), "-q")
    name = json.loads(nodus("get", "runs", "--json").stdout)[0]["metadata"]["name"]
    text = nodus("describe", name).stdout
    assert "Verdict:" in text
    assert "Settled" in text
    assert "[user," in text
    alone = nodus("describe", f"run/{name}", "--transcript").stdout
    assert alone.startswith("[system")
    assert "Settled" not in alone
    both = json.loads(nodus("describe", name, "--json").stdout)
    assert both["resource"]["metadata"]["name"] == both["transcript"]["run"] == name
    assert "20" in nodus("describe", "hello").stdout
    assert nodus("describe", "hello", "--transcript").exit_code == 2


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e[@click=app.quit]press[/] 1+1?"


def test_hostile_text_of_a_task_reaches_no_terminal(workspace: Workspace, nodus: Nodus) -> None:
    task = json.dumps({"id": "t-1", "prompt": HOSTILE, "answer": "2"})
    (workspace.folder / "tasks.jsonl").write_text(task + "\n", encoding="utf-8")
    environment = {
        "apiVersion": "nodus.dev/v1",
        "kind": "Environment",
        "metadata": {"name": "hostile"},
        "spec": {"version": "1", "file": "tasks.jsonl", "grader": {"type": "numeric"}},
    }
    text = (workspace.folder / workspace.spec(tasks=1)).read_text(encoding="utf-8").replace("nodus/arithmetic-v2@2.0.0", "hostile@1")
    spec = workspace.write(yaml.safe_dump(environment) + "---\n" + text)
    assert nodus("run", "-f", spec, "-q").exit_code == 0
    name = json.loads(nodus("get", "runs", "--json").stdout)[0]["metadata"]["name"]
    for output in ("table", "json", "yaml"):
        shown = nodus("describe", name, "-o", output).stdout
        assert "[@click=app.quit]press[/]" in shown
        assert not any(char in shown for char in "\x1b\x07\x9b\u202e"), output
    turns = json.loads(nodus("describe", name, "--json").stdout)["transcript"]["turns"]
    assert HOSTILE in [turn["text"] for turn in turns]


@pytest.mark.parametrize("arguments", [["results", "bad\udcff"], ["kill", "--yes", "a\x1b[31m"], ["get", "runs/\udcff"]])
def test_a_name_that_is_no_text_is_refused(arguments: list[str], nodus: Nodus) -> None:
    done = nodus(*arguments)
    assert done.exit_code == 2
    assert "not UTF-8" in done.stderr


def test_a_full_disk_behind_stdout_is_told(workspace: Workspace) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [COMMAND, "schema"], stdout=full, stderr=subprocess.PIPE, text=True, env=workspace.environment, check=False, timeout=60
        )
    assert done.returncode == 4
    assert done.stderr == "nodus-tui: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["grt"], "there is no verb 'grt'; did you mean `nodus-tui get`?"),
        (["launch"], "there is no verb 'launch'; did you mean `nodus-tui run`?"),
        (["lauch"], "did you mean `nodus-tui run`?"),
        (["Export"], "did you mean `nodus-tui results -o csv`?"),
        (["xyzzy"], "there is no verb 'xyzzy'\n"),
        (["run", "my hello.yaml"], "spec files are given with -f: say `-f 'my hello.yaml'`"),
        (["validate", "-f", "one.yaml", "two.yaml"], "spec files are given with -f: say `-f two.yaml`"),
        (["run", "--nope", "hello.yaml"], "No such option"),
        (["get", "grups"], "did you mean groups?"),
        (["run"], "Missing option '-f'"),
        (["run", "-f", "nowhere.yaml"], "nowhere.yaml: there is no such file"),
        (["results", "nothing"], 'there is no AgentGroup "nothing"; `nodus-tui get groups` lists those that there are'),
        (["logs", "nothing"], 'there is no Job "nothing"; `nodus-tui get jobs` lists those that there are'),
        (["exec", "nothing"], 'there is no Sandbox "nothing"; `nodus-tui get sandboxes` lists those that there are'),
        (["environment", "check", "nothing"], 'there is no environment "nothing"; `nodus-tui environment list` lists those that there are'),
        (["extend-cap", "hello", "1.5e3"], "not an amount in US dollars"),
        (["extend-cap", "nothing", "2"], 'there is no group, run, job, trainingjob, sweep or sandbox "nothing"'),
        (["describe", "nothing"], 'nothing is called "nothing": no agent, run, group, environment, budget, sandbox, sweep, job'),
        (["keys", "nope"], "Usage: nodus-tui keys [OPTIONS] [VIEW]\n"),
        (["wait", "x", "--timeout", "10"], "90s, 10m or 24h"),
        (["results", "x", "--min-pass-rate", "80"], "between 0 and 1"),
        ([], "the console needs a terminal"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_2(arguments: list[str], told: str, nodus: Nodus) -> None:
    done = nodus(*arguments)
    assert done.exit_code == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert "␊" not in done.stderr
    assert "␤" not in done.stderr


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_move_its_cursor_gets_a_sentence_instead_of_the_console(term: str, workspace: Workspace) -> None:
    leader, follower = pty.openpty()
    environ = {**workspace.environment, "TERM": term}
    done = subprocess.run(
        [COMMAND], stdin=follower, stdout=follower, stderr=subprocess.PIPE, env=environ, cwd=workspace.folder, check=False, timeout=60
    )
    os.close(follower)
    os.close(leader)
    assert done.returncode == 2
    assert b"the console needs a terminal that can move its cursor" in done.stderr


def test_run_needs_a_group_and_as_needs_exactly_one(workspace: Workspace, nodus: Nodus) -> None:
    agent_only = workspace.write((workspace.folder / workspace.spec()).read_text(encoding="utf-8").partition("---")[0])
    assert "no AgentGroup" in nodus("run", "-f", agent_only).stderr
    two = nodus("run", "-f", workspace.spec(), "-f", workspace.spec("other", agent="solver-2"), "--as", "x")
    assert "there are 2" in two.stderr
    assert "63 small letters" in nodus("run", "-f", workspace.spec(), "--as", "No Name").stderr
    assert json.loads(nodus("get", "agents", "--json").stdout) == []


def test_several_groups_are_waited_for_together(workspace: Workspace, nodus: Nodus) -> None:
    done = nodus("run", "-f", workspace.spec(), "-f", workspace.spec("other", agent="solver-2"), "--json", "-q")
    assert done.exit_code == 0
    assert [each["group"] for each in json.loads(done.stdout)] == ["hello", "other"]


def test_the_schema_accepts_the_examples_and_refuses_what_is_wrong(nodus: Nodus) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(nodus("schema").stdout))
    for path in sorted(EXAMPLES.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            validator.validate(document)
            document["spec"]["surprise"] = 1
            assert not validator.is_valid(document)
    configuration = jsonschema.Draft202012Validator(json.loads(nodus("schema", "config").stdout))
    configuration.validate(yaml.safe_load((EXAMPLES / "config" / "config.yaml").read_text(encoding="utf-8")))
    assert json.loads(nodus("schema", "ag").stdout)["title"] == "AgentGroup"


@pytest.mark.parametrize("example", ["hello-simulated", "hello-self-hosted", "hello-haiku"])
def test_the_examples_are_valid_with_the_example_configuration(example: str, nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_CONFIG", str(EXAMPLES / "config" / "config.yaml"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    done = nodus("validate", "-f", str(EXAMPLES / f"{example}.yaml"))
    assert done.exit_code == 0, done.stderr


def test_the_first_example_runs_without_a_key_and_without_a_configuration(
    nodus: Nodus, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NODUS_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(workspace.folder))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    done = nodus("run", "-f", str(EXAMPLES / "hello-simulated.yaml"), "--json", "-q")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["coverage"], told["simulated"]) == ({"scored": 20, "total": 20}, True)


def test_doctor_tells_what_to_do(nodus: Nodus, workspace: Workspace) -> None:
    checks = {each["check"]: each for each in json.loads(nodus("doctor", "--json").stdout)["checks"]}
    assert {"python", "workspace", "disk", "sqlite", "configuration", "backend", "prices", "sandbox", "terminal"} <= set(checks)
    assert checks["model perfect"]["level"] == "ok"
    assert "simulated" in checks["model perfect"]["message"]
    workspace.config.write_text("models: [{family: x, provider: nobody, name: y}]\n", encoding="utf-8")
    failed = nodus("doctor")
    assert failed.exit_code == 4
    assert "config.yaml:1:" in failed.stdout
    assert "→" in failed.stdout


def test_doctor_says_where_nobody_serves_a_model_of_this_machine(nodus: Nodus, workspace: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as there, socket.create_server(("127.0.0.1", 0)) as gone:
        up, down = (f"http://127.0.0.1:{each.getsockname()[1]}/v1" for each in (there, gone))
        gone.close()
        entries = {"up": up, "down": down, "again": down, "far": "http://gpu-box.example:8000/v1"}
        models = [{"family": family, "provider": "openai", "name": "m", "baseURL": url, "price": "free"} for family, url in entries.items()]
        workspace.config.write_text(json.dumps({"models": models}), encoding="utf-8")
        told = nodus("doctor", "--json")
    checks = {each["check"]: each for each in json.loads(told.stdout)["checks"] if each["check"].startswith("model server")}
    assert {name: each["level"] for name, each in checks.items()} == {"model server up": "ok", "model servers down, again": "warn"}
    assert f"nobody listens at {down} (Connection refused)" in checks["model servers down, again"]["message"]


def test_doctor_tells_of_a_missing_key_once_and_breaks_its_lines_at_words() -> None:
    common = {"provider": "anthropic", "price": "from the price database", "usable": False, "missing_key": "ANTHROPIC_API_KEY"}
    families = [ModelFact(family=name, name=f"claude-{name}", problem=f'family "{name}" needs it', **common) for name in ("haiku", "opus")]
    own = ModelFact(family="own", provider="openai", name="mine", price="free", usable=True)
    checks = model_checks([families[0], own, families[1]])
    assert [check.check for check in checks] == ["model own", "models haiku, opus"]
    wide = "\n".join(check_lines(checks[1], None))
    assert wide.count("ANTHROPIC_API_KEY") == 2
    narrow = list(check_lines(checks[1], 60))
    assert max(map(len, narrow)) <= 60
    assert all(line.startswith("      ") for line in narrow[1:])
    assert " ".join(" ".join(narrow).split()) == " ".join(wide.split())
    assert [check.check for check in model_checks(families[:1])] == ["model haiku"]


def test_a_configuration_that_was_named_is_never_silently_missing(nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_CONFIG", "/nowhere/config.yaml")
    done = nodus("get", "groups")
    assert done.exit_code == 2
    assert "/nowhere/config.yaml" in done.stderr


def test_a_backend_that_is_not_installed_is_named(nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_BACKEND", "elsewhere")
    done = nodus("get", "groups")
    assert done.exit_code == 2
    assert "installed: local" in done.stderr


def test_the_unexpected_is_one_sentence_and_a_log(nodus: Nodus, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_: object) -> None:
        raise RuntimeError("a bolt \x1b[31mbroke")

    monkeypatch.setattr(get_verb, "with_backend", break_down)
    done = nodus("get", "groups")
    assert done.exit_code == 4
    assert done.stdout == ""
    log = workspace.home / "logs" / "errors.log"
    assert done.stderr == f"nodus-tui: an unexpected RuntimeError: a bolt ␛[31mbroke. Details are in {log}\n"
    assert "break_down" in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "seconds", "replaced"),
    [
        ("nodus_tui.contract.phases", 60, True),
        ("local_backend.storage.records", None, True),
        ("nodus_tui.contract.phases", -1e6, False),
        ("textual.app", 60, False),
        ("yaml", None, False),
    ],
)
def test_code_that_was_replaced_while_it_ran_is_named_as_what_it_is(
    name: str, seconds: float | None, replaced: bool, nodus: Nodus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`seconds` is how much later than now the module was written; None for one that is gone."""
    module = tmp_path / "module.py"
    if seconds is not None:
        module.touch()
        os.utime(module, (time.time() + seconds,) * 2)

    def load_late(*_: object) -> None:
        raise ImportError("cannot import name 'New'", name=name, path=None if seconds is None else str(module))

    monkeypatch.setattr(get_verb, "with_backend", load_late)
    done = nodus("get", "groups")
    assert done.exit_code == 4
    assert ("was replaced while this ran" in done.stderr) == replaced
    assert ("an unexpected ImportError" in done.stderr) != replaced


def test_the_shell_completes_verbs_and_options(workspace: Workspace) -> None:
    def completed(words: str) -> str:
        asked = {"_NODUS_TUI_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        return workspace.installed(env=asked).stdout

    assert completed("nodus-tui ext") == "plain,extend-cap\n"
    assert "plain,--min-pass-rate" in completed("nodus-tui run --min")


def test_a_reader_that_leaves_is_no_failure(workspace: Workspace) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [COMMAND, "schema"], stdout=write_end, stderr=subprocess.PIPE, env=workspace.environment, check=False, timeout=60
        )
    finally:
        os.close(write_end)
    assert done.returncode == 0
    assert done.stderr == b""


def test_a_missing_file_of_a_verb_that_only_asks_is_told_without_what_was_not_changed(nodus: Nodus) -> None:
    for verb in ("estimate", "diff"):
        told = nodus(verb, "-f", "nowhere.yaml")
        assert told.exit_code == 2
        assert told.stderr.endswith("1 fault in the spec\n")
    assert "nothing was changed" in nodus("apply", "-f", "nowhere.yaml").stderr
