"""The sandbox contract: what every engine gives, and what everybody else may rely on.

Inside a sandbox uid 0 is init and grader, uid 1000 the agent or the code that is judged. The root file system is read-only; writable are
the work folder, /tmp and /home/agent (the agent's), and /grader (root's alone, mode 0700, in grading sandboxes). There is no network
unless the request asks. An engine offers few things (start, spawn, kill, remove); everything else is built on them in `running.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Literal, Protocol

from msgspec import Struct, field

WORK_FOLDER = "/task"
"""Where the agent works unless an image says otherwise."""

GRADER_FOLDER = "/grader"
"""What the agent and judged code can never read."""

AGENT_HOME = "/home/agent"

ENGINE_SECONDS = 60.0
"""The deadline of one request to an engine (start, stop, list), in seconds; an engine that does not answer by then has failed."""

Purpose = Literal["episode", "grading", "check", "probe", "sandbox"]
"""What one is for; `sandbox` is one that a person asked for by itself."""


class User(StrEnum):
    """Who a process in a sandbox runs as."""

    ROOT = "0"
    """Init and grader."""
    AGENT = "1000"
    """The agent, or code taken from a completion."""


class SandboxError(Exception):
    """The engine or the sandbox failed: an infrastructure failure, never a verdict. The text is a sentence for people."""


class SandboxGoneError(SandboxError):
    """The sandbox does not live any more."""


class NotBegunError(SandboxError):
    """A program could not begin in a sandbox that lives: its folder is not there, say, or no process more may be."""


class SandboxRefusedError(SandboxError):
    """This engine cannot give what was asked, and never will: the request must change. The text says what and how."""


_PROGRAMS_BYTES = 64 << 20
"""Memory of a sandbox that files never take."""


class Limits(Struct, frozen=True):
    """What a sandbox may use at most."""

    cpus: float = 1
    memory_bytes: int = 1 << 30
    pids: int = 256
    disk_bytes: int = 1 << 30
    """Over all its writable folders together."""
    open_files: int = 1024

    @property
    def storable_bytes(self) -> int:
        """What the writable folders, which lie in memory, hold together: the disk, but never all of the memory, for no program could
        start any more where files leave it nothing, not even the one that takes the files out.
        """
        return min(self.disk_bytes, self.memory_bytes - min(_PROGRAMS_BYTES, self.memory_bytes // 4))


class TerminalSize(Struct, frozen=True):
    """Of a terminal, in characters."""

    rows: int = 24
    columns: int = 80


class Owner(Struct, frozen=True):
    """The process that a sandbox lives for. When it is dead, whoever finds the sandbox removes it."""

    host: str
    pid: int
    started: str
    """The process's start time as the kernel counts it, so that a pid that came back is not taken for it."""
    workspace: str = ""
    """The workspace's folder."""


class SandboxDevice(Struct, frozen=True):
    """An accelerator, or a slice of one."""

    uuid: str
    place: str
    """As the driver counts: `0`, or `0:3` for slice 3 of device 0."""
    files: tuple[tuple[str, str], ...] = ()
    """The device files that a program needs for it: where each is on this machine, and where a program looks for it."""


def device_variables(uuids: Sequence[str]) -> dict[str, str]:
    """What programs with these devices, and no others, have in their environment; without any they see none."""
    listed = ",".join(uuids)
    return {"CUDA_VISIBLE_DEVICES": listed, "NVIDIA_VISIBLE_DEVICES": listed or "void"}


class SandboxRequest(Struct, frozen=True):
    """One sandbox to start."""

    run: str
    """The run, or the task, that it is for."""
    purpose: Purpose
    owner: Owner
    lifetime_seconds: float
    """The sandbox ends by itself so long after its start, whoever lives."""
    limits: Limits = field(default_factory=Limits)
    network: bool = False
    image: str | None = None
    """An image by name, tag and digest; None means the base image."""
    workdir: str = WORK_FOLDER
    """The agent's folder. What the image has there is found in it, owned by the agent."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables of every process in it. Nothing of the scheduler's own environment is ever added."""
    extra_folders: tuple[str, ...] = ()
    """More empty folders by absolute path, such as `/tests`: both users may write there as in /tmp, and what the image has there is hidden.
    Their size comes out of the request's disk.
    """
    devices: tuple[SandboxDevice, ...] = ()
    """Accelerators that it sees, and no others. Whoever asks has been given them before."""


