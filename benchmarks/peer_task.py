"""The peer's side of the same job, as a task file of inspect-ai: single-turn samples that ask for one number, and a scorer by text.

Runs in the peer's own environment; knows nothing of this project.
"""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate


@task
def single_turn(n: int = 1000) -> Task:
    """`n` samples; the mock model answers each with its one default sentence, which every other target is part of."""
    targets = ("Default", "nothing it says")
    samples = [Sample(input=f"What is {place} + 1? Answer with the number only.", target=targets[place % 2]) for place in range(n)]
    return Task(dataset=samples, solver=generate(), scorer=includes())
