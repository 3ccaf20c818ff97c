"""What the command line shows and does of sandboxes and files, on runs that worked in real ones."""

import json
import os
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cli_workspace import CONFIGURATION, Workspace
from click.testing import Result

from nodus_tui.cli import session
from nodus_tui.cli.checks import Level
from nodus_tui.cli.checks_backend import sandbox_check
from nodus_tui.cli.transfers import TransferDisplay, bytes_text
from nodus_tui.contract.sandboxes import FileEntry, ReapOutcome, SandboxEngineFact, SandboxFact
from nodus_tui.copying import CopyPlan, PlannedFile

Nodus = Callable[..., Result]

RUN = "hello-c001"
HOSTILE = "x\x1b[2J\u202ey"
_QUOTED = f"$'{HOSTILE.encode('unicode_escape').decode()}'"
MAKE = f"mkdir -p src/empty; printf 'print(42)\\n' > src/answer.py; chmod +x src/answer.py; printf {_QUOTED} > {_QUOTED}; seq 20; exit 3"
SCRIPT = [
    {"text": "I make files.", "tools": [{"name": "bash", "arguments": {"command": MAKE}}]},
    {
        "tools": [
            {"name": "write", "arguments": {"path": "notes.md", "content": "one\ntwo\n"}},
            {"name": "read", "arguments": {"path": "none"}},
        ]
    },
]
SCRIPTED = f"""\
  - family: scripted
    provider: simulated
    name: simulated-scripted
    price: {{inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}}
    simulated: {{accuracy: 1.0, outputTokens: 20, script: {json.dumps(SCRIPT)}}}
"""


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that needs no daemon."""
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "bubblewrap")


@pytest.fixture(scope="module")
def worked_once(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace in which one run has made files: made once, for what these tests do to it changes nothing of that run."""
    workspace = Workspace(tmp_path_factory.mktemp("worked"))
    workspace.config.write_text(CONFIGURATION + SCRIPTED, encoding="utf-8")
    path = Path(workspace.spec(family="scripted", tasks=1))
    path.write_text(path.read_text().replace('perRunMaxCostUSD: "0.10"', 'perRunMaxCostUSD: "0.10"\n  tools: [bash, read, write, submit]'))
    done = workspace.installed("run", "-f", str(path), "-q", env={"NODUS_SANDBOX_ENGINE": "bubblewrap"})
    assert done.returncode == 0, done.stderr
    return workspace


