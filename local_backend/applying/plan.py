"""What an apply would do: faults, conflicts and refusals, or the statements and launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.spec_loading.fault_order import in_file_order

if TYPE_CHECKING:
    from local_backend.environments.interface import ResolvedEnvironment
    from local_backend.storage.store import Statement
    from nodus_tui.contract.outcomes import AppliedDocument
    from nodus_tui.contract.resources.agent import AgentSpec
    from nodus_tui.contract.resources.job import JobSpec
    from nodus_tui.contract.resources.sandbox import SandboxSpec


class SandboxNeed(Struct, frozen=True):
    """What a launch may need sandboxes for."""

    group: str
    agent: AgentSpec | None
    """The agent, where it has tools."""
    environment: ResolvedEnvironment | None


class JobNeed(Struct, frozen=True):
    """A job to run, and where relative paths in it start."""

    name: str
    spec: JobSpec
    folder: str | None
    kind: str = "Job"


class BoxNeed(Struct, frozen=True):
    """A Sandbox to start."""

    name: str
    spec: SandboxSpec


class Plan(Struct):
    """What an apply would do."""

    files: tuple[str, ...] = ()
    """In the order in which their faults are told."""
    faults: list[Fault] = field(default_factory=list)
    conflicts: list[Fault] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    """Sentences for documents that are valid but have no engine here."""
    applied: list[AppliedDocument] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    launches: list[str] = field(default_factory=list)
    paid_from: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The metadata of what is launched, by name: which budgets pay for it."""
    budgets: list[str] = field(default_factory=list)
    """Budgets that are made or changed."""
    needs: list[SandboxNeed] = field(default_factory=list)
    """For the launches: whether this machine can give them their sandboxes is asked when they are launched, not when they are checked."""
    jobs: list[JobNeed] = field(default_factory=list)
    """New jobs: whether this machine can run them is asked when they are applied, not when they are checked."""
    boxes: list[BoxNeed] = field(default_factory=list)
    """New Sandboxes; as with jobs."""
    raises: list[tuple[str, int, int]] = field(default_factory=list)
    """Groups whose cap (nano-dollars) and maxActive change in place."""
    sweeps: list[str] = field(default_factory=list)
    """New sweeps."""
    sweep_changes: list[tuple[str, int, int]] = field(default_factory=list)
    """Sweeps whose cap (nano-dollars) and maxParallel change in place."""

    def refuse(self, *, dry_run: bool) -> None:
        """Raise NodusError when anything stands against the apply. With dry_run, a missing engine does not."""
        if self.faults:
            raise NodusError.invalid_spec(in_file_order((*self.faults, *self.conflicts), self.files))
        if self.conflicts:
            count = len(self.conflicts)
            raise NodusError(
                ErrorCode.CONFLICT,
                f"{count} conflict{'s' if count > 1 else ''} with what exists; nothing was changed",
                in_file_order(self.conflicts, self.files),
            )
        if self.refusals and not dry_run:
            raise NodusError(ErrorCode.NOT_SUPPORTED, "; ".join(self.refusals) + "; nothing was changed")
