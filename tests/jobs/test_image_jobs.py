"""Jobs that are images, at a real Docker engine."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from docker_engines import user_engine
from job_place import job, job_now, log_with, supervisor_of, until, whole_log, workspace

from local_backend.sandboxes.docker.engine import DockerEngine
from nodus_tui.contract.actions import Kill
from nodus_tui.contract.errors import NodusError

pytestmark = pytest.mark.timeout(110)


@pytest.fixture
async def engine() -> AsyncIterator[DockerEngine]:
    async with user_engine() as found:
        yield found


@pytest.fixture
async def image(engine: DockerEngine) -> str:
    """The base image, which is made of this machine's own files, under its name at the engine."""
    reference = await engine.prepare(None)
    digest = reference.partition("@sha256:")[2]
    return f"nodus/base:{digest}"


async def containers(engine: DockerEngine, name: str = "work") -> list[str]:
    return [found.id for found in await engine.list() if found.run == name and found.purpose == "job"]


async def test_an_image_runs_to_its_end_with_its_log_its_mounts_and_its_outputs(tmp_path: Path, image: str, engine: DockerEngine) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "in.txt").write_text("from outside")
    command = "echo hello; echo trouble >&2; cat /data/in.txt; touch /data/x 2>&1 | head -c 1 >/dev/null; env; mkdir -p out; "
    command += "printf data > out/a.txt; ln -s /etc/passwd out/link; ls /proc/net/dev >/dev/null; exit 3"
    async with workspace(tmp_path) as backend:
        spec = {
            "image": image,
            "workingDir": "/srv/work",
            "network": False,
            "env": {"MODE": "fast"},
            "mounts": [{"source": "data", "target": "/data"}],
            "outputs": ["out", "absent"],
        }
        await backend.apply(job(command=command, folder=tmp_path, **spec))
        status = await until(backend)
        log = await whole_log(backend)
        assert (status.phase, status.reason, status.exit_code) == ("Failed", "NonZeroExit", 3), (status, log)
        for words in ("hello\n", "trouble\n", "from outside", "MODE=fast", "NODUS_JOB=work"):
            assert words in log
        assert "NODUS_HOME" not in log
        assert [(each.path, each.bytes) for each in status.outputs] == [("out/a.txt", 4)]
        assert "The output absent is not there." in status.notes
        assert not (tmp_path / "data" / "x").exists()
        assert status.cost_usd > 0
        assert await containers(engine) == []


async def test_its_cap_ends_it_with_all_its_processes(tmp_path: Path, image: str, engine: DockerEngine) -> None:
    async with workspace(tmp_path) as backend:
        command = "trap '' TERM; (trap '' TERM; sleep 300) & echo up; while :; do sleep 1; done"
        await backend.apply(job(command=command, image=image, maxCostUSD="0.06"))
        status = await until(backend)
        assert (status.phase, status.reason, status.exit_code) == ("Failed", "MaxCostReached", 137)
        assert 0.03 < float(status.cost_usd) <= 0.06
        assert await containers(engine) == []


async def test_a_kill_ends_it_gracefully(tmp_path: Path, image: str, engine: DockerEngine) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.1; done", image=image))
        await log_with(backend, "up")
        outcome = await backend.act(Kill(kind="Job", name="work"))
        assert outcome.message.startswith("killed work")
        _, status = await job_now(backend)
        assert (status.phase, status.reason, status.exit_code) == ("Cancelled", "Killed", 5)
        assert (await whole_log(backend)).endswith("bye\n")
        assert await containers(engine) == []


async def test_the_container_of_a_killed_supervisor_is_removed_and_its_time_is_booked(
    tmp_path: Path, image: str, engine: DockerEngine
) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="echo up; sleep 300", image=image))
        await log_with(backend, "up")
        assert len(await containers(engine)) == 1
        os.kill(supervisor_of(tmp_path), signal.SIGKILL)
        status = await until(backend)
        assert (status.phase, status.reason) == ("Failed", "InfrastructureFailure")
        assert status.cost_usd > 0
        assert await containers(engine) == []


async def test_a_container_whose_supervisor_died_while_no_scheduler_lived_is_removed_by_the_next(
    tmp_path: Path, image: str, engine: DockerEngine
) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="echo up; sleep 300", image=image))
        await log_with(backend, "up")
    os.kill(supervisor_of(tmp_path), signal.SIGKILL)
    assert len(await containers(engine)) == 1
    async with workspace(tmp_path) as backend:
        assert (await until(backend)).reason == "InfrastructureFailure"
        assert await containers(engine) == []


async def test_an_image_that_is_not_there_is_told_and_costs_nothing(tmp_path: Path, engine: DockerEngine) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="true", image="localhost:1/no/such:image"))
        status = await until(backend)
        assert (status.phase, status.reason, status.cost_usd, status.started_at) == ("Failed", "NotStarted", 0, None)
        assert "localhost:1" in status.message


async def test_a_program_that_is_not_in_the_image_is_told(tmp_path: Path, image: str, engine: DockerEngine) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command=["no-such-program"], image=image))
        status = await until(backend)
        assert (status.phase, status.reason, status.exit_code) == ("Failed", "NonZeroExit", 127)
        assert "no-such-program" in await whole_log(backend)
        assert await containers(engine) == []


async def test_a_mount_that_is_not_there_is_told_when_it_is_applied(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        with pytest.raises(NodusError, match="/no/such/folder, which is not there"):
            await backend.apply(job(image="any", mounts=[{"source": "/no/such/folder", "target": "/data"}]))


async def test_without_an_engine_an_image_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    async with workspace(tmp_path) as backend:
        await backend.apply(job(command="true", image="alpine"))
        async with asyncio.timeout(60):
            status = await until(backend)
        assert (status.phase, status.reason) == ("Failed", "NotStarted")
        assert "none.sock" in status.message
        assert "cannot be reached" in status.message
