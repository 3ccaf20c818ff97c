"""The handles of the Python interface, to be awaited on any event loop: the same calls as the synchronous ones, on the same backend."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from nodus_tui.contract.actions import Kill, Resume, Retry
from nodus_tui.contract.environment_check import GoldSummary
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.phases import Reason, Verdict
from nodus_tui.contract.resources.agent import AgentSpec, ToolName
from nodus_tui.contract.resources.agent_run import AgentRunStatus, Transcript
from nodus_tui.contract.sandboxes import FileEntry, SandboxFact
from nodus_tui.sdk import operations
from nodus_tui.sdk.aio_jobs import Job as Job  # noqa: PLC0414 - one of the handles of this module
from nodus_tui.sdk.aio_jobs import TrainingJob as TrainingJob  # noqa: PLC0414 - one of the handles of this module
from nodus_tui.sdk.aio_sandbox import Sandbox as Sandbox  # noqa: PLC0414 - one of the handles of this module
from nodus_tui.sdk.aio_sweeps import Sweep as Sweep  # noqa: PLC0414 - one of the handles of this module
from nodus_tui.sdk.bridge import BRIDGE
from nodus_tui.sdk.documents import Input, Money, agent_document, checked_money, checked_timeout, group_document, input_documents
from nodus_tui.sdk.values import Answer, GroupStatus, Results


class AgentRun:
    """One run of a group, by name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"AgentRun({self.name!r})"

    async def status(self) -> AgentRunStatus | None:
        """How it stands. Raises NodusError NotFound."""
        return (await BRIDGE.arun("look", partial(operations.run, name=self.name))).status

    async def transcript(self) -> Transcript:
        """Its conversation and its calls. The text is data from tasks and models."""
        return await BRIDGE.arun("look", partial(operations.transcript, name=self.name))

    async def files(self) -> tuple[FileEntry, ...]:
        """The files in its work folder: as they are while its sandbox lives, as they were kept afterwards. Paths are data."""
        return await BRIDGE.arun("look", partial(operations.files, name=self.name))

    async def download(self, path: str, target: str | Path, *, force: bool = False) -> list[Path]:
        """Copy a file or folder that its agent made to this machine, all of it for the path `""`; gives the files that were written.

        Like `cp -r`: into a target that is a folder, else under the target's name. Raises NodusError NotFound for a path that is not
        there, and Conflict, with nothing written, where a file exists and `force` is not given. Links are left out.
        """
        return await BRIDGE.arun("look", partial(operations.download, name=self.name, path=path, target=Path(target), force=force))

    async def kill(self) -> ActionOutcome:
        """End it at once; a call under way is charged its worst case."""
        return await BRIDGE.arun("act", partial(operations.act, action=Kill(kind="AgentRun", name=self.name)))

    async def extend_cap(self, cap: Money, *, restart: bool = False) -> "AgentRun":
        """Give its case to a successor with this cap (US dollars), which goes on from the paid conversation, or afresh with `restart`.

        Returns the run that stands for the case afterwards: this one where it came to its answer first.
        """
        amount = operations.amount(cap, "cap")
        outcome = await BRIDGE.arun("act", partial(operations.extend_cap, kind="AgentRun", name=self.name, cap=amount, restart=restart))
        return AgentRun(next((change.new for change in outcome.changes if change.field == "successor"), self.name))


