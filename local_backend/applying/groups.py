"""Planning groups: the agent, the model and the environment that each names, and whether it is new."""

from local_backend.applying.definitions import Planning
from local_backend.applying.devices import terms_of
from local_backend.applying.launches import existing_group, launch
from local_backend.applying.plan import SandboxNeed
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.models.catalogue import CatalogueProblem, ResolvedModel
from local_backend.storage.records import GroupRecord
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup, Evaluation
from nodus_tui.contract.spec_loading.bundle import LoadedDocument
from nodus_tui.contract.spec_loading.nearest import nearest

LONGEST_GROUP_NAME = 50
"""Letters; the names of a group's runs are built on it and must stay within 63."""


class GroupPlanning:
    """The groups of one plan, after its definitions."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning

    async def group(self, document: LoadedDocument, group: AgentGroup) -> None:
        """A new group to launch, or a change in place of one that exists."""
        rows = await self._planning.store.read("SELECT * FROM groups WHERE name = ?", (group.name,))
        if rows and not document.in_doubt("metadata", "name"):
            record = GroupRecord.from_row(rows[0])
            changed = self._planning.agents.get(group.spec.agent)
            if changed is not None and changed[2] is not None and changed[1] != record.agent_revision:
                self._usable_model(document, changed[0], changed[2])
            existing_group(self._planning.plan, document, group, record)
            await self._planning.refuse_raise_of_cell(document, group.name, record.cap)
            return
        before = len(self._planning.plan.faults)
        if len(group.name) > LONGEST_GROUP_NAME and not document.in_doubt("metadata", "name"):
            self._planning.plan.faults.append(
                document.fault(("metadata", "name"), f"the name has {len(group.name)} letters; a group's has at most {LONGEST_GROUP_NAME}")
            )
        found = await self._agent_of(document, group)
        model = self._usable_model(document, found[0], found[2]) if found else None
        environment = await self._environment_of(document, group)
        if found is None or model is None or len(self._planning.plan.faults) > before:
            return
        agent, revision, _ = found
        if agent.spec.tools:
            await self._refuse_hardware(group, agent)
        self._planning.plan.needs.append(SandboxNeed(group.name, agent.spec if agent.spec.tools else None, environment))
        launch(self._planning.plan, self._planning.now, group, revision, model, environment)

    async def _refuse_hardware(self, group: AgentGroup, agent: Agent) -> None:
        known, box = self._planning.known, agent.spec.sandbox
        terms = await terms_of(known.devices, known.rates, box, cpus=box.cpus, memory_gib=box.memory_gib)
        if terms.refusal:
            self._planning.plan.refusals.append(
                f"AgentGroup {group.name} is valid, but the sandbox of its agent {agent.name} cannot be had: {terms.refusal}"
            )

    async def _agent_of(self, document: LoadedDocument, group: AgentGroup) -> tuple[Agent, int, LoadedDocument | None] | None:
        if document.in_doubt("spec", "agent"):
            return None
        if group.spec.agent in self._planning.agents:
            return self._planning.agents[group.spec.agent]
        if self._planning.bundle.may_lack("Agent", group.spec.agent):
            return None
        stored = await self._planning.known.newest_agent(group.spec.agent)
        if stored is not None:
            return stored[0], stored[1], None
        rows = await self._planning.store.read("SELECT name FROM resources WHERE kind = 'Agent'")
        names = [row["name"] for row in rows] + list(self._planning.agents)
        message = f'there is no Agent "{group.spec.agent}", here or applied before{self._gaps}'
        self._planning.plan.faults.append(document.fault(("spec", "agent"), message, nearest(group.spec.agent, names)))
        return None

    @property
    def _gaps(self) -> str:
        """What to add to a sentence about something that is not there."""
        return ", unless it is in what could not be read" if self._planning.bundle.has_gaps else ""

    def _usable_model(self, document: LoadedDocument, agent: Agent, where: LoadedDocument | None) -> ResolvedModel | None:
        if where is not None and where.in_doubt("spec", "model", "families"):
            return None
        try:
            return self._planning.known.model_of(agent, self._planning.served)
        except CatalogueProblem as problem:
            if where is not None:
                fault = where.fault(("spec", "model", "families"), problem.detail, problem.suggestion)
                if fault not in self._planning.plan.faults:
                    self._planning.plan.faults.append(fault)
            else:
                self._planning.plan.faults.append(document.fault(("spec", "agent"), problem.detail, problem.suggestion))
            return None

    async def _environment_of(self, document: LoadedDocument, group: AgentGroup) -> ResolvedEnvironment | None:
        evaluation = group.spec.evaluation
        if evaluation is None:
            return None
        path = ("spec", "evaluation", "environment")
        name = evaluation.environment.partition("@")[0]
        may_be_own = "/" not in name  # The catalogue's own have a slash, which no resource's name has.
        if (
            document.in_doubt(*path)
            or (may_be_own and self._planning.bundle.may_lack("Environment", name))
            or name in self._planning.unsure
        ):
            return None
        try:
            resolved = self._planning.known.environments.resolve(
                evaluation.environment, evaluation.split, own=self._planning.environments.get, own_names=self._planning.environments
            )
            facts = await self._planning.known.environments.facts(resolved) if name not in self._planning.broken else None
        except NodusError as error:
            if name in self._planning.broken and error.code is not ErrorCode.NOT_FOUND:
                return None  # Its own faults are told where they stand.
            gaps = self._gaps if may_be_own and name not in self._planning.environments else ""
            self._planning.plan.faults.append(document.fault(path, error.detail + gaps, getattr(error, "suggestion", "")))
            return None
        have = facts.tasks.get(evaluation.split, facts.most) if facts and not document.in_doubt("spec", "evaluation", "split") else None
        if have is not None and not document.in_doubt("spec", "evaluation", "tasks"):
            self._enough(document, evaluation, have)
        return resolved

    def _enough(self, document: LoadedDocument, evaluation: Evaluation, have: int) -> None:
        """Whether the split has the tasks that the group scores, and those of the slices before it."""
        asked = evaluation.skipped + evaluation.tasks
        if asked <= have:
            return
        there = f"{evaluation.environment} has {have:,} tasks in its {evaluation.split} split, not {asked:,}"
        shard = evaluation.shard
        if shard is None:
            self._planning.plan.faults.append(document.fault(("spec", "evaluation", "tasks"), there))
        elif not document.in_doubt("spec", "evaluation", "shard"):
            said = f"{there}: slice {shard.index} of {evaluation.tasks} tasks each reaches that far"
            self._planning.plan.faults.append(document.fault(("spec", "evaluation", "shard"), said))
