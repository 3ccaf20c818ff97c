"""Applying specs: every document is checked against the others and the workspace, then all are written in one transaction, or none.

It knows the store, the model catalogue and the environments; it starts nothing.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from local_backend.environments.client import EnvironmentFacts
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.models.catalogue import CatalogueProblem, ModelCatalogue, ResolvedModel
from local_backend.reporting import group_status_fields, ledger_of
from local_backend.storage.records import GroupRecord, event, time_text
from local_backend.storage.store import Statement, Store
from nodus_tui.contract.actions import AppliedDocument, Change
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.money import display_usd, nano_from_usd, usd_from_nano, usd_text
from nodus_tui.contract.resources.agent import Agent, AgentSpec
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, SpecBundle
from nodus_tui.contract.spec_loading.fault_order import in_file_order
from nodus_tui.contract.spec_loading.nearest import nearest

_PUT_RESOURCE = (
    "INSERT INTO resources (kind, name, document, status, folder, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (kind, name) DO UPDATE SET document = excluded.document, status = excluded.status, "
    "folder = excluded.folder, updated_at = excluded.updated_at"
)

_DECIDES_TASKS = ("folder", "layout", "file", "format", "fields", "grader")
"""The fields of an Environment without which its task file cannot be checked."""

LONGEST_GROUP_NAME = 50
"""Letters; the names of a group's runs are built on it and must stay within 63."""


class Environments(Protocol):
    """What applying needs of the environments room."""

    def resolve(
        self, reference: str, split: str, *, own: Callable[[str], Environment | None], own_names: Iterable[str] = ()
    ) -> ResolvedEnvironment:
        """The environment of a reference. Raises NodusError with a sentence and the nearest known name."""
        ...

    async def facts(self, resolved: ResolvedEnvironment) -> EnvironmentFacts:
        """Read and check its tasks, in a process of their own. Raises NodusError with every fault, answers never in it."""
        ...


@dataclass(frozen=True)
class SandboxNeed:
    """What a launch may need sandboxes for."""

    group: str
    agent: AgentSpec | None
    """The agent, where it has tools."""
    environment: ResolvedEnvironment | None


@dataclass
class Plan:
    """What an apply would do."""

    files: tuple[str, ...] = ()
    """In the order in which their faults are told."""
    faults: list[Fault] = field(default_factory=list)
    conflicts: list[Fault] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    """Sentences for documents that are valid but have no engine here."""
    applied: list[AppliedDocument] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    launches: list[str] = field(default_factory=list)
    needs: list[SandboxNeed] = field(default_factory=list)
    """For the launches: whether this machine can give them their sandboxes is asked when they are launched, not when they are checked."""
    raises: list[tuple[str, int, int]] = field(default_factory=list)
    """Groups whose cap (nano-dollars) and maxActive change in place."""

    def refuse(self, *, dry_run: bool) -> None:
        """Raise NodusError when anything stands against the apply. With dry_run, a missing engine does not."""
        if self.faults:
            raise NodusError.invalid_spec(in_file_order((*self.faults, *self.conflicts), self.files))
        if self.conflicts:
            count = len(self.conflicts)
            raise NodusError(
                ErrorCode.CONFLICT,
                f"{count} conflict{'s' if count > 1 else ''} with what exists; nothing was changed",
                in_file_order(self.conflicts, self.files),
            )
        if self.refusals and not dry_run:
            raise NodusError(ErrorCode.NOT_SUPPORTED, "; ".join(self.refusals) + "; nothing was changed")


