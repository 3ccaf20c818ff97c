"""The handles of jobs and TrainingJobs, to be awaited on any event loop: the same calls as the synchronous ones, on the same backend."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

from nodus_tui.contract.actions import Kill, RetryJob
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.resources.job import JobStatus
from nodus_tui.contract.resources.training_job import TrainingJobStatus
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.sdk import job_operations, operations
from nodus_tui.sdk.bridge import BRIDGE
from nodus_tui.sdk.documents import Money, checked_money, checked_timeout
from nodus_tui.sdk.job_operations import JobKind


class _AnyJob:
    """What jobs of either kind have in common."""

    KIND: ClassVar[JobKind]

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @classmethod
    async def create(
        cls,
        name: str,
        *,
        spec: Mapping[str, object],
        max_cost: Money,
        project: str | None = None,
        labels: Mapping[str, str] | None = None,
        exist_ok: bool = False,
    ) -> Self:
        """Create it and have it run.

        `spec` has the fields of the spec under their names there; `max_cost` is the cap over all its attempts in US dollars, as text or
        Decimal. Raises NodusError with every fault of the values, or Conflict where a job of this name exists; with `exist_ok` one that
        exists with the same spec is given instead. Raises TypeError for a float.
        """
        work = partial(
            job_operations.create,
            kind=cls.KIND,
            name=name,
            spec=spec,
            max_cost=checked_money(max_cost, "max_cost"),
            project=project,
            labels=labels,
            exist_ok=exist_ok,
        )
        await BRIDGE.arun("work", work)
        return cls(name)

    @classmethod
    async def get(cls, name: str) -> Self:
        """The handle of one that exists. Raises NodusError NotFound."""
        await BRIDGE.arun("look", partial(job_operations.status, kind=cls.KIND, name=name))
        return cls(name)

    @classmethod
    async def list(cls) -> tuple[Self, ...]:
        """All of this kind, in order of creation."""
        return tuple(cls(name) for name in await BRIDGE.arun("look", partial(job_operations.names, kind=cls.KIND)))

    async def logs(self) -> str:
        """What it has written so far, as far as that is kept. It is data."""
        return await BRIDGE.arun("look", partial(job_operations.logs, kind=self.KIND, name=self.name))

    async def outputs(self) -> tuple[FileEntry, ...]:
        """What was kept of it when it ended. Raises NodusError NotFound before."""
        return await BRIDGE.arun("look", partial(job_operations.outputs, name=self.name))

    async def download(self, path: str, target: str | Path, *, force: bool = False) -> Sequence[Path]:
        """Copy one of these files, a folder of them, or with the path `""` all of them to this machine; gives what was written.

        Like `cp -r`: into a target that is a folder, else under the target's name. Each file's sha256 is compared with the manifest's.
        Raises NodusError NotFound for a path that is not there, and Conflict, with nothing written, where a file exists and `force` is not
        given.
        """
        work = partial(job_operations.download, kind=self.KIND, name=self.name, path=path, target=Path(target), force=force)
        return await BRIDGE.arun("look", work)

    async def kill(self) -> ActionOutcome:
        """End it gracefully: SIGTERM, and SIGKILL to all that is left of it after its grace."""
        return await BRIDGE.arun("act", partial(operations.act, action=Kill(kind=self.KIND, name=self.name)))

    async def retry(self) -> ActionOutcome:
        """Begin the next attempt of one that has ended without success, in its work folder as it is, under the same cap."""
        return await BRIDGE.arun("work", partial(operations.act, action=RetryJob(kind=self.KIND, name=self.name)))

    async def extend_cap(self, cap: Money) -> ActionOutcome:
        """Raise its cap in place to this many US dollars; one that its cap has ended goes on."""
        amount = operations.amount(cap, "cap")
        return await BRIDGE.arun("work", partial(operations.extend_cap, kind=self.KIND, name=self.name, cap=amount))

    async def delete(self) -> None:
        """Remove it with its log and its outputs. One that goes on is killed first."""
        await BRIDGE.arun("act", partial(job_operations.delete, kind=self.KIND, name=self.name))


class Job(_AnyJob):
    """A command or an image that runs to its end under a cap, by name. Made by `create` or `get`."""

    KIND: ClassVar[JobKind] = "Job"

    async def status(self) -> JobStatus:
        """How it stands now."""
        return await BRIDGE.arun("look", partial(job_operations.status, kind=self.KIND, name=self.name))

    async def wait(self, timeout: float | timedelta | None = None) -> JobStatus:
        """Wait until it has ended, and give its status. Raises TimeoutError after `timeout` seconds; the job goes on."""
        work = partial(job_operations.wait, kind=self.KIND, name=self.name, timeout=checked_timeout(timeout))
        return await BRIDGE.arun("work", work)


class TrainingJob(_AnyJob):
    """A model scored by the runtime `nodus/evaluate`, by name. Made by `create` or `get`."""

    KIND: ClassVar[JobKind] = "TrainingJob"

    async def status(self) -> TrainingJobStatus:
        """How it stands now: `progress`, and `scores` when it has ended."""
        return await BRIDGE.arun("look", partial(job_operations.training_status, name=self.name))

    async def wait(self, timeout: float | timedelta | None = None) -> TrainingJobStatus:
        """Wait until it has ended, and give its status. Raises TimeoutError after `timeout` seconds; the job goes on."""
        work = partial(job_operations.wait_for_training, name=self.name, timeout=checked_timeout(timeout))
        return await BRIDGE.arun("work", work)

    async def results(self) -> dict[str, Any]:
        """Its results.json: scores by task, and of an Environment the verdicts. Raises NodusError NotFound until it has ended."""
        return await BRIDGE.arun("look", partial(job_operations.results, name=self.name))
