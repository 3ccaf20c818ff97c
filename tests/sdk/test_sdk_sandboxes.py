"""The Python interface to files, sandboxes and the gold check, on a run that worked in a real sandbox."""

import asyncio
from pathlib import Path

import pytest
from sdk_place import EVALUATION

from nodus_tui import sdk as nodus

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a run whose agent made files."""
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "bubblewrap")
    agent = nodus.Agent.create(
        "worker",
        families=["boxed"],
        max_tokens=100,
        per_run_max_cost="0.10",
        tools=["bash", "submit"],
        sandbox={"memoryGiB": 0.5, "commandTimeout": "30s"},
    )
    assert agent.spec.tools == ("bash", "submit")
    assert agent.spec.sandbox.memory_gib == 0.5
    group = nodus.AgentGroup.create("eval", agent=agent, max_cost="0.10", evaluation={**EVALUATION, "tasks": 1})
    status = group.wait(timeout=50)
    assert status.phase is nodus.GroupPhase.COMPLETED
    return group.runs()[0].name


def test_files_are_listed_and_downloaded(run: str, tmp_path: Path) -> None:
    handle = nodus.aio.AgentRun(run)
    listed = asyncio.run(handle.files())
    assert listed == nodus.AgentRun(run).files()
    assert [(each.path, each.kind) for each in listed] == [("notes.md", "file"), ("src", "folder"), ("src/answer.py", "file")]
    there = nodus.AgentRun(run)
    assert there.download("notes.md", tmp_path) == [tmp_path / "notes.md"]
    assert asyncio.run(handle.download("src", tmp_path / "copied")) == [tmp_path / "copied" / "answer.py"]
    assert there.download("", str(tmp_path / "all")) == [tmp_path / "all" / "notes.md", tmp_path / "all" / "src" / "answer.py"]
    assert (tmp_path / "all" / "src" / "answer.py").read_text() == "print(42)"
    with pytest.raises(nodus.NodusError) as caught:
        there.download("notes.md", tmp_path)
    assert caught.value.code is nodus.ErrorCode.CONFLICT
    assert there.download("notes.md", tmp_path, force=True) == [tmp_path / "notes.md"]
    with pytest.raises(nodus.NodusError) as caught:
        there.download("none", tmp_path)
    assert caught.value.code is nodus.ErrorCode.NOT_FOUND
    status = there.status()
    assert status is not None
    assert status.sandbox is not None
    assert status.sandbox.cost_usd > 0


def test_sandboxes_are_told(run: str) -> None:
    assert [each for each in nodus.sandboxes() if each.mine] == []
    assert [each for each in asyncio.run(nodus.aio.sandboxes()) if each.mine] == []
    assert run


def test_an_environment_is_checked() -> None:
    summary = nodus.check_environment("nodus/arithmetic-v2", split="test", tasks=2, seed=3)
    assert (summary.environment, summary.tasks, summary.problems) == ("nodus/arithmetic-v2@2.0.0", 2, 0)
    again = asyncio.run(nodus.aio.check_environment("nodus/arithmetic-v2@2.0.0", split="test", tasks=2, seed=3))
    assert [case.task_id for case in again.cases] == [case.task_id for case in summary.cases]
    with pytest.raises(nodus.NodusError) as caught:
        nodus.check_environment("nodus/arithmetic-v3")
    assert caught.value.code is nodus.ErrorCode.NOT_FOUND


def test_tools_are_a_sequence_of_names() -> None:
    with pytest.raises(TypeError, match="sequence of names"):
        nodus.Agent.create("worker", families=["boxed"], tools="bash")  # type: ignore[arg-type]  # what is wrong with it
    with pytest.raises(nodus.NodusError) as caught:
        nodus.Agent.create("worker", families=["boxed"], tools=["rm"])  # type: ignore[list-item]  # what is wrong with it
    assert caught.value.code is nodus.ErrorCode.INVALID_SPEC
