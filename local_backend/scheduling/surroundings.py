"""What the engine of a group uses of its surroundings, and the shapes of what it is given. It does nothing."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from local_backend.environments.interface import Began, Grade, ResolvedEnvironment, TaskBatch
from local_backend.episodes.episode import Models
from local_backend.episodes.workplace import Workplaces
from local_backend.scheduling.cases import NextSeq
from local_backend.storage.store import Store


class GraderClient(Protocol):
    """An environment worker: tasks without answers, and grades."""

    @property
    def batch(self) -> TaskBatch:
        """The tasks in their fixed order."""
        ...

    async def grade(
        self, task_id: str, completion: str, *, simulated: bool = False, files: Path | None = None, began: Began | None = None
    ) -> Grade:
        """Grade one answer, with a tar of the agent's files where it has any; a broken grader is a verdict InfrastructureFailure."""
        ...

    async def aclose(self) -> None:
        """End the worker process."""
        ...


class StartGrader(Protocol):
    """How an environment worker is started; raises NodusError when the tasks cannot be made."""

    async def __call__(
        self, resolved: ResolvedEnvironment, *, split: str, seed: int, tasks: int, skip: int = 0, expect_digest: str | None
    ) -> GraderClient:
        """Start it and have the tasks made; refuse when their digest is not the expected one."""
        ...


class Services(Struct, frozen=True):
    """What an engine uses of its surroundings."""

    store: Store
    clock: Callable[[], datetime]
    models: Models
    start_grader: StartGrader
    next_seq: NextSeq
    shortage: Callable[[], str]
    """Why the disk has no room for new work, as a sentence; empty when it has."""
    workplaces: Workplaces
    """Where runs with tools get their sandboxes."""
