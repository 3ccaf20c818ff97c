"""What the handles do, over a backend: the one implementation behind the synchronous and the asynchronous interface."""

import asyncio
import getpass
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from nodus_tui.contract.actions import Action, Delete, ExtendCap, Kill
from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.environment_check import GoldSummary
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.events import EventBatch
from nodus_tui.contract.money import parse_usd
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.phases import CaseState, GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun, Transcript
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.sandboxes import FileEntry, SandboxFact
from nodus_tui.contract.spec_loading.loader import bundle_from_documents
from nodus_tui.copying import copy, plan_copy
from nodus_tui.gold_check import check_environment
from nodus_tui.sdk.documents import Money, checked_money, group_document
from nodus_tui.sdk.values import Answer, GroupStatus, Results

Kind = TypeVar("Kind", bound=Resource)


def author() -> str:
    """Who acts: the login name, or nothing where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def amount(value: Money, what: str) -> Decimal:
    """An exact amount of US dollars. Raises TypeError for a float, ValueError for text that is no amount."""
    given = checked_money(value, what)
    return parse_usd(given) if isinstance(given, str) else given


async def apply(backend: Backend, document: Mapping[str, object], *, must_be_new: bool) -> str:
    """Apply one document; gives its outcome. With `must_be_new`, raises Conflict when something of its name exists."""
    bundle = bundle_from_documents([document])
    kind, name = bundle.documents[0].resource.kind, bundle.documents[0].resource.name
    if must_be_new and await _exists(backend, kind, name):
        raise _taken(kind, name)
    outcome = (await backend.apply(bundle, author=author())).documents[0].outcome
    if must_be_new and outcome != "created":
        raise _taken(kind, name)
    return outcome


def _taken(kind: str, name: str) -> NodusError:
    return NodusError(ErrorCode.CONFLICT, f'there is {kind} "{name}" already: use another name, or {kind}.get("{name}")')


async def _exists(backend: Backend, kind: str, name: str) -> bool:
    try:
        await backend.get(kind, name)
    except NodusError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return False
        raise
    return True


def _of_kind(kind: type[Kind], found: Resource) -> Kind:
    if not isinstance(found, kind):
        raise NodusError(ErrorCode.UNAVAILABLE, f"the backend was asked for a {kind.__name__} and gave a {found.kind}")
    return found


async def agent(backend: Backend, name: str) -> Agent:
    """An agent as it is now. Raises NotFound."""
    return _of_kind(Agent, await backend.get("Agent", name))


async def group(backend: Backend, name: str) -> AgentGroup:
    """A group as it is now. Raises NotFound."""
    return _of_kind(AgentGroup, await backend.get("AgentGroup", name))


async def run(backend: Backend, name: str) -> AgentRun:
    """A run as it is now. Raises NotFound."""
    return _of_kind(AgentRun, await backend.get("AgentRun", name))


async def transcript(backend: Backend, name: str) -> Transcript:
    """A run's conversation and calls."""
    return await backend.transcript(name)


async def files(backend: Backend, name: str) -> tuple[FileEntry, ...]:
    """The files that a run's agent made."""
    return await backend.files(name)


async def download(backend: Backend, name: str, path: str, target: Path, *, force: bool) -> list[Path]:
    """Copy some of them here; gives what was written."""
    plan = await plan_copy(backend, name, path, target)
    return list((await copy(backend, name, plan, force=force)).paths)


async def sandboxes(backend: Backend) -> tuple[SandboxFact, ...]:
    """Every sandbox on the backend's machine."""
    return await backend.sandboxes()


async def check(backend: Backend, reference: str, *, split: str | None, tasks: int | None, seed: int) -> GoldSummary:
    """The gold check of an environment."""
    return await check_environment(backend, reference, split=split, tasks=tasks, seed=seed)


async def status(backend: Backend, name: str) -> GroupStatus:
    """How a group stands."""
    return GroupStatus.of(await group(backend, name))


async def results(backend: Backend, name: str) -> Results:
    """A group's results as they stand."""
    return Results(await backend.results(name))


async def runs(backend: Backend, name: str, *, current_only: bool = True) -> list[AgentRun]:
    """A group's runs in order of creation."""
    found: list[AgentRun] = []
    after = ""
    while True:
        page = await backend.list("AgentRun", Query(group=name, current_only=current_only, after=after))
        found += [each for each in page.items if isinstance(each, AgentRun)]
        after = page.next_after
        if not after:
            return found


async def act(backend: Backend, action: Action) -> ActionOutcome:
    """Do it, as the user of this process."""
    return await backend.act(action.model_copy(update={"author": action.author or author()}))


