"""What can be undone of what a person just did, and why the rest cannot. Pure: what it says is done elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from nodus_tui.contract.actions import Action

MOST_KEPT = 50
"""Steps that can be gone back."""


class Step(Struct, frozen=True):
    """One thing that was done."""

    what: str
    """Such as `the pause of sweep grid`."""
    action: Action | None = None
    """What undoes it in the backend; its author and its id are those of whoever undoes it."""
    back: Callable[[], bool] | None = None
    """What undoes it on the screen; False where that view is gone."""
    why_not: str = ""
    """Why it cannot be undone, as a sentence."""
    view: object = None
    """The open view whose filter, order or picks it is of: it is undone there only. None for what was done to the workspace."""


def step_of(action: Action, *, paused: bool = False) -> Step:
    """An action of the backend that was done. Of a sweep that goes on again `paused` says that it was paused, and not interrupted."""
    from nodus_tui.contract.actions import PauseSweep, ResumeSweep  # noqa: PLC0415 - whoever did something has loaded them

    if isinstance(action, PauseSweep):
        return Step(f"the pause of sweep {action.name}", ResumeSweep(name=action.name))
    if isinstance(action, ResumeSweep):
        what = f"letting sweep {action.name} go on"
        return (
            Step(what, PauseSweep(name=action.name)) if paused else Step(what, why_not="its cells run, and calls that were made are paid")
        )
    return Step(*_for_good(action))


def step_of_many(actions: Sequence[Action], named: str) -> Step:
    """The same action on several, at least one, as one step; `named` says on how many of what, such as `9 runs`."""
    return step_of(actions[0]) if len(actions) == 1 else Step(*_for_good(actions[0], named))


def _for_good(action: Action, named: str = "") -> tuple[str, None, None, str]:
    from nodus_tui.contract.actions import Delete, ExtendCap, Kill, Resume, Retry, RetryCells, RetryJob  # noqa: PLC0415 - as above

    name = named or getattr(action, "name", "") or getattr(action, "group", "")
    match action:
        case Kill():
            said = (f"the kill of {name}", "what has ended has ended; cases without a verdict can be run again")
        case ExtendCap():
            said = (f"the higher cap of {name}", "a cap is raised and never lowered, for money may be reserved under it already")
        case Resume():
            said = (f"letting {name} go on", "its runs go on, and calls that were made are paid")
        case Retry():
            said = (f"the retry of {name}", "the new runs exist; they can be killed")
        case RetryJob() | RetryCells():
            said = (f"the retry of {name}", "the new attempt exists; it can be killed")
        case Delete():
            said = (f"the removal of {action.kind} {action.name}", "its records are gone")
        case _:
            said = (f"what was done to {name or 'it'}", "the backend offers no way back")
    return (said[0], None, None, said[1])


class History:
    """What was done, the last first. What was done to a view is undone in that view: elsewhere nobody would see it."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque(maxlen=MOST_KEPT)

    def did(self, step: Step) -> None:
        """One more thing was done."""
        self._steps.append(step)

    def take(self, view: object) -> Step | None:
        """The last thing that was done in this view or to the workspace, which is taken out; None where there is nothing (more)."""
        for place in reversed(range(len(self._steps))):
            step = self._steps[place]
            if step.view is None or step.view is view:
                del self._steps[place]
                return step
        return None