class Process(Protocol):
    """One program in a sandbox, with its pipes or its terminal. Its output is read by whoever started it: what is not read holds it up.

    On a terminal all output is `stdout`, and what is written is typed: Ctrl-C is a byte that the terminal makes a signal of.
    """

    async def write(self, data: bytes) -> None:
        """Send to its stdin, at its pace. Raises SandboxError when nobody reads any more."""
        ...

    async def close_stdin(self) -> None:
        """Its stdin ends. On a terminal, whose input has no end of its own, Ctrl-D is typed."""
        ...

    async def resize(self, size: TerminalSize) -> None:
        """Its terminal has another size; nothing for one without. Never raises for a program that has ended."""
        ...

    async def signal(self, number: int) -> None:
        """Send a signal to every process of its session; SIGKILL until none is left. Whatever made a session of its own is not reached.

        Does nothing once the program itself has ended. Raises SandboxError.
        """
        ...

    async def read(self, most: int = 65_536) -> tuple[Literal["stdout", "stderr"], bytes] | None:
        """The next piece of output, or None when both streams have ended."""
        ...

    async def wait(self) -> int:
        """Its exit code once it has ended; 128 + N when signal N killed it. Raises SandboxGoneError when the sandbox ended with it."""
        ...

    async def aclose(self) -> None:
        """Let go of it; it may go on in the sandbox, but that a terminal may be hung up with it. Never raises."""
        ...


class Sandbox(Protocol):
    """A running sandbox."""

    @property
    def id(self) -> str:
        """Its name at the engine."""
        ...

    @property
    def engine(self) -> str:
        """`docker` or `bubblewrap`."""
        ...

    @property
    def image(self) -> str:
        """What it runs: the image with its digest."""
        ...

    @property
    def workdir(self) -> str:
        """The agent's folder, and where commands run."""
        ...

    @property
    def started_at(self) -> datetime:
        """When it was up, in UTC."""
        ...

    async def spawn(
        self,
        command: Sequence[str],
        *,
        user: User = User.AGENT,
        cwd: str | None = None,
        environ: Mapping[str, str] | None = None,
        terminal: TerminalSize | None = None,
    ) -> Process:
        """Start a program in it, with pipes, or on a terminal of that size. Raises SandboxError; answers within ENGINE_SECONDS."""
        ...

    async def kill_agent(self) -> None:
        """SIGKILL every process of the agent's uid, and wait until they are gone. Raises SandboxError."""
        ...

    async def alive(self) -> bool:
        """Whether it still lives. Raises SandboxError when the engine does not say."""
        ...

    async def aclose(self) -> None:
        """End it with everything in it, and leave nothing behind. May be called twice. Raises SandboxError when it could not be removed."""
        ...


class FoundSandbox(Struct, frozen=True):
    """A sandbox that an engine knows by our label, whoever made it."""

    id: str
    engine: str
    run: str
    purpose: str
    owner: Owner
    image: str
    created_at: datetime | None
    network: bool = False
    init: int | None = None
    """Its first process as this machine counts it, where the engine knows."""
    init_started: str = ""
    """That process's start time in the kernel's ticks."""


class EngineFacts(Struct, frozen=True):
    """What an engine is, and how far it can be trusted, as a probe run showed it."""

    engine: str
    version: str
    isolation: Literal["full", "weaker"]
    """`full`: two users, no network, and hard limits on memory, processes and CPU. Program graders need it."""
    weaknesses: tuple[str, ...] = ()
    """Sentences that say what is weaker, and what would mend it."""
    images: bool = False
    """Whether it runs container images."""
    two_users: bool = True
    """Whether root and the agent are two users in it; where they are not, nothing runs as root and no grading sandbox is made."""


Progress = Callable[[str], None]
"""Told while an image is pulled or built: one line for people."""


class SandboxEngine(Protocol):
    """One way to make sandboxes. Safe for many calls at once, on one event loop."""

    @property
    def facts(self) -> EngineFacts:
        """What the probe run showed."""
        ...

    async def prepare(self, image: str | None, progress: Progress | None = None) -> str:
        """Have the image here (pull it where it is not), and give it with its digest. Raises SandboxError, SandboxRefusedError."""
        ...

    async def build(self, folder: str, dockerfile: str, tag: str, progress: Progress | None = None) -> str:
        """Have the image of a folder, whose content `tag` names, built where it is not here, and give its reference.

        Raises SandboxError, SandboxRefusedError where it builds none.
        """
        ...

    async def create(self, request: SandboxRequest) -> Sandbox:
        """Start one. Raises SandboxError; whatever happens, no half-made sandbox is left."""
        ...

    async def list(self) -> list[FoundSandbox]:
        """All with our label on this machine, those of other workspaces and dead owners included. Raises SandboxError."""
        ...

    async def remove(self, found: FoundSandbox) -> None:
        """End and remove one. Raises SandboxError."""
        ...

    async def aclose(self) -> None:
        """Let go of the engine; running sandboxes are not touched."""
        ...
