"""What a backend tells of sandboxes: its engine, those that run, what reaping removed, and the files of a run."""

from typing import Literal

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.money import USD


class SandboxEngineFact(ContractModel):
    """Which engine makes the sandboxes, why, and how strong it is: `sandbox` in `doctor -o json`."""

    engine: Literal["docker", "bubblewrap", "none"]
    version: str = ""
    isolation: Literal["full", "weaker", "none"]
    """`full`: two users, no network, and hard limits on memory, processes and CPU. Program graders need it."""
    reason: str
    """Why this engine: what was asked for, and what the probe runs showed."""
    weaknesses: tuple[str, ...] = ()
    """What is weaker than it could be, and what would mend it."""


class SandboxFact(ContractModel):
    """A sandbox on the backend's machine."""

    id: str
    engine: str
    run: str
    """The run, the task or the job that it is for, or the Sandbox that it is."""
    purpose: str
    """`episode`, `grading`, `check`, `probe`, `sandbox` for one of that kind, or `job` for the container of a job."""
    image: str
    network: bool = False
    created_at: UTCTime | None = None
    owner_host: str
    owner_pid: int
    owner_alive: bool | None
    """Whether the process that it lives for still lives; null where its host is another."""
    workspace: str
    mine: bool
    """Whether this workspace's scheduler made it."""
    cost_usd: USD | None = None
    """Its time so far at its hardware's rate; null where another workspace's rate counts."""


class ReapOutcome(ContractModel):
    """What `sandboxes reap` removed."""

    removed: tuple[SandboxFact, ...] = ()
    kept: int = 0
    """Sandboxes whose owner lives."""
    failures: tuple[str, ...] = ()
    """Sentences about those that could not be removed."""


class FileEntry(ContractModel):
    """A file that an agent made. Its path came from a sandbox: it is data, and goes to a screen through safe_text only."""

    path: str
    """Relative to the agent's folder."""
    kind: Literal["file", "folder", "link"]
    size: int = 0
    """Bytes."""
    executable: bool = False
