"""What can be undone of what a person just did, and why the rest cannot. Pure: what it says is done elsewhere."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from nodus_tui.contract.actions import Action, Delete, ExtendCap, Kill, PauseSweep, Resume, ResumeSweep, Retry, RetryCells, RetryJob

MOST_KEPT = 50
"""Steps that can be gone back."""


@dataclass(frozen=True)
class Step:
    """One thing that was done."""

    what: str
    """Such as `the pause of sweep grid`."""
    action: Action | None = None
    """What undoes it in the backend; its author and its id are those of whoever undoes it."""
    back: Callable[[], bool] | None = None
    """What undoes it on the screen; False where that view is gone."""
    why_not: str = ""
    """Why it cannot be undone, as a sentence."""


def step_of(action: Action, *, paused: bool = False) -> Step:
    """An action of the backend that was done. Of a sweep that goes on again `paused` says that it was paused, and not interrupted."""
    if isinstance(action, PauseSweep):
        return Step(f"the pause of sweep {action.name}", ResumeSweep(name=action.name))
    if isinstance(action, ResumeSweep):
        what = f"letting sweep {action.name} go on"
        return (
            Step(what, PauseSweep(name=action.name)) if paused else Step(what, why_not="its cells run, and calls that were made are paid")
        )
    return Step(*_for_good(action))


def _for_good(action: Action) -> tuple[str, None, None, str]:
    match action:
        case Kill():
            said = (f"the kill of {action.name}", "what has ended has ended; cases without a verdict can be run again")
        case ExtendCap():
            said = (f"the higher cap of {action.name}", "a cap is raised and never lowered, for money may be reserved under it already")
        case Resume():
            said = (f"letting {action.group} go on", "its runs go on, and calls that were made are paid")
        case Retry():
            said = (f"the retry of {action.group}", "the new runs exist; they can be killed")
        case RetryJob() | RetryCells():
            said = (f"the retry of {action.name}", "the new attempt exists; it can be killed")
        case Delete():
            said = (f"the removal of {action.kind} {action.name}", "its records are gone")
        case _:
            said = (f"what was done to {getattr(action, 'name', 'it')}", "the backend offers no way back")
    return (said[0], None, None, said[1])


class History:
    """What was done, the last first. A step whose view is gone is passed over."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque(maxlen=MOST_KEPT)

    def did(self, step: Step) -> None:
        """One more thing was done."""
        self._steps.append(step)

    def take(self) -> Step | None:
        """The last thing that was done, which is taken out; None where there is nothing (more)."""
        return self._steps.pop() if self._steps else None