async def wait(backend: Backend, name: str, timeout: float | None, *, through_stalls: bool) -> GroupStatus:
    """Wait until the group is at rest, or stands stalled. Raises TimeoutError after so many seconds."""
    try:
        async with asyncio.timeout(timeout):
            return await _settled(backend, name, through_stalls=through_stalls)
    except TimeoutError:
        now = await status(backend, name)
        raise TimeoutError(
            f"{name} is {now.phase} after {timeout:g} s, {now.pending} of {now.coverage.total} cases pending; it goes on"
        ) from None


async def _settled(backend: Backend, name: str, *, through_stalls: bool) -> GroupStatus:
    cursor = (await backend.snapshot()).cursor
    stream = backend.watch(after=cursor)
    try:
        while True:
            now = await status(backend, name)
            if now.phase.at_rest or (not through_stalls and await _stands_stalled(backend, name, now)):
                return now
            await _next_about(stream, name)
    finally:
        # A generator that is left in the middle is closed now, not whenever it is collected.
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


async def _next_about(stream: AsyncIterator[EventBatch], group_name: str) -> None:
    while True:
        batch = await anext(stream)
        if any(event.kind == "AgentGroup" and event.name == group_name for event in batch.events):
            return


async def _stands_stalled(backend: Backend, name: str, now: GroupStatus) -> bool:
    """Whether nothing can go on under the caps as they are, or for want of the model's server.

    The phase alone may be older than a cap that was just raised.
    """
    if now.phase is not GroupPhase.STALLED:
        return False
    if now.reason is Reason.WAITING_FOR_MODEL:
        return True
    for each in await runs(backend, name):
        if each.status is None or each.status.phase.ended:
            continue
        if each.status.reason is not Reason.MAX_COST_REACHED:
            return False
        if each.status.phase is RunPhase.PENDING and (each.spec.max_cost_usd or Decimal(0)) <= now.money.left_usd:
            return False
    return True


async def delete_group(backend: Backend, name: str) -> None:
    """Remove a group with all its records; what of it is unfinished is killed first."""
    if not (await status(backend, name)).phase.at_rest:
        await act(backend, Kill(kind="AgentGroup", name=name, why="deleted"))
        await wait(backend, name, None, through_stalls=True)
    await act(backend, Delete(kind="AgentGroup", name=name))


async def extend_cap(backend: Backend, kind: str, name: str, cap: Decimal, *, restart: bool = False) -> ActionOutcome:
    """A higher cap for a group, in place, or for a run, by a successor."""
    return await act(backend, ExtendCap.model_validate({"kind": kind, "name": name, "cap_usd": cap, "restart": restart}))


async def answers(backend: Backend, name: str) -> list[Answer]:
    """The answers of a group without evaluation, in order of its inputs."""
    made = []
    for case in (await backend.results(name)).results:
        text = None
        if case.state is CaseState.ANSWERED:
            replies = [turn.text for turn in (await backend.transcript(case.run)).turns if turn.role == "assistant"]
            text = replies[-1]
        made.append(Answer(case.task_id, text, case.state, case.reason, case.message, case.cost_usd, case.run))
    return made


async def submit(
    backend: Backend,
    name: str,
    inputs: Sequence[Mapping[str, str]],
    *,
    agent_name: str,
    max_active: int,
    max_cost: Money | None,
    project: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> None:
    """Create a group without evaluation over these inputs; without `max_cost` its cap has room for every run at once."""
    if not inputs:
        raise NodusError(ErrorCode.INVALID_SPEC, f"{name} has no inputs: give at least one prompt")
    cap = max_cost if max_cost is not None else await cap_for(backend, agent_name, len(inputs))
    document = group_document(
        name, agent=agent_name, max_active=max_active, max_cost=cap, evaluation=None, inputs=inputs, project=project, labels=labels
    )
    await apply(backend, document, must_be_new=True)


async def map_inputs(
    backend: Backend,
    name: str,
    inputs: Sequence[Mapping[str, str]],
    *,
    agent_name: str,
    max_active: int,
    max_cost: Money | None,
    timeout: float | None,
) -> list[Answer]:
    """Create such a group, wait for it, and give its answers."""
    await submit(backend, name, inputs, agent_name=agent_name, max_active=max_active, max_cost=max_cost)
    await wait(backend, name, timeout, through_stalls=False)
    return await answers(backend, name)


def batch_name(agent_name: str) -> str:
    """A name that no other group has, for a group that needs none of its own."""
    return f"{agent_name[:32].rstrip('.-')}-{uuid.uuid4().hex[:12]}"


async def cap_for(backend: Backend, agent_name: str, count: int) -> Decimal:
    """The least group cap under which so many runs of the agent can all go at once."""
    return (await agent(backend, agent_name)).spec.per_run_max_cost_usd * count


async def group_names(backend: Backend) -> Sequence[str]:
    """The names of all groups, in order of creation."""
    return [each.name for each in (await backend.snapshot()).groups]