class Applier:
    """Plans applies for one workspace."""

    def __init__(self, store: Store, catalogue: ModelCatalogue, environments: Environments, clock: Callable[[], datetime]) -> None:
        self.store = store
        self.environments = environments
        self.clock = clock
        self._catalogue = catalogue

    async def plan(self, bundle: SpecBundle) -> Plan:
        """Check all documents and prepare what would be written. Reads only."""
        plan = Plan(files=tuple(document.file for document in bundle))
        planning = _Planning(self, plan, bundle, await self._stored_environments())
        for document in _in_order(bundle):
            resource = document.resource
            if isinstance(resource, Agent):
                await planning.agent(document, resource)
            elif isinstance(resource, Environment):
                await planning.environment(document, resource)
            elif isinstance(resource, AgentGroup):
                await planning.group(document, resource)
            else:
                planning.without_engine(document)
        place = {(each.resource.kind, each.resource.name): index for index, each in enumerate(bundle)}
        plan.applied.sort(key=lambda each: place[each.kind, each.name])
        return plan

    async def _stored_environments(self) -> dict[str, Environment]:
        rows = await self.store.read("SELECT document, folder FROM resources WHERE kind = 'Environment'")
        return {found.name: found for found in (_located(Environment.model_validate_json(row["document"]), row["folder"]) for row in rows)}

    async def newest_agent(self, name: str) -> tuple[Agent, int] | None:
        """The applied agent of a name with its newest revision."""
        rows = await self.store.read("SELECT document, status FROM resources WHERE kind = 'Agent' AND name = ?", (name,))
        if not rows:
            return None
        return Agent.model_validate_json(rows[0]["document"]), int(json.loads(rows[0]["status"])["revision"])

    def model_of(self, agent: Agent) -> ResolvedModel:
        """The model that the agent's runs would talk to. Raises CatalogueProblem."""
        return self._catalogue.resolve(agent.spec.model.families)


def _in_order(bundle: SpecBundle) -> list[LoadedDocument]:
    """What others name comes first, whatever its place in the files."""
    rank = {"Environment": 0, "Agent": 1}
    return sorted(bundle, key=lambda each: rank.get(each.resource.kind, 2))


def _located(environment: Environment, folder: str | None) -> Environment:
    """The environment with its paths made absolute."""
    return environment.model_copy(update={"spec": environment.spec.located(Path(folder or "."))})


def _written(document: LoadedDocument, spec: ContractModel) -> dict[tuple[str, ...], object]:
    """The values of a group's spec by path, without those that are made up in its document."""
    values: dict[tuple[str, ...], object] = {}
    waiting: list[tuple[tuple[str, ...], object]] = [(("spec",), spec.to_document())]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*path, name), part) for name, part in value.items()]
        elif not document.in_doubt(*path):
            values[path] = value
    return values


