"""The environments of a workspace as applying, scheduling and the gold check use them: found by name, graded by a process of their own.

What grades is loaded when something is first graded.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from typing import TYPE_CHECKING

from local_backend.environments.catalogue import EnvironmentCatalogue
from local_backend.environments.checked import CheckedEnvironments
from local_backend.environments.client import EnvironmentWorker
from nodus_tui.contract.errors import ErrorCode, NodusError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

    from local_backend.applying.lookups import Lookups
    from local_backend.environments.client import EnvironmentFacts
    from local_backend.environments.interface import ResolvedEnvironment
    from local_backend.grading.client import GradingWorker
    from local_backend.sandboxes.pool import SandboxPool
    from nodus_tui.contract.environment_check import GoldCase
    from nodus_tui.contract.environment_tasks import TaskPage, TaskView
    from nodus_tui.contract.resources.environment import Environment

_PAGES_AT_ONCE = 2
"""Pages of tasks that are made at the same time: each is a process."""


class LocalEnvironments:
    """One a backend."""

    def __init__(self, home: Path, pool: Callable[[], SandboxPool], environ: Mapping[str, str], clock: Callable[[], datetime]) -> None:
        self.catalogue = EnvironmentCatalogue()
        self._home = home
        self._pool = pool
        self._environ = environ or os.environ
        self._clock = clock
        self.checked = CheckedEnvironments(home / "checks")
        self._pages = asyncio.Semaphore(_PAGES_AT_ONCE)

    def resolve(
        self, reference: str, split: str, *, own: Callable[[str], Environment | None], own_names: Iterable[str] = ()
    ) -> ResolvedEnvironment:
        """The environment of a reference. Raises NodusError."""
        return self.catalogue.resolve(reference, split, own=own, own_names=own_names)

    async def facts(self, resolved: ResolvedEnvironment) -> EnvironmentFacts:
        """What its tasks are; a task file is read and checked by a process of its own."""
        return await self.catalogue.facts(resolved)

    async def start(
        self, resolved: ResolvedEnvironment, *, split: str, seed: int, tasks: int, skip: int = 0, expect_digest: str | None
    ) -> EnvironmentWorker | GradingWorker:
        """A worker with the tasks of one evaluation. Raises NodusError."""
        from local_backend.grading.client import start_grader  # noqa: PLC0415 - looking at environments grades nothing

        return await start_grader(
            resolved,
            split=split,
            seed=seed,
            tasks=tasks,
            skip=skip,
            expect_digest=expect_digest,
            engine=await self._engine(resolved),
            workspace=str(self._home),
            environ=self._environ,
        )

    async def check(
        self, reference: str, lookups: Lookups, *, split: str | None, tasks: int | None, seed: int
    ) -> AsyncGenerator[GoldCase, None]:
        """The gold check of an environment, by `name@version`, or by its name where it has one version here. Raises NodusError."""
        from local_backend.grading.gold import check_gold  # noqa: PLC0415 - see above
        from nodus_tui.contract.environment_check import KEPT_FAULTS, GoldRecord  # noqa: PLC0415 - see above

        own = await lookups.stored_environments()
        resolved = self.resolve(self._with_version(reference, own), split or "test", own=own.get, own_names=own)
        facts = await self.facts(resolved)
        engine = await self._engine(resolved)
        cases = check_gold(
            resolved, facts, split=split, tasks=tasks, seed=seed, engine=engine, workspace=str(self._home), environ=self._environ
        )
        count = 0
        faults: list[GoldCase] = []
        async with aclosing(cases):
            async for case in cases:
                count += 1
                faults += [case] if case.problem else []
                yield case
        record = GoldRecord(
            environment=f"{resolved.name}@{resolved.version}",
            digest=facts.digest,
            checked_at=self._clock(),
            split=split or "",
            limit=tasks,
            tasks=count,
            problems=len(faults),
            faults=tuple(faults[:KEPT_FAULTS]),
        )
        await asyncio.to_thread(self.checked.keep, record)

    async def tasks(self, reference: str, lookups: Lookups, *, split: str, seed: int, after: int, limit: int) -> TaskPage:
        """Tasks as agents see them. Raises NodusError."""
        from nodus_tui.contract.environment_tasks import MOST_TASKS, TaskPage  # noqa: PLC0415 - see above

        own = await lookups.stored_environments()
        resolved = self.resolve(self._with_version(reference, own), split, own=own.get, own_names=own)
        async with self._pages:
            facts = await self.facts(resolved)
            total = facts.tasks.get(split, 0) if facts.tasks else None
            most = total if total is not None else facts.most or after + limit
            wanted = max(0, min(limit, MOST_TASKS, most - after))
            cards = await self._cards(resolved, split=split, seed=seed, skip=after, tasks=wanted) if wanted else ()
        return TaskPage(
            environment=f"{resolved.name}@{resolved.version}",
            split=split,
            seed=seed,
            total=total,
            after=after,
            tasks=cards,
            more=after + len(cards) < most and bool(cards),
        )

    @staticmethod
    async def _cards(resolved: ResolvedEnvironment, *, split: str, seed: int, skip: int, tasks: int) -> tuple[TaskView, ...]:
        from nodus_tui.contract.environment_tasks import TaskView  # noqa: PLC0415 - see above

        # Tasks are made alike whoever grades them: no sandbox is needed to read them.
        async with await EnvironmentWorker.start(resolved, split=split, seed=seed, tasks=tasks, skip=skip, expect_digest=None) as worker:
            return tuple(
                TaskView(
                    id=card.id,
                    prompts=card.prompts,
                    files=tuple(sorted(card.workbench.files)) if card.workbench is not None else (),
                    image=card.workbench.image or "" if card.workbench is not None else "",
                )
                for card in worker.batch.tasks
            )

    def _with_version(self, reference: str, own: Mapping[str, Environment]) -> str:
        if "@" in reference:
            return reference
        versions = {entry.name: entry.version for entry in self.catalogue.entries()}
        versions |= {name: environment.spec.version for name, environment in own.items()}
        # Any version will do for a name that there is none of: the sentence about it names the nearest.
        return f"{reference}@{versions.get(reference, '1')}"

    async def _engine(self, resolved: ResolvedEnvironment) -> str | None:
        return await self.grading_engine(resolved.name) if resolved.in_sandbox else None

    async def grading_engine(self, name: str) -> str:
        """The engine that makes the sandboxes in which an environment's answers are graded. Raises NodusError."""
        from local_backend.sandboxes.interface import SandboxError  # noqa: PLC0415 - see above

        try:
            return (await self._pool().facts()).engine
        except SandboxError as error:
            raise NodusError(ErrorCode.UNAVAILABLE, f"{name} is graded in sandboxes: {error}") from error
