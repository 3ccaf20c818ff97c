"""The routes to the scheduler itself, for operators, and to the tasks that its environments make."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from local_backend.daemon.answers import answer
from local_backend.daemon.presence import Presence
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.environment_tasks import MOST_TASKS, TaskPage
from nodus_tui.contract.portions import LOG_BYTES
from nodus_tui.contract.scheduler_view import LARGEST_LOG_BYTES, SMALLEST_LOG_BYTES, SchedulerView

_LARGEST_PLACE = 2**63 - 1

_After = Annotated[int, Query(ge=-_LARGEST_PLACE, le=_LARGEST_PLACE)]
_Limit = Annotated[int, Query(ge=SMALLEST_LOG_BYTES, le=LARGEST_LOG_BYTES)]
_Reference = Annotated[str, Query(min_length=1, max_length=300)]
_Split = Annotated[str, Query(max_length=100)]
_Seed = Annotated[int, Query(ge=0, le=2_147_483_647)]
_Skip = Annotated[int, Query(ge=0, le=1_000_000)]
_Tasks = Annotated[int, Query(ge=1, le=MOST_TASKS)]


def scheduler_routes(backend: Backend, *, presence: Presence) -> APIRouter:
    """The routes over one backend."""
    router = APIRouter()

    @router.get("/scheduler", response_model=SchedulerView)
    async def scheduler(after: _After = -LOG_BYTES, limit: _Limit = LOG_BYTES) -> Response:
        """Who does the work and how well, and the log from a place on; a negative one counts from the end. The log is foreign text."""
        found = await backend.scheduler_view(after=after, limit=limit)
        if found.facts.clients is None:
            # Behind another server it is that one which most are connected to: the innermost tells.
            found = found.model_copy(update={"facts": found.facts.model_copy(update={"clients": presence.open_streams})})
        return answer(found)

    @router.get("/environments/tasks", response_model=TaskPage)
    async def tasks(reference: _Reference, split: _Split = "test", seed: _Seed = 0, after: _Skip = 0, limit: _Tasks = 50) -> Response:
        """Tasks of an environment as agents see them: prompts, never answers. They are foreign text."""
        return answer(await backend.environment_tasks(reference, split=split, seed=seed, after=after, limit=limit))

    return router
