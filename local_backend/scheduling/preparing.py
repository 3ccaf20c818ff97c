"""What a group needs before its runs can start: the worker that makes and grades its tasks, and a run for each case."""

import contextlib

from local_backend.environments.interface import ResolvedEnvironment
from local_backend.episodes.metering import GroupBooks
from local_backend.episodes.workplace import stored_workbench
from local_backend.scheduling.cases import NextSeq, open_first_attempts
from local_backend.scheduling.surroundings import GraderClient, Services
from local_backend.storage.records import TaskRow
from local_backend.storage.store import Statement
from nodus_tui.contract.resources.agent_group import AgentGroupSpec


def pinned_environment(books: GroupBooks) -> ResolvedEnvironment:
    """The environment as the group was launched with it."""
    pinned = books.group.environment
    return ResolvedEnvironment(pinned["name"], pinned["version"], pinned["source"], pinned["options"])


async def open_grader(services: Services, books: GroupBooks, spec: AgentGroupSpec) -> GraderClient | None:
    """Start the group's environment; None where it has none to be graded by. Raises NodusError when its tasks cannot be made."""
    evaluation = spec.evaluation
    if evaluation is None:
        return None
    resolved = pinned_environment(books)
    if resolved.in_sandbox:
        # The folder tells the next scheduler that sandboxes may be left, also where agents have none.
        with contextlib.suppress(OSError):
            services.workplaces.artifacts.prepare()
    return await services.start_grader(
        resolved,
        split=evaluation.split,
        seed=evaluation.seed,
        tasks=evaluation.tasks,
        skip=evaluation.skipped,
        expect_digest=books.group.digest or None,
    )


def make_cases(next_seq: NextSeq, books: GroupBooks, spec: AgentGroupSpec, grader: GraderClient | None) -> list[Statement]:
    """The group's tasks, from its environment or its own inputs, and the first attempt at each case."""
    group, evaluation = books.group, spec.evaluation
    if grader is not None:
        batch = grader.batch
        group.digest = batch.digest
        rows = [
            TaskRow(group.name, place, card.id, card.prompts, card.metadata, stored_workbench(card.workbench))
            for place, card in enumerate(batch.tasks)
        ]
    else:
        rows = [TaskRow(group.name, place, each.id, (each.prompt,), {}) for place, each in enumerate(spec.inputs)]
    books.tasks = rows
    opened = open_first_attempts(books, evaluation.repetitions if evaluation else 1, next_seq)
    return [*(row.save() for row in rows), *opened]
