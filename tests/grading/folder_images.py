"""Task folders whose images are built from the base image, for engines without a registry."""

import io
import os
import re
import shutil
import tarfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from grading_places import Bench, need

from local_backend.environments.secret_tasks import SecretTask
from local_backend.environments.task_folders.source import TaskFolderSource
from local_backend.sandboxes.docker.engine import connect_docker
from local_backend.sandboxes.interface import SandboxEngine, SandboxError
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.pool import SandboxPool
from nodus_tui.contract.sandboxes import SandboxEngineFact

EXAMPLES = Path(__file__).parents[2] / "examples" / "environments"
_FROM = re.compile(r"^FROM\s+\S+", re.MULTILINE)


@asynccontextmanager
async def docker_bench() -> AsyncIterator[Bench]:
    """A place to judge in, of a Docker engine; nothing may be left behind."""
    try:
        engine: SandboxEngine = await connect_docker(os.environ)
    except SandboxError as error:
        need(f"{error}. scripts/sandbox_engines runs a command with an engine")
        raise

    async def choose() -> tuple[SandboxEngine, SandboxEngineFact]:
        return engine, SandboxEngineFact(engine="docker", isolation="full", reason="a test")

    pool = SandboxPool(choose, this_process("tests of task folders"), None)
    await pool.engine()  # From now on the pool closes it.
    made = Bench(engine, pool)
    try:
        yield made
        assert await made.left() == []
    finally:
        await pool.aclose()


async def on_base(bench: Bench, folder: Path, target: Path) -> Path:
    """A copy of a folder of task folders whose Dockerfiles start from the base image."""
    digest = (await bench.engine.prepare(None)).rpartition("@sha256:")[2]
    _copy(folder, target, f"FROM nodus/base:{digest}")
    return target


def _copy(folder: Path, target: Path, start: str) -> None:
    shutil.copytree(folder, target)
    for dockerfile in target.rglob("Dockerfile"):
        dockerfile.write_text(_FROM.sub(start, dockerfile.read_text("utf-8")), "utf-8")


def tasks_of(folder: Path, layout: str, **spec: object) -> dict[str, SecretTask]:
    """The tasks by name."""
    source = TaskFolderSource({"spec": {"version": "1", "folder": str(folder), "layout": layout, **spec}})
    return {task.id: task for task in source.draw("test", 0, source.describe()[0]["test"])}


def archive_of(files: Mapping[str, str], path: Path) -> Path:
    """What an agent left in its work folder."""
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
    return path
