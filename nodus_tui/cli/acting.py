"""Doing an action and telling what it changed; for actions that make work, waiting for it."""

from collections.abc import Awaitable, Callable, Sequence

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.output import emit, json_text
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.waiting import WaitOptions, wait_and_report
from nodus_tui.connect import Role
from nodus_tui.contract.actions import Action
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.outcomes import ActionOutcome

Plan = Callable[[Backend], Awaitable[Sequence[Action]]]
"""Finds out which actions are meant; may ask the person."""
Doing = Callable[[Backend], Awaitable[Sequence[ActionOutcome]]]
"""Does something, and says what came of it."""


def outcomes_text(outcomes: Sequence[ActionOutcome], output: str) -> str:
    """What happened: sentences for people, or one object (a list for several)."""
    if output == "json":
        documents = [each.to_document() for each in outcomes]
        return json_text(documents[0] if len(documents) == 1 else list(documents))
    return "\n".join(each.message for each in outcomes)


def act(plan: Plan, output: str, *, role: Role = "order") -> int:
    """Do what was planned and tell it on stdout. With role `act` nothing has to go on for it, so that no scheduler is started."""

    async def ask(backend: Backend) -> list[ActionOutcome]:
        return [await backend.act(action) for action in await plan(backend)]

    return tell(ask, output, role=role)


def tell(doing: Doing, output: str, *, role: Role = "order") -> int:
    """Do it and tell on stdout what came of it."""

    async def ask(backend: Backend) -> int:
        outcomes = await doing(backend)
        if outcomes or output == "json":
            emit(outcomes_text(outcomes, output))
        return Exit.DONE

    return with_backend(role, ask)


def act_and_wait(plan: Plan, group_of: Callable[[ActionOutcome], str], options: WaitOptions) -> int:
    """Do what was planned, tell it on stderr, then wait for the groups as `run` does."""

    async def ask(backend: Backend) -> int:
        outcomes = [await backend.act(action) for action in await plan(backend)]
        for outcome in outcomes:
            say(outcome.message)
        return await wait_and_report(backend, tuple(dict.fromkeys(group_of(each) for each in outcomes)), options)

    return with_backend("work", ask)