class AgentGroup:
    """A group of runs, by name. Made by `create` or `get`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._draft: Callable[..., Coroutine[Any, Any, None]] | None = None

    def __repr__(self) -> str:
        return f"AgentGroup({self.name!r})"

    @classmethod
    async def create(
        cls,
        name: str,
        *,
        agent: "str | Agent",
        max_cost: Money,
        max_active: int = 10,
        evaluation: Mapping[str, object] | None = None,
        inputs: Iterable[Input] | None = None,
        project: str | None = None,
        labels: Mapping[str, str] | None = None,
        exist_ok: bool = False,
    ) -> "AgentGroup":
        """Create a group and have it run.

        `evaluation` has the fields of the spec: environment, split, tasks, repetitions, seed, timeout. Without it, give `inputs`; with
        neither, nothing is created before `submit_many`. `max_cost` is the cap on model spend in US dollars, as text or Decimal.
        Raises NodusError with every fault of the values, or Conflict where a group of this name exists; with `exist_ok` a group that
        exists with the same spec is given instead. Raises TypeError for a float.
        """
        checked_money(max_cost, "max_cost")
        made = cls(name)
        given = input_documents(inputs) if inputs is not None else []
        agent_name = agent if isinstance(agent, str) else agent.name
        if evaluation is None and inputs is None:
            made._draft = partial(
                operations.submit,
                name=name,
                agent_name=agent_name,
                max_active=max_active,
                max_cost=max_cost,
                project=project,
                labels=labels,
            )
            return made
        document = group_document(
            name,
            agent=agent_name,
            max_active=max_active,
            max_cost=max_cost,
            evaluation=evaluation,
            inputs=given,
            project=project,
            labels=labels,
        )
        await BRIDGE.arun("work", partial(operations.apply, document=document, must_be_new=not exist_ok))
        return made

    @classmethod
    async def get(cls, name: str) -> "AgentGroup":
        """The handle of a group that exists. Raises NodusError NotFound."""
        await BRIDGE.arun("look", partial(operations.group, name=name))
        return cls(name)

    @classmethod
    async def list(cls) -> "tuple[AgentGroup, ...]":
        """All groups, in order of creation."""
        return tuple(cls(name) for name in await BRIDGE.arun("look", operations.group_names))

    async def submit_many(self, inputs: Iterable[Input]) -> "AgentGroup":
        """Give a group that was created with neither evaluation nor inputs its inputs, and have it run. Gives the group itself.

        A group's inputs are fixed from then on: a second call raises NodusError InvalidAction.
        """
        if self._draft is None:
            raise NodusError(ErrorCode.INVALID_ACTION, f"the inputs of {self.name} are fixed: create another group for more")
        work = partial(self._draft, inputs=input_documents(inputs))
        await BRIDGE.arun("work", work)
        self._draft = None
        return self

    def _created(self) -> str:
        if self._draft is not None:
            raise NodusError(ErrorCode.INVALID_ACTION, f"{self.name} has no inputs yet: call submit_many first")
        return self.name

    async def status(self) -> GroupStatus:
        """How it stands now."""
        return await BRIDGE.arun("look", partial(operations.status, name=self._created()))

    async def wait(self, timeout: float | timedelta | None = None, *, through_stalls: bool = False) -> GroupStatus:
        """Wait until nothing of it goes on, and give its status.

        That is when every case has ended, when it is interrupted, or when it stands stalled: every unfinished case waits on a cap, and
        the status's message says which cap to raise. `through_stalls` waits on then, for somebody to raise it or for the evaluation's
        timeout. Raises TimeoutError after `timeout` seconds; the group goes on.
        """
        seconds = checked_timeout(timeout)
        work = partial(operations.wait, name=self._created(), timeout=seconds, through_stalls=through_stalls)
        return await BRIDGE.arun("work", work)

    async def results(self) -> Results:
        """The results as they stand, one item a case."""
        return await BRIDGE.arun("look", partial(operations.results, name=self._created()))

    async def answers(self) -> Sequence[Answer]:
        """The answers of a group without evaluation, in order of its inputs."""
        return await BRIDGE.arun("look", partial(operations.answers, name=self._created()))

    async def runs(self) -> tuple[AgentRun, ...]:
        """The runs that stand for its cases now."""
        found = await BRIDGE.arun("look", partial(operations.runs, name=self._created()))
        return tuple(AgentRun(each.name) for each in found)

    async def kill(self) -> ActionOutcome:
        """End every unfinished run at once; calls under way are charged their worst case."""
        return await BRIDGE.arun("act", partial(operations.act, action=Kill(kind="AgentGroup", name=self._created())))

    async def extend_cap(self, cap: Money) -> ActionOutcome:
        """Raise its cap in place to this many US dollars; runs that waited for it start."""
        amount = operations.amount(cap, "cap")
        return await BRIDGE.arun("act", partial(operations.extend_cap, kind="AgentGroup", name=self._created(), cap=amount))

    async def retry(
        self, *, runs: Sequence[AgentRun | str] = (), reasons: Iterable[Reason | str] = (), verdicts: Iterable[Verdict | str] = ()
    ) -> ActionOutcome:
        """New runs for the cases that ended unscored, all of them or those that the filters let through. A verdict stands."""
        action = Retry(
            group=self._created(),
            runs=tuple(each if isinstance(each, str) else each.name for each in runs),
            reasons=tuple(Reason(each) for each in reasons),
            verdicts=tuple(Verdict(each) for each in verdicts),
        )
        return await BRIDGE.arun("work", partial(operations.act, action=action))

    async def resume(self) -> ActionOutcome:
        """Let an interrupted group go on from its last committed turns."""
        return await BRIDGE.arun("work", partial(operations.act, action=Resume(group=self._created())))

    async def delete(self) -> None:
        """Remove it with all its records. What of it is unfinished is killed first."""
        if self._draft is None:
            await BRIDGE.arun("act", partial(operations.delete_group, name=self.name))


class Agent:
    """An agent, by name. Made by `create`, `apply` or `get`."""

    def __init__(self, name: str, spec: AgentSpec, revision: int) -> None:
        self.name = name
        self.spec = spec
        self.revision = revision
        """As it was when this handle was made."""

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, revision={self.revision})"

    @classmethod
    async def create(
        cls,
        name: str,
        *,
        families: Sequence[str],
        system: str = "",
        max_tokens: int = 1024,
        per_run_max_cost: Money = "1.00",
        temperature: float | None = None,
        max_turns: int = 50,
        tools: Sequence[ToolName] = (),
        sandbox: Mapping[str, object] | None = None,
        project: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> "Agent":
        """Create an agent. Raises NodusError with every fault, or Conflict where one of this name exists.

        `families` are those of the model catalogue, in order of preference; `max_tokens` bounds one reply; `per_run_max_cost` is the cap
        on one run's model spend in US dollars. With `tools` each run has a sandbox of its own, with `sandbox` the fields of the spec:
        image, cpus, memoryGiB, network, idleTimeout and so on.
        """
        document = agent_document(
            name,
            system=system,
            families=families,
            max_tokens=max_tokens,
            per_run_max_cost=per_run_max_cost,
            temperature=temperature,
            max_turns=max_turns,
            tools=tools,
            sandbox=sandbox,
            project=project,
            labels=labels,
        )
        await BRIDGE.arun("act", partial(operations.apply, document=document, must_be_new=True))
        return await cls.get(name)

    @classmethod
    async def apply(
        cls,
        name: str,
        *,
        families: Sequence[str],
        system: str = "",
        max_tokens: int = 1024,
        per_run_max_cost: Money = "1.00",
        temperature: float | None = None,
        max_turns: int = 50,
        tools: Sequence[ToolName] = (),
        sandbox: Mapping[str, object] | None = None,
        project: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> "Agent":
        """Create an agent, or bring the one of this name to these values: a change makes a new revision. Raises as `create` does."""
        document = agent_document(
            name,
            system=system,
            families=families,
            max_tokens=max_tokens,
            per_run_max_cost=per_run_max_cost,
            temperature=temperature,
            max_turns=max_turns,
            tools=tools,
            sandbox=sandbox,
            project=project,
            labels=labels,
        )
        await BRIDGE.arun("act", partial(operations.apply, document=document, must_be_new=False))
        return await cls.get(name)

    @classmethod
    async def get(cls, name: str) -> "Agent":
        """The agent of a name, with its newest revision. Raises NodusError NotFound."""
        found = await BRIDGE.arun("look", partial(operations.agent, name=name))
        return cls(name, found.spec, found.status.revision if found.status else 0)

    async def submit_many(
        self, inputs: Iterable[Input], *, name: str | None = None, max_active: int = 10, max_cost: Money | None = None
    ) -> AgentGroup:
        """Create a group without evaluation that answers these inputs, and give its handle; the caller grades.

        Without `max_cost` the group's cap is the number of inputs × the agent's per-run cap. Without `name` it gets one.
        """
        return await submit_many(self.name, inputs, name=name, max_active=max_active, max_cost=max_cost)

    async def map(
        self,
        inputs: Iterable[Input],
        *,
        name: str | None = None,
        max_active: int = 10,
        max_cost: Money | None = None,
        timeout: float | timedelta | None = None,
    ) -> list[Answer]:
        """Have these inputs answered, and give the answers in their order.

        It is `submit_many`, `wait` and `answers` in one; the group stays with its records, under `name` or the name that each answer's
        run begins with. An input whose run came to no answer has `text` None and says why.
        """
        work = partial(
            operations.map_inputs,
            name=name or operations.batch_name(self.name),
            inputs=input_documents(inputs),
            agent_name=self.name,
            max_active=max_active,
            max_cost=None if max_cost is None else checked_money(max_cost, "max_cost"),
            timeout=checked_timeout(timeout),
        )
        return await BRIDGE.arun("work", work)


async def submit_many(
    agent: str | Agent, inputs: Iterable[Input], *, name: str | None = None, max_active: int = 10, max_cost: Money | None = None
) -> AgentGroup:
    """Create a group without evaluation in which the agent answers these inputs, and give its handle. See `Agent.submit_many`."""
    agent_name = agent if isinstance(agent, str) else agent.name
    group_name = name or operations.batch_name(agent_name)
    work = partial(
        operations.submit,
        name=group_name,
        inputs=input_documents(inputs),
        agent_name=agent_name,
        max_active=max_active,
        max_cost=None if max_cost is None else checked_money(max_cost, "max_cost"),
    )
    await BRIDGE.arun("work", work)
    return AgentGroup(group_name)


async def sandboxes() -> tuple[SandboxFact, ...]:
    """Every sandbox of this program on the machine that does the work, those of dead owners included."""
    return await BRIDGE.arun("look", operations.sandboxes)


async def check_environment(reference: str, *, split: str | None = None, tasks: int | None = None, seed: int = 0) -> GoldSummary:
    """The gold check: each task's reference solution and an empty answer through the environment's grader; see the cases' `problem`.

    `reference` is `name@version`, or the name alone. `tasks` bounds the tasks of each split. No model is asked and nothing is charged.
    """
    return await BRIDGE.arun("look", partial(operations.check, reference=reference, split=split, tasks=tasks, seed=seed))
