"""Samples that are at work for as long as anybody looks, as a task file of inspect-ai: what its full-screen display shows.

Runs in the peer's own environment; knows nothing of this project.
"""

import asyncio

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.solver import Generate, Solver, TaskState, solver

_LONG = 3600.0
"""Seconds: longer than any measurement."""


@solver
def wait() -> Solver:
    """Works on a sample without an end."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - the solver's signature
        await asyncio.sleep(_LONG)
        return state

    return solve


@task
def waiting(n: int = 50) -> Task:
    """`n` samples, all of them at work at once where so many are allowed."""
    samples = [Sample(id=f"sum-{place:05d}", input=f"What is {place} + 1?", target=str(place + 1)) for place in range(n)]
    return Task(dataset=samples, solver=wait())