@pytest.fixture
def worked(worked_once: Workspace, nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """That workspace, to which the command line goes in this test."""
    monkeypatch.setenv("NODUS_HOME", str(worked_once.home))
    monkeypatch.setenv("NODUS_CONFIG", str(worked_once.config))
    return worked_once


def tree(folder: Path) -> dict[str, str]:
    return {str(each.relative_to(folder)): each.read_text() for each in folder.rglob("*") if each.is_file()}


def test_a_run_is_described_with_its_sandbox_and_its_tools(worked: Workspace, nodus: Nodus) -> None:
    text = nodus("describe", RUN).stdout
    assert "bubblewrap, nodus/base@sha256:" in text
    assert "1 CPU, 1 GiB of memory, 1 GiB of disk" in text
    assert "no network" in text
    assert "apart from model spend and its cap" in text
    assert f"`nodus-tui cp {RUN}:` lists them" in text
    assert "▸ bash  mkdir -p src/empty" in text
    assert "! bash: exit 3, " in text
    assert "\n  20\n" in text
    assert "▸ write  notes.md\n  content:\n    one\n    two\n▸ read  none\n" in text
    assert "! read: error" in text
    assert "Time: " in text
    told = json.loads(nodus("describe", RUN, "-o", "json").stdout)
    assert told["resource"]["status"]["sandbox"]["engine"] == "bubblewrap"
    assert {"Queued", "Preparing", "Working"} <= {each["activity"] for each in told["resource"]["status"]["stretches"]}
    assert told["transcript"]["turns"][2]["toolCalls"][0]["name"] == "bash"
    assert "Tools:           bash, read, write, submit" in nodus("describe", "agents/solver").stdout
    # What the run's sandbox might use stands fixed, whatever its agent became since.
    spec = (worked.folder / "hello.yaml").read_text(encoding="utf-8").partition("---")[0]
    assert nodus("apply", "-f", worked.write(spec + "  sandbox: {cpus: 2}\n")).exit_code == 0
    assert "1 CPU, 1 GiB of memory, 1 GiB of disk" in nodus("describe", RUN).stdout
    assert "2 CPUs" in nodus("describe", "agents/solver").stdout
    assert "1 CPU," in nodus("describe", "agents/solver@1").stdout


def test_the_scripted_example_works_in_sandboxes_without_a_key(workspace: Workspace, nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(__file__).parents[2] / "examples" / "scripted"
    monkeypatch.setenv("NODUS_CONFIG", str(folder / "config.yaml"))
    done = nodus("run", "-f", str(folder / "functions.yaml"), "--json", "-q")
    assert done.exit_code == 0, done.stderr
    verdicts = {item["taskId"]: item["verdict"] for item in json.loads(done.stdout)["results"]}
    assert verdicts == {"leap-years": "Correct", "double-words": "Incorrect"}


def test_sandbox_money_stands_beside_model_spend_and_apart_from_it(worked: Workspace, nodus: Nodus) -> None:
    results = json.loads(nodus("results", "hello", "-o", "json").stdout)
    assert float(results["cost"]["sandboxUSD"]) > 0
    assert "on sandboxes, apart from the cap" in nodus("results", "hello", "--summary").stdout
    assert "apart from model spend and its cap" in nodus("describe", "group/hello").stdout
    runs = nodus("get", "runs").stdout.splitlines()
    assert "SANDBOX" in runs[0]
    assert runs[1].count("$") == 3
    assert "SANDBOXES" in nodus("get", "groups").stdout


def test_files_are_listed(worked: Workspace, nodus: Nodus) -> None:
    listed = nodus("cp", f"{RUN}:")
    assert listed.exit_code == 0
    assert [line.split(maxsplit=2)[1:] for line in listed.stdout.splitlines()] == [
        ["KIND", "PATH"],
        ["file", "notes.md"],
        ["folder", "src"],
        ["program", "src/answer.py"],
        ["folder", "src/empty"],
        ["file", "x␛[2J<U+202E>y"],
    ]
    entries = json.loads(nodus("cp", f"run/{RUN}:src", "-o", "json").stdout)
    assert entries[1] == {"path": "src/answer.py", "kind": "file", "size": 10, "executable": True}
    assert nodus("cp", f"{RUN}:none").exit_code == 2
    assert nodus("cp", "nobody:").exit_code == 2
    for wrong in ("no-colon", ":path", "a\x1b:b"):
        assert nodus("cp", wrong).exit_code == 2


def test_files_are_copied_and_nothing_is_replaced_unasked(worked: Workspace, nodus: Nodus, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    one = nodus("cp", f"{RUN}:src/answer.py", str(here))
    assert (one.exit_code, one.stdout) == (0, f"{here}/answer.py\n")
    assert "1 file, 10 B" in one.stderr
    assert stat.S_IMODE((here / "answer.py").stat().st_mode) & 0o100
    again = nodus("cp", f"{RUN}:src/answer.py", str(here))
    assert again.exit_code == 2
    assert "--force" in again.stderr
    (here / "answer.py").write_text("mine")
    assert nodus("cp", f"{RUN}:src/answer.py", str(here), "--force", "-q").exit_code == 0
    everything = nodus("cp", f"{RUN}:", str(tmp_path / "all"), "-o", "json")
    told = json.loads(everything.stdout)
    assert sorted(told["files"]) == sorted(str(tmp_path / "all" / name) for name in tree(tmp_path / "all"))
    assert told["bytes"] == sum(len(text.encode()) for text in tree(tmp_path / "all").values())
    assert tree(here) == {"answer.py": "print(42)\n"}
    assert set(tree(tmp_path / "all")) == {"notes.md", "src/answer.py", "x␛[2J<U+202E>y"}
    assert (tmp_path / "all" / "src" / "empty").is_dir()
    assert "is saved as all/x␛[2J<U+202E>y" in everything.stderr
    assert "\x1b" not in everything.stderr
    for wrong in ("../../etc/passwd", "/etc/passwd"):
        assert nodus("cp", f"{RUN}:{wrong}", str(here)).exit_code == 2


def test_a_file_goes_to_standard_output_as_it_is(worked: Workspace, nodus: Nodus) -> None:
    assert nodus("cp", f"{RUN}:{HOSTILE}", "-").stdout_bytes == HOSTILE.encode()
    assert nodus("cp", f"{RUN}:none", "-").exit_code == 2
    assert nodus("cp", f"{RUN}:", "-").exit_code == 2


def test_no_sandbox_stays_and_reaping_says_what_it_kept(worked: Workspace, nodus: Nodus) -> None:
    facts = json.loads(nodus("sandboxes", "list", "-o", "json").stdout)
    assert [fact for fact in facts if fact["mine"]] == []
    reaped = nodus("sandboxes", "reap", "--json")
    assert reaped.exit_code == 0
    assert json.loads(reaped.stdout)["failures"] == []
    assert "removed" in reaped.stderr


def test_doctor_tries_the_engine_and_says_how_strong_it_is(nodus: Nodus) -> None:
    told = json.loads(nodus("doctor", "-o", "json").stdout)
    sandbox = told["sandbox"]
    assert sandbox["engine"] == "bubblewrap"
    assert sandbox["isolation"] in {"full", "weaker"}
    assert {"version", "reason", "weaknesses"} <= set(sandbox)
    message = next(check["message"] for check in told["checks"] if check["check"] == "sandbox")
    assert message.startswith(f"bubblewrap {sandbox['version']}, {sandbox['isolation']} isolation: ")


def test_doctor_says_when_there_is_no_engine(nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "none")
    done = nodus("doctor", "-o", "json")
    assert json.loads(done.stdout)["sandbox"]["isolation"] == "none"


@pytest.mark.parametrize(
    ("fact", "level", "told"),
    [
        (None, Level.WARN, "does not say"),
        (
            SandboxEngineFact(engine="docker", version="28.5", isolation="full", reason="it passed."),
            Level.OK,
            "docker 28.5, full isolation",
        ),
        (
            SandboxEngineFact(engine="bubblewrap", isolation="weaker", reason="no Docker.", weaknesses=("No cgroups.",)),
            Level.WARN,
            "bubblewrap, weaker isolation: no Docker.",
        ),
        (SandboxEngineFact(engine="none", isolation="none", reason="nothing passed"), Level.WARN, "none: nothing passed"),
    ],
)
def test_an_engine_in_words(fact: SandboxEngineFact | None, level: Level, told: str) -> None:
    check = sandbox_check(fact)
    assert check.level is level
    assert told in check.message
    assert bool(check.remedy) == (level is Level.WARN)


def fact(name: str, *, alive: bool | None, mine: bool = False) -> SandboxFact:
    return SandboxFact(
        id=name,
        engine="docker",
        run=f"run-of-{name}\x1b[2J",
        purpose="grading",
        image="python:3.13",
        network=True,
        created_at=datetime.now(UTC),
        owner_host="elsewhere",
        owner_pid=4711,
        owner_alive=alive,
        workspace="/w",
        mine=mine,
    )


class Found:
    """As much of a backend as these verbs ask."""

    async def sandboxes(self) -> tuple[SandboxFact, ...]:
        return (fact("s1" + "0" * 62, alive=True, mine=True), fact("s2", alive=False), fact("s3", alive=None))

    async def reap_sandboxes(self) -> ReapOutcome:
        return ReapOutcome(removed=(fact("s2", alive=False),), kept=2, failures=("s9 does not go away: the engine hangs",))


def test_each_sandbox_is_listed_with_its_owner_and_a_failed_removal_is_4(nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def opened(_: str) -> AsyncIterator[Found]:
        yield Found()

    monkeypatch.setattr(session, "opened", opened)
    listed = nodus("sandboxes", "list").stdout
    assert "\x1b" not in listed
    assert "process 4711, alive" in listed
    assert "process 4711, dead" in listed
    assert "process 4711 on elsewhere" in listed
    assert "this one" in listed
    assert "s1" + "0" * 16 + "  " in listed
    reaped = nodus("sandboxes", "reap")
    assert reaped.exit_code == 4
    assert "s2" in reaped.stdout
    assert "1 sandbox removed, 2 kept" in reaped.stderr
    assert "s9 does not go away" in reaped.stderr


def test_progress_is_told_while_a_copy_takes_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    files = tuple(PlannedFile(FileEntry(path=f"f{n}\x1b", kind="file", size=3 << 20), (f"f{n}",)) for n in range(2))
    plan = CopyPlan(Path(), files)
    now = 0.0
    with TransferDisplay(plan, quiet=False, clock=lambda: now) as display:
        display.progress(files[0], 1 << 20)
        assert capsys.readouterr().err == ""
        now = 6.0
        display.progress(files[0], 3 << 20)
        now = 12.0
        display.progress(files[1], 1 << 20)
    assert capsys.readouterr().err.splitlines() == [
        "file 1 of 2, 3.0 MiB of 6.0 MiB: f0␛",
        "file 2 of 2, 4.0 MiB of 6.0 MiB: f1␛",
    ]
    with TransferDisplay(plan, quiet=True, clock=lambda: now) as display:
        now = 99.0
        display.progress(files[0], 1)
    assert capsys.readouterr().err == ""
    assert [bytes_text(count) for count in (0, 1023, 1024, 5 << 30, 1 << 60)] == ["0 B", "1023 B", "1.0 KiB", "5.0 GiB", "1048576.0 TiB"]


def test_a_terminal_gets_no_file_of_a_sandbox(worked: Workspace) -> None:
    leader, follower = os.openpty()
    try:
        done = worked.on_terminal(follower, "cp", f"{RUN}:notes.md", "-")
    finally:
        os.close(follower)
        os.close(leader)
    assert done.returncode == 2
    assert b"not written to a terminal" in done.stderr
