"""What a budget that blocks keeps from going on: groups, jobs, sweeps and Sandboxes in its scope that were refused for a budget. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.meta import Metadata
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted

_NAMED = 3
"""Things of a kind that are named; of more their number."""
_WORDS = {"AgentGroup": "group", "Job": "job", "TrainingJob": "job", "Sweep": "sweep", "Sandbox": "sandbox"}
Holdable = AgentGroup | Job | TrainingJob | Sweep | Sandbox


class Held(Struct, frozen=True):
    """One thing that a budget stopped, or does not let begin."""

    word: str
    metadata: Metadata
    """By which budgets find it."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.metadata.name


def held(things: Iterable[Holdable]) -> tuple[Held, ...]:
    """Those of them that wait for a budget, or were stopped by one."""
    return tuple(
        Held(_WORDS[each.kind], each.metadata)
        for each in things
        if each.status is not None and each.status.reason is not None and str(each.status.reason) == "BudgetExceeded"
    )


def held_by(budget: Budget, all_held: Iterable[Held]) -> tuple[Held, ...]:
    """Those that this one holds: what is in its scope, where it blocks. What several hold, each of them holds."""
    if budget.status is None or not budget.status.blocking:
        return ()
    return tuple(each for each in all_held if budget.spec.scope.covers(each.metadata))


def frees_at(metadata: Metadata, budgets: Iterable[Budget]) -> datetime | None:
    """When what has this project and these labels goes on by itself at the latest: when the last of the budgets that hold it begins a new
    month. None where one of them has no end, or none is known that holds it.
    """
    holding = [each.status for each in budgets if each.status is not None and each.status.blocking and each.spec.scope.covers(metadata)]
    ends = [status.period_ends_at for status in holding if status.period_ends_at is not None]
    return max(ends) if ends and len(ends) == len(holding) else None


def holds_parts(holds: Sequence[Held]) -> list[Line]:
    """`2 groups: red, blue` and `1 job: train`."""
    parts = []
    for word in dict.fromkeys(_WORDS.values()):
        names = [each.name for each in holds if each.word == word]
        if names:
            plural = word if len(names) == 1 else f"{word}es" if word.endswith("x") else f"{word}s"
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            parts.append(line(Span(f"{len(names):,} {plural}", Tone.WARN), muted(": "), f"{', '.join(names[:_NAMED])}{more}"))
    return parts


def held_line(holds: Sequence[Held]) -> Line:
    """`stops 2 groups: red, blue · 1 job: train`; empty where it stops nothing that is known."""
    parts = holds_parts(holds)
    return (*line("stops "), *joined(parts)) if parts else ()
