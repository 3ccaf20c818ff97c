"""The agents' files that are kept in a workspace: what happens when they are gone, in the way, left over, or cannot be taken or given."""

import asyncio
import io
import os
import shutil
import tarfile
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from agents_at_work import content, launch, nothing_left, plays, results_of, worker
from aiohttp import web
from engine_place import Place, at_rest, environment, group, in_phase, run_in_phase, run_status
from model_server import ModelServer, Seen, asks

from local_backend.episodes.workplace import Workplace
from local_backend.storage.artifacts import Artifacts
from local_backend.storage.records import SandboxUse
from nodus_tui.contract.actions import ExtendCap, Resume, Retry
from nodus_tui.contract.money import usd_text
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase, Verdict

pytestmark = pytest.mark.timeout(60)


def archive(path: Path) -> None:
    """An archive with the file `stale.txt`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as file:
        entry = tarfile.TarInfo("./stale.txt")
        entry.uid = entry.gid = 1000
        file.addfile(entry, io.BytesIO())


async def test_a_new_run_does_not_find_files_that_only_have_its_name(place: Place, server: ModelServer) -> None:
    plays(server, [asks(("bash", {"command": "ls"})), asks(("submit", {"answer": "1"}))])
    async with place.backend() as backend:
        archive(place.home / "artifacts" / "campaign-c001.tar")
        await launch(place, backend, environment(), worker(), group(tasks=1))
        assert (await at_rest(backend)).phase is GroupPhase.COMPLETED
        assert "stale.txt" not in results_of(await backend.transcript("campaign-c001"))[0]
        assert await backend.files("campaign-c001") == ()


async def test_work_that_an_idle_stop_could_not_keep_for_the_agent_s_own_doing_is_unreadable(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workplace, "idle_seconds", property(lambda workplace: 0.3))  # A spec's shortest is a minute.

    async def second(seen: Seen) -> web.Response:
        while (told := (await run_status(backend, "campaign-c001")).sandbox) is None or told.running:
            await asyncio.sleep(0)
        return asks(("bash", {"command": "ls"}))

    # An archive has no holes: it is larger than any disk of this sandbox.
    work = "echo work > work.txt; for place in $(seq 20); do truncate -s 9M hole$place; done"
    plays(server, [asks(("bash", {"command": work})), second, asks(("submit", {"answer": "1"}))])
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(sandbox={"diskGiB": 0.01}), group(tasks=1))
        await at_rest(backend)
        told = await run_status(backend, "campaign-c001")
        assert await nothing_left(backend)
    assert (told.phase, told.verdict) == (RunPhase.SUCCEEDED, Verdict.INVALID_OUTPUT)


async def test_where_files_have_no_folder_each_run_fails_and_the_group_goes_on(place: Place, server: ModelServer) -> None:
    plays(server, [asks(("submit", {"answer": "1"}))])
    async with place.backend() as backend:
        (place.home / "artifacts").write_text("in the way", encoding="utf-8")
        await launch(place, backend, environment(), worker(), group(tasks=2))
        assert (await at_rest(backend)).phase is GroupPhase.COMPLETED
        told = await run_status(backend, "campaign-c001")
        assert (told.reason, "folder" in told.message) == (Reason.INFRASTRUCTURE_FAILURE, True)
        (place.home / "artifacts").unlink()
        await backend.act(Retry(group="campaign"))
        assert (await at_rest(backend)).coverage.scored == 2
        # The first attempts paid for nothing.
        assert (await backend.transcript("campaign-c001")).calls == ()


@pytest.mark.parametrize("links", [True, False])
async def test_a_successor_gets_the_files_of_its_predecessor_and_no_others(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    real = os.link

    def refuse(source: str | Path, target: str | Path, **more: object) -> None:
        if "artifacts" in str(source):
            raise PermissionError(1, "Operation not permitted")  # As a file system without hard links says.
        real(source, target, **more)  # type: ignore[arg-type]  # whatever it was called with.

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    plays(
        server, [asks(("bash", {"command": "echo paid > work.txt"})), asks(("bash", {"command": "ls"})), asks(("submit", {"answer": "1"}))]
    )
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=1, name="measure"))
        await at_rest(backend, "measure")
        first_call = (await backend.transcript("measure-c001")).calls[0].reserved_usd
        await launch(place, backend, worker(cap=usd_text(first_call)), group(tasks=1, cap="1.00"))
        await in_phase(backend, "Stalled")
        archive(place.home / "artifacts" / "campaign-c001-2.tar")  # As a scheduler leaves it that dies between the files and its commit.
        await backend.act(ExtendCap(kind="AgentRun", name="campaign-c001", cap_usd=Decimal("0.50")))
        await at_rest(backend)
        found = results_of(await backend.transcript("campaign-c001-2"))[1].splitlines()
        assert await content(backend, "campaign-c001-2", "work.txt") == b"paid\n"
    assert "work.txt" in found
    assert "stale.txt" not in found


async def test_an_answer_whose_files_are_gone_is_not_graded_without_them(place: Place, server: ModelServer) -> None:
    waiting = asyncio.Event()

    async def second(seen: Seen) -> web.Response:
        if not waiting.is_set():
            waiting.set()
            await asyncio.Event().wait()
        return asks(("submit", {"answer": "1"}))

    plays(server, [asks(("bash", {"command": "echo kept > work.txt"})), second])
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=1))
        await waiting.wait()
        await backend.stop_work(grace_seconds=0)
        await run_in_phase(backend, "campaign-c001", RunPhase.INTERRUPTED)
    shutil.rmtree(place.home / "artifacts")
    async with place.backend() as backend:
        await backend.act(Resume(group="campaign"))
        await at_rest(backend)
        told = await run_status(backend, "campaign-c001")
        assert (told.reason, told.verdict) == (Reason.INFRASTRUCTURE_FAILURE, None)
        assert "gone" in told.message
        await backend.act(Retry(group="campaign"))
        await at_rest(backend)
        again = await run_status(backend, "campaign-c001-2")
    assert (again.phase, again.carried_usd) == (RunPhase.SUCCEEDED, 0)


async def test_a_scheduler_removes_what_one_that_was_killed_left_of_archives(place: Place, server: ModelServer) -> None:
    plays(server, [asks(("submit", {"answer": "1"}))])
    folder = place.home / "artifacts"
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=1))
        await at_rest(backend)
    for name in (".campaign-c001.tar.0123456789ab", "deleted-c001.tar"):
        (folder / name).write_bytes(b"x")
    async with place.backend():
        assert [path.name for path in folder.iterdir()] == ["campaign-c001.tar"]


def test_an_archive_that_cannot_be_removed_loses_nothing_else(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    artifacts.path("run").mkdir(parents=True)  # What cannot be unlinked, whoever asks.
    assert artifacts.prune("run", 0) is False


def test_a_sandbox_is_charged_no_longer_than_it_can_have_lived(place: Place) -> None:
    now = place.clock()
    use = SandboxUse(rate=3_600_000_000, started_at=now - timedelta(hours=60), running=True, lifetime=30)
    use.stopped(now)
    assert (use.running, use.settled_seconds, use.cost) == (False, 30, 30_000_000)
    again = SandboxUse.from_text(SandboxUse(lifetime=30).to_text())
    assert again.lifetime == 30