@dataclass
class _Planning:
    """One plan in the making."""

    applier: Applier
    plan: Plan
    bundle: SpecBundle
    environments: dict[str, Environment]
    agents: dict[str, tuple[Agent, int, LoadedDocument]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    """Environments of the bundle that have faults."""
    unsure: set[str] = field(default_factory=set)
    """Environments of the bundle whose version is made up."""

    @property
    def _now(self) -> datetime:
        return self.applier.clock()

    @property
    def _store(self) -> Store:
        return self.applier.store

    def without_engine(self, document: LoadedDocument) -> None:
        """A valid document of a kind that nothing here runs yet."""
        kind, name = document.resource.kind, document.resource.name
        sentence = f"{kind} {name} is valid, but this version has no engine for {kind}"
        if kind == "AgentRun":
            sentence += " on its own: put its prompt into an AgentGroup with inputs"
        self.plan.refusals.append(sentence)
        self.plan.applied.append(AppliedDocument(kind=kind, name=name, outcome="unchanged", message=f"{sentence}: apply refuses it"))

    async def agent(self, document: LoadedDocument, agent: Agent) -> None:
        """A new agent, or a new revision of one."""
        old = await self.applier.newest_agent(agent.name)
        same_spec = old is not None and old[0].spec == agent.spec
        revision = 1 if old is None else old[1] + (0 if same_spec else 1)
        if old is None:
            last = await self._store.read("SELECT max(revision) AS last FROM agent_revisions WHERE agent = ?", (agent.name,))
            revision = (last[0]["last"] or 0) + 1
        if not document.in_doubt("metadata", "name"):
            self.agents[agent.name] = (agent, revision, document)
        if same_spec and old is not None and old[0].metadata == agent.metadata:
            self.plan.applied.append(AppliedDocument(kind="Agent", name=agent.name, outcome="unchanged", message=f"revision {revision}"))
            return
        now = self._now
        if not same_spec:
            spec = json.dumps(agent.spec.to_document())
            self.plan.statements.append(
                (
                    "INSERT INTO agent_revisions (agent, revision, spec, created_at) VALUES (?, ?, ?, ?)",
                    (agent.name, revision, spec, time_text(now)),
                )
            )
        status = {"revision": revision, "updatedAt": time_text(now)}
        self._put(document, status, created=old is None)
        changes = () if old is None else (Change(kind="Agent", name=agent.name, field="revision", old=str(old[1]), new=str(revision)),)
        outcome = "created" if old is None else "changed"
        self.plan.applied.append(
            AppliedDocument.model_validate(
                {"kind": "Agent", "name": agent.name, "outcome": outcome, "message": f"revision {revision}", "changes": changes}
            )
        )

    def _put(self, document: LoadedDocument, status: Mapping[str, Any], *, created: bool) -> None:
        resource = document.resource
        now = time_text(self._now)
        stored = resource.model_copy(update={"status": None}).to_document()
        self.plan.statements.append(
            (
                _PUT_RESOURCE,
                (
                    resource.kind,
                    resource.name,
                    json.dumps(stored),
                    json.dumps(status),
                    str(document.folder.absolute()) if document.folder else None,
                    now,
                    now,
                ),
            )
        )
        change = "Created" if created else "Changed"
        spec, metadata = resource.spec.to_document(), resource.metadata.to_document()
        self.plan.statements.append(event(self._now, change, resource.kind, resource.name, status=status, spec=spec, metadata=metadata))

    async def environment(self, document: LoadedDocument, environment: Environment) -> None:
        """A task file and its grader: read and checked now, so that a broken file is a fault of this apply."""
        located = _located(environment, str(document.folder) if document.folder else None)
        if not document.in_doubt("metadata", "name"):
            self.environments[environment.name] = located
        reference = f"{environment.name}@{environment.spec.version}"
        if document.in_doubt("spec", "version"):
            self.unsure.add(environment.name)
        if any(document.in_doubt("spec", part) for part in _DECIDES_TASKS):
            self.broken.add(environment.name)
            return
        try:
            resolved = self.applier.environments.resolve(reference, "test", own={environment.name: located}.get)
            facts = await self.applier.environments.facts(resolved)
        except NodusError as error:
            self.broken.add(environment.name)
            if error.faults:
                self.plan.faults += error.faults
            else:
                self.plan.faults.append(document.fault(("spec", "folder" if environment.spec.folder else "file"), error.detail))
            return
        rows = await self._store.read("SELECT document, status FROM resources WHERE kind = 'Environment' AND name = ?", (environment.name,))
        old = Environment.model_validate_json(rows[0]["document"]) if rows else None
        known = await self._store.read(
            "SELECT digest FROM environment_digests WHERE name = ? AND version = ?", (environment.name, environment.spec.version)
        )
        if known and known[0]["digest"] != facts.digest:
            self.broken.add(environment.name)
            self.plan.conflicts.append(
                document.fault(
                    ("spec", "version"),
                    f"the tasks or the grader of {reference} are not those that were applied first: give them a new version",
                )
            )
            return
        if old == environment and rows and json.loads(rows[0]["status"])["digest"] == facts.digest:
            self.plan.applied.append(AppliedDocument(kind="Environment", name=environment.name, outcome="unchanged"))
            return
        if not known:
            self.plan.statements.append(
                (
                    "INSERT INTO environment_digests (name, version, digest, first_used_at) VALUES (?, ?, ?, ?)",
                    (environment.name, environment.spec.version, facts.digest, time_text(self._now)),
                )
            )
        status = {"digest": facts.digest, "tasks": dict(facts.tasks), "source": resolved.source, "updatedAt": time_text(self._now)}
        self._put(document, status, created=old is None)
        counts = ", ".join(f"{count} {split}" for split, count in facts.tasks.items())
        self.plan.applied.append(
            AppliedDocument.model_validate(
                {
                    "kind": "Environment",
                    "name": environment.name,
                    "outcome": "created" if old is None else "changed",
                    "message": f"version {environment.spec.version}, tasks: {counts}",
                }
            )
        )

    async def group(self, document: LoadedDocument, group: AgentGroup) -> None:
        """A new group to launch, or a change in place of one that exists."""
        rows = await self._store.read("SELECT * FROM groups WHERE name = ?", (group.name,))
        if rows and not document.in_doubt("metadata", "name"):
            record = GroupRecord.from_row(rows[0])
            changed = self.agents.get(group.spec.agent)
            if changed is not None and changed[1] != record.agent_revision:
                self._usable_model(document, changed[0], changed[2])
            self._existing_group(document, group, record)
            return
        before = len(self.plan.faults)
        if len(group.name) > LONGEST_GROUP_NAME and not document.in_doubt("metadata", "name"):
            self.plan.faults.append(
                document.fault(("metadata", "name"), f"the name has {len(group.name)} letters; a group's has at most {LONGEST_GROUP_NAME}")
            )
        found = await self._agent_of(document, group)
        model = self._usable_model(document, found[0], found[2]) if found else None
        environment = await self._environment_of(document, group)
        if found is None or model is None or len(self.plan.faults) > before:
            return
        agent, revision, _ = found
        if agent.spec.tools and agent.spec.sandbox.hardware != "CPU":
            self.plan.refusals.append(
                f"AgentGroup {group.name} is valid, but this version allocates no accelerators: the sandbox of its agent {agent.name} asks "
                f"for {agent.spec.sandbox.hardware}"
            )
        self.plan.needs.append(SandboxNeed(group.name, agent.spec if agent.spec.tools else None, environment))
        self._launch(group, revision, model, environment)

    async def _agent_of(self, document: LoadedDocument, group: AgentGroup) -> tuple[Agent, int, LoadedDocument | None] | None:
        if document.in_doubt("spec", "agent"):
            return None
        if group.spec.agent in self.agents:
            return self.agents[group.spec.agent]
        if self.bundle.may_lack("Agent", group.spec.agent):
            return None
        stored = await self.applier.newest_agent(group.spec.agent)
        if stored is not None:
            return stored[0], stored[1], None
        rows = await self._store.read("SELECT name FROM resources WHERE kind = 'Agent'")
        names = [row["name"] for row in rows] + list(self.agents)
        message = f'there is no Agent "{group.spec.agent}", here or applied before{self._gaps}'
        self.plan.faults.append(document.fault(("spec", "agent"), message, nearest(group.spec.agent, names)))
        return None

    @property
    def _gaps(self) -> str:
        """What to add to a sentence about something that is not there."""
        return ", unless it is in what could not be read" if self.bundle.has_gaps else ""

    def _usable_model(self, document: LoadedDocument, agent: Agent, where: LoadedDocument | None) -> ResolvedModel | None:
        if where is not None and where.in_doubt("spec", "model", "families"):
            return None
        try:
            return self.applier.model_of(agent)
        except CatalogueProblem as problem:
            if where is not None:
                fault = where.fault(("spec", "model", "families"), problem.detail, problem.suggestion)
                if fault not in self.plan.faults:
                    self.plan.faults.append(fault)
            else:
                self.plan.faults.append(document.fault(("spec", "agent"), problem.detail, problem.suggestion))
            return None

    async def _environment_of(self, document: LoadedDocument, group: AgentGroup) -> ResolvedEnvironment | None:
        evaluation = group.spec.evaluation
        if evaluation is None:
            return None
        path = ("spec", "evaluation", "environment")
        name = evaluation.environment.partition("@")[0]
        may_be_own = "/" not in name  # The catalogue's own have a slash, which no resource's name has.
        if document.in_doubt(*path) or (may_be_own and self.bundle.may_lack("Environment", name)) or name in self.unsure:
            return None
        try:
            resolved = self.applier.environments.resolve(
                evaluation.environment, evaluation.split, own=self.environments.get, own_names=self.environments
            )
            facts = await self.applier.environments.facts(resolved) if name not in self.broken else None
        except NodusError as error:
            if name in self.broken and error.code is not ErrorCode.NOT_FOUND:
                return None  # Its own faults are told where they stand.
            gaps = self._gaps if may_be_own and name not in self.environments else ""
            self.plan.faults.append(document.fault(path, error.detail + gaps, getattr(error, "suggestion", "")))
            return None
        have = facts.tasks.get(evaluation.split) if facts and not document.in_doubt("spec", "evaluation", "split") else None
        if have is not None and evaluation.tasks > have and not document.in_doubt("spec", "evaluation", "tasks"):
            self.plan.faults.append(
                document.fault(
                    ("spec", "evaluation", "tasks"),
                    f"{evaluation.environment} has {have} tasks in its {evaluation.split} split, not {evaluation.tasks}",
                )
            )
        return resolved

    def _launch(self, group: AgentGroup, revision: int, model: ResolvedModel, environment: ResolvedEnvironment | None) -> None:
        now = self._now
        evaluation = group.spec.evaluation
        record = GroupRecord(
            seq=0,
            name=group.name,
            metadata=group.metadata.to_document(),
            spec=group.spec.to_document(),
            agent=group.spec.agent,
            agent_revision=revision,
            cap=nano_from_usd(group.spec.max_cost_usd),
            max_active=group.spec.max_active,
            environment={
                "name": environment.name,
                "version": environment.version,
                "source": environment.source,
                "options": dict(environment.options),
            }
            if environment
            else {},
            model={
                "family": model.family,
                "provider": model.provider,
                "name": model.name,
                "priceSource": model.price.source,
                "simulated": model.simulated,
                "notional": model.notional,
            },
            created_at=now,
            deadline_at=now + evaluation.timeout if evaluation else None,
            message="its tasks are being made",
        )
        record.status = group_status_fields(record, [], ledger_of(record, []))
        sql, values = record.save()
        place = "(SELECT coalesce(max(seq), 0) + 1 FROM groups)"
        self.plan.statements.append((sql.replace("VALUES (?", f"VALUES ({place}", 1), values[1:]))
        self.plan.statements.append(
            event(
                now, "Created", "AgentGroup", group.name, group=group.name, status=record.status, spec=record.spec, metadata=record.metadata
            )
        )
        self.plan.launches.append(group.name)
        self.plan.applied.append(
            AppliedDocument(
                kind="AgentGroup",
                name=group.name,
                outcome="created",
                message=f"{group.spec.cases} cases on {model.family} ({model.name}), agent revision {revision}, "
                f"cap {display_usd(group.spec.max_cost_usd)}",
            )
        )

    def _existing_group(self, document: LoadedDocument, group: AgentGroup, record: GroupRecord) -> None:
        launched = AgentGroup.model_validate(
            {"apiVersion": "nodus.dev/v1", "kind": "AgentGroup", "metadata": record.metadata, "spec": record.spec}
        ).spec
        in_place = {"max_cost_usd": launched.max_cost_usd, "max_active": launched.max_active}
        wanted = group.spec.model_copy(update=in_place)
        if document.stand_ins and _written(document, wanted) == _written(document, launched):
            return  # What is made up cannot be compared, and the rest is as it was launched.
        if wanted != launched:
            self.plan.conflicts.append(
                document.fault(
                    ("metadata", "name"),
                    f"AgentGroup {group.name} exists with another spec; only maxCostUSD (upwards) and maxActive change in place: "
                    "give the new one another name",
                )
            )
            return
        cap, active = nano_from_usd(group.spec.max_cost_usd), group.spec.max_active
        changes = []
        if cap < record.cap:
            # Written lower than a cap that was raised since: as launched means unchanged, anything else is a wish to lower it.
            if group.spec.max_cost_usd != launched.max_cost_usd:
                now = display_usd(usd_from_nano(record.cap))
                self.plan.conflicts.append(
                    document.fault(("spec", "maxCostUSD"), f"a cap is raised, never lowered: {group.name} has {now} now")
                )
                return
            cap = record.cap
        if record.phase.ended and (cap, active) != (record.cap, record.max_active):
            self.plan.conflicts.append(
                document.fault(("spec",), f"AgentGroup {group.name} has ended ({record.phase}): nothing of it changes")
            )
            return
        if cap != record.cap:
            old = usd_text(usd_from_nano(record.cap))
            changes.append(Change(kind="AgentGroup", name=group.name, field="maxCostUSD", old=old, new=usd_text(group.spec.max_cost_usd)))
        if active != record.max_active:
            changes.append(Change(kind="AgentGroup", name=group.name, field="maxActive", old=str(record.max_active), new=str(active)))
        if changes:
            self.plan.raises.append((group.name, cap, active))
        self.plan.applied.append(
            AppliedDocument.model_validate(
                {
                    "kind": "AgentGroup",
                    "name": group.name,
                    "outcome": "changed" if changes else "unchanged",
                    "message": f"{record.phase}",
                    "changes": tuple(changes),
                }
            )
        )
