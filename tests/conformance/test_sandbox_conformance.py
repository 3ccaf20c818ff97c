"""What every backend tells of sandboxes, files and gold checks, whichever way it is reached. The sandboxes are real."""

from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest
from test_backend_conformance import refused, until
from ways import HOSTILE_NAMES, Reached, spec

from nodus_tui.contract.actions import Kill
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase, Verdict
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.copying import copy, plan_copy
from nodus_tui.view_state.folding import run_after

pytestmark = pytest.mark.timeout(60)

RUN = "hello-c001"


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that needs no daemon."""
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "bubblewrap")


async def worked(there: Reached) -> None:
    """One run has made files in its sandbox, and answered."""
    await there.backend.apply(spec(family="scripted", tasks=1, tools="[bash, submit]"))
    await until(there.backend, GroupPhase.COMPLETED)


async def whole(backend: Backend, path: str, run: str = RUN) -> bytes:
    return b"".join([piece async for piece in backend.read_file(run, path)])


async def test_files_are_listed_and_read_alike_everywhere(there: Reached) -> None:
    await worked(there)
    listed = await there.backend.files(RUN)
    assert listed == await there.local.files(RUN)
    files = {each.path: each for each in listed if each.kind == "file"}
    assert set(HOSTILE_NAMES) <= set(files)
    for name in HOSTILE_NAMES:
        assert await whole(there.backend, name) == name.encode()
    assert await whole(there.backend, "large") == bytes(range(256)) * 4096
    assert await whole(there.backend, "empty") == b""
    assert (files["large"].size, files["empty"].size) == (256 * 4096, 0)
    assert files["tool"].executable
    assert not files["large"].executable
    transcript = await there.backend.transcript(RUN)
    assert transcript == await there.local.transcript(RUN)
    assert [turn.role for turn in transcript.turns][:4] == ["system", "user", "assistant", "tool"]
    assert transcript.turns[2].tool_calls[0].name == "bash"
    assert transcript.turns[3].tool_results[0].exit_code == 0


async def under_way(there: Reached) -> AgentRun:
    """The run, once its second command is under way."""
    cursor, run = 0, None
    async with aclosing(cast("Any", there.backend.watch(after=cursor))) as batches:
        async for batch in batches:
            for event in batch.events:
                if (event.kind, event.name) == ("AgentRun", RUN):
                    run = run_after(run, event)
            if run is not None and run.status is not None and run.status.turns == 2:
                return run
    raise AssertionError("the stream ended")


async def test_files_are_read_while_their_sandbox_lives(there: Reached) -> None:
    await there.backend.apply(spec(family="busy", tasks=1, tools="[bash, submit]"))
    run = await under_way(there)
    assert [each.path for each in await there.backend.files(RUN)] == ["half"]
    assert await whole(there.backend, "half") == b"1\n"
    mine = [each for each in await there.backend.sandboxes() if each.mine]
    assert [(each.run, each.purpose, each.owner_alive, each.network) for each in mine] == [(RUN, "episode", True, False)]
    assert (await there.backend.info()).sandboxes_running == 1
    assert run.status is not None
    assert run.status.sandbox is not None
    assert run.status.sandbox.running
    reaped = await there.backend.reap_sandboxes()
    assert mine[0].id not in {each.id for each in reaped.removed}
    assert reaped.kept >= 1
    await there.backend.act(Kill(kind="AgentRun", name=RUN))
    await until(there.backend, GroupPhase.CANCELLED)
    assert [each for each in await there.backend.sandboxes() if each.mine] == []


async def test_what_is_no_file_is_not_found(there: Reached) -> None:
    await worked(there)
    for path in ("none", "passwords", "deep", "..", "../../etc/passwd", "/etc/passwd", "large/", "x" * 5000):
        with pytest.raises(NodusError) as caught:
            await whole(there.backend, path)
        assert caught.value.code in {ErrorCode.NOT_FOUND, ErrorCode.INVALID_REQUEST}, path
    for run in ("none", "", "..", "a/b"):
        with pytest.raises(NodusError) as caught:
            await whole(there.backend, "large", run)
        assert caught.value.code is ErrorCode.NOT_FOUND
        assert (await refused(there.backend.files(run))).code is ErrorCode.NOT_FOUND


async def test_everything_can_be_copied_and_nothing_leaves_the_target(there: Reached, tmp_path: Path) -> None:
    await worked(there)
    target = tmp_path / "taken"
    plan = await plan_copy(there.backend, RUN, "", target)
    copied = await copy(there.backend, RUN, plan)
    assert len(copied.paths) == len(HOSTILE_NAMES) + 3
    assert all(path.is_file() and path.is_relative_to(target) for path in copied.paths)
    assert (target / "large").read_bytes() == bytes(range(256)) * 4096
    assert all(str(path.relative_to(target)).isprintable() for path in copied.paths)


async def test_a_run_tells_its_sandbox_and_leaves_none_behind(there: Reached) -> None:
    await worked(there)
    run = await there.backend.get("AgentRun", RUN)
    assert isinstance(run, AgentRun)
    assert run.status is not None
    box = run.status.sandbox
    assert box is not None
    assert (box.engine, box.running, box.files_kept) == ("bubblewrap", False, True)
    assert box.cost_usd > 0
    results = await there.backend.results("hello")
    assert results.cost.sandbox_usd >= box.cost_usd
    assert [each for each in await there.backend.sandboxes() if each.mine] == []
    assert (await there.backend.info()).sandboxes_running == 0
    reaped = await there.backend.reap_sandboxes()
    assert reaped.failures == ()


async def test_a_probe_tells_which_engine_makes_sandboxes(there: Reached) -> None:
    assert (await there.backend.info()).sandbox == (await there.local.info()).sandbox
    fact = (await there.backend.info(probe=True)).sandbox
    assert fact is not None
    assert fact.engine == "bubblewrap"
    assert fact.isolation in {"full", "weaker"}
    assert fact.version
    assert fact.reason
    assert (await there.backend.info()).sandbox == fact


async def test_a_gold_check_comes_case_by_case(there: Reached) -> None:
    reference = "nodus/arithmetic-v2@2.0.0"
    cases = [case async for case in there.backend.check_environment(reference, split="test", tasks=3, seed=7)]
    assert [(case.split, case.reference, case.problem) for case in cases] == [("test", Verdict.CORRECT, "")] * 3
    assert all(case.empty is not Verdict.CORRECT for case in cases)
    both = [case.split async for case in there.backend.check_environment(reference, tasks=2)]
    assert sorted(both) == ["test", "test", "train", "train"]


@pytest.mark.parametrize("reference", ["none@1.0.0", "nodus/arithmetic-v2@9.9.9", "a b?c=d&e#f@1"])
async def test_an_environment_that_is_not_there_is_not_checked(there: Reached, reference: str) -> None:
    for split in (None, "test"):
        with pytest.raises(NodusError) as caught:
            [case async for case in there.backend.check_environment(reference, split=split)]
        assert caught.value.code in {ErrorCode.NOT_FOUND, ErrorCode.INVALID_SPEC, ErrorCode.INVALID_REQUEST}
    with pytest.raises(NodusError):
        [case async for case in there.backend.check_environment("nodus/arithmetic-v2@2.0.0", split="none")]
