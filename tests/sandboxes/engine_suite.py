"""What the engine suite's tests share: engines by name, small sandboxes, and words for what is tried in them."""

import asyncio
import os
import resource
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psutil
import pytest

from local_backend.sandboxes.bubblewrap.engine import BubblewrapEngine, connect_bubblewrap
from local_backend.sandboxes.docker.engine import connect_docker
from local_backend.sandboxes.interface import FoundSandbox, Limits, Sandbox, SandboxEngine, SandboxRequest, User
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.running import Finished, run
from nodus_tui.values import replace

LIMITS = Limits(cpus=1, memory_bytes=256 << 20, pids=64, disk_bytes=64 << 20, open_files=256)
PYTHON = ("python3", "-I", "-S", "-c")


async def connect(name: str) -> SandboxEngine:
    """Raises SandboxError."""
    return await (connect_bubblewrap(os.environ) if name == "bubblewrap" else connect_docker(os.environ))


def request(run_name: str, **options: object) -> SandboxRequest:
    """A small sandbox of this process."""
    small = SandboxRequest(run=run_name, purpose="episode", owner=this_process(), lifetime_seconds=100, limits=LIMITS)
    return replace(small, **options)  # type: ignore[arg-type]  # The names are the dataclass's own.


@asynccontextmanager
async def sandbox_of(engine: SandboxEngine, run_name: str, **options: object) -> AsyncIterator[Sandbox]:
    """A sandbox, ended afterwards."""
    sandbox = await engine.create(request(run_name, **options))
    try:
        yield sandbox
    finally:
        await sandbox.aclose()


async def shell(sandbox: Sandbox, script: str, *, user: User = User.AGENT, stdin: bytes = b"", **options: object) -> Finished:
    """A shell script run to its end."""
    return await run(sandbox, ("sh", "-c", script), user=user, stdin=stdin, **{"timeout": 30.0, **options})  # type: ignore[arg-type]


async def said(sandbox: Sandbox, script: str, *, user: User = User.AGENT) -> str:
    """What a script that must succeed wrote."""
    done = await shell(sandbox, script, user=user)
    assert done.exit_code == 0, done
    return done.stdout.decode()


async def python(sandbox: Sandbox, script: str, *, user: User = User.AGENT, timeout: float = 30) -> Finished:
    """A Python script run to its end."""
    return await run(sandbox, (*PYTHON, script), user=user, timeout=timeout)


async def found_of(engine: SandboxEngine, run_name: str) -> list[FoundSandbox]:
    """What the engine knows of a run."""
    return [each for each in await engine.list() if each.run == run_name]


def marked(marker: str) -> list[psutil.Process]:
    """Processes of this machine that have a word in their command line, those in sandboxes included."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if marker in " ".join(process.info["cmdline"] or [])
        and process.info["status"] != psutil.STATUS_ZOMBIE
        and process.pid != os.getpid()
    ]


async def until(condition: "object", seconds: float = 30) -> None:
    """Wait until something that is asked again and again holds; fail when it does not."""
    async with asyncio.timeout(seconds):
        while True:
            value = condition()  # type: ignore[operator]
            if asyncio.iscoroutine(value):
                value = await value
            if value:
                return
            await asyncio.sleep(0.02)


def groups_of(found: FoundSandbox | str) -> list[Path]:
    """Control groups of a bubblewrap sandbox that are there."""
    name = found if isinstance(found, str) else found.id
    return [path for path in Path("/sys/fs/cgroup").glob("**/nodus/*") if path.name == name]


def needs_groups(engine: SandboxEngine) -> None:
    """Skip where the engine says that it has no limits for all programs of a sandbox together; CI has none such."""
    if engine.facts.isolation == "weaker" and not os.environ.get("CI"):
        pytest.skip(f"{engine.facts.engine} is weaker here: {engine.facts.weaknesses}")


def is_bubblewrap(engine: SandboxEngine) -> bool:
    """For what has to be looked at from outside in its own way."""
    return isinstance(engine, BubblewrapEngine)


@contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    """This process may open exactly so many files more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY)]
    highest = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
    try:
        while held[-1] <= highest:  # The gaps are filled.
            held.append(os.open(os.devnull, os.O_RDONLY))
        resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 1 + count, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in held:
            os.close(each)


@contextmanager
def files_may_grow_to(size: int) -> Iterator[None]:
    """What this process writes to a file beyond so many bytes is refused, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


OWNER = """
import asyncio, os, sys
sys.path[:0] = sys.argv[3].split(os.pathsep)
from engine_suite import connect, request

async def main() -> None:
    engine = await connect(sys.argv[1])
    sandbox = await engine.create(request(sys.argv[2]))
    await sandbox.spawn(["sh", "-c", f"trap '' TERM HUP INT; while :; do sleep 1; done # {sys.argv[2]}"])
    print(sandbox.id, flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


def owner_command(engine: str, run_name: str) -> Sequence[str]:
    """A process of its own that owns one sandbox with a program in it, and tells the sandbox's id."""
    return [sys.executable, "-c", OWNER, engine, run_name, str(Path(__file__).parent)]


def secret_environ() -> Mapping[str, str]:
    """What a scheduler may have in its environment and no sandbox may see."""
    return {"ANTHROPIC_API_KEY": "sk-secret-that-must-not-leak", "AWS_SECRET_ACCESS_KEY": "sk-secret-that-must-not-leak"}
