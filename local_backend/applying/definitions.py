"""Planning the documents that define something: agents and their revisions, environments and their tasks; and those without an engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from local_backend.applying.lookups import Lookups, located
from local_backend.applying.plan import Plan
from local_backend.storage.records import event, time_text
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.money import display_usd, usd_text
from nodus_tui.contract.outcomes import AppliedDocument, Change
from nodus_tui.contract.resources.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from local_backend.models.served import ServedFamily
    from local_backend.storage.store import Store
    from nodus_tui.contract.resources.budget import Budget
    from nodus_tui.contract.resources.environment import Environment
    from nodus_tui.contract.spec_loading.bundle import LoadedDocument, SpecBundle

_PUT_RESOURCE = (
    "INSERT INTO resources (kind, name, document, status, folder, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (kind, name) DO UPDATE SET document = excluded.document, status = excluded.status, "
    "folder = excluded.folder, updated_at = excluded.updated_at"
)

_DECIDES_TASKS = ("folder", "layout", "file", "format", "fields", "grader")

_DECIDES_TASKS = ("folder", "layout", "file", "format", "fields", "grader")
"""The fields of an Environment without which its task file cannot be checked."""


class Planning(Struct):
    """One plan in the making: what its definitions are, and what is wrong with them."""

    known: Lookups
    plan: Plan
    bundle: SpecBundle
    environments: dict[str, Environment]
    agents: dict[str, tuple[Agent, int, LoadedDocument | None]] = field(default_factory=dict)
    """Agents of the bundle with the revisions that they will have, and their documents; pinned ones have none."""
    broken: set[str] = field(default_factory=set)
    """Environments of the bundle that have faults."""
    unsure: set[str] = field(default_factory=set)
    """Environments of the bundle whose version is made up."""
    served: dict[str, ServedFamily] = field(default_factory=dict)
    """Families that jobs serve or have served, those of the bundle among them."""

    @property
    def now(self) -> datetime:
        """The moment of the apply."""
        return self.known.clock()

    @property
    def store(self) -> Store:
        """Where the workspace is read."""
        return self.known.store

    async def refuse_names_of_cells(self, document: LoadedDocument) -> None:
        """A group or a job that would take the name of a sweep's cell which is still to be launched, or whose group or job was deleted.

        The sweep knows its cells by their names: it would count this one as its own, retry it and delete it.
        """
        kind, name = document.resource.kind, document.resource.name
        if kind not in {"AgentGroup", "Job", "TrainingJob"} or document.in_doubt("metadata", "name"):
            return
        table, kinds = ("groups", ("AgentGroup",)) if kind == "AgentGroup" else ("jobs", ("Job", "TrainingJob"))
        marks = ", ".join("?" for _ in kinds)
        rows = await self.store.read(
            f"SELECT sweep, launched FROM sweep_cells WHERE name = ? AND kind IN ({marks}) "  # noqa: S608 - constants and question marks
            f"AND name NOT IN (SELECT name FROM {table})",
            (name, *kinds),
        )
        if rows:
            sweep = rows[0]["sweep"]
            said = f"{name} is a cell of sweep {sweep}, which launches it: give this one another name"
            if rows[0]["launched"]:
                said = f"{name} was a cell of sweep {sweep}, which still knows it by that name: give this one another, or delete the sweep"
            self.plan.conflicts.append(document.fault(("metadata", "name"), said))

    async def refuse_raise_of_cell(self, document: LoadedDocument, group: str, cap: int) -> None:
        """A sweep's cell whose document says a higher cap than it has: its sweep must be asked, which an apply does not."""
        if not any(name == group and higher != cap for name, higher, _ in self.plan.raises):
            return
        rows = await self.store.read("SELECT sweep FROM sweep_cells WHERE name = ? AND kind = 'AgentGroup'", (group,))
        if rows:
            said = f"{group} is a cell of sweep {rows[0]['sweep']}, which must have the money: raise its cap with extend-cap group/{group}"
            self.plan.conflicts.append(document.fault(("spec", "maxCostUSD"), said))

    def without_engine(self, document: LoadedDocument) -> None:
        """A valid document of a kind that nothing here runs yet."""
        kind, name = document.resource.kind, document.resource.name
        sentence = f"{kind} {name} is valid, but this version has no engine for {kind}"
        if kind == "AgentRun":
            sentence += " on its own: put its prompt into an AgentGroup with inputs"
        self.plan.refusals.append(sentence)
        self.plan.applied.append(AppliedDocument(kind=kind, name=name, outcome="refused", message=f"{sentence}: apply refuses it"))

    async def agent(self, document: LoadedDocument, agent: Agent) -> None:
        """A new agent, or a new revision of one."""
        old = await self.known.newest_agent(agent.name)
        same_spec = old is not None and old[0].spec == agent.spec
        revision = 1 if old is None else old[1] + (0 if same_spec else 1)
        if old is None:
            last = await self.store.read("SELECT max(revision) AS last FROM agent_revisions WHERE agent = ?", (agent.name,))
            revision = (last[0]["last"] or 0) + 1
        if not document.in_doubt("metadata", "name"):
            self.agents[agent.name] = (agent, revision, document)
        if same_spec and old is not None and old[0].metadata == agent.metadata:
            self.plan.applied.append(AppliedDocument(kind="Agent", name=agent.name, outcome="unchanged", message=f"revision {revision}"))
            return
        now = self.now
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

    async def budget(self, document: LoadedDocument, budget: Budget) -> None:
        """A new budget, or another limit, scope or action of one; what was spent under it stays on record."""
        from local_backend.budgets.book import reopens  # noqa: PLC0415 - one kind of several
        from local_backend.budgets.standing import ceiling_of  # noqa: PLC0415 - see above

        rows = await self.store.read("SELECT document, status FROM resources WHERE kind = 'Budget' AND name = ?", (budget.name,))
        old = type(budget).model_validate_json(rows[0]["document"]) if rows else None
        limit = display_usd(budget.spec.limit_usd)
        if old == budget:
            self.plan.applied.append(AppliedDocument(kind="Budget", name=budget.name, outcome="unchanged", message=limit))
            return
        now = time_text(self.now)
        status = json.loads(rows[0]["status"]) if rows else {}
        fresh = {"spentUSD": "0.00", "leftUSD": usd_text(budget.spec.limit_usd), "periodStartedAt": now, "updatedAt": now}
        if old is not None and reopens(ceiling_of(old, self.now), ceiling_of(budget, self.now)):
            status |= {"blocking": False, "message": ""}
        self._put(document, {**fresh, **status}, created=old is None)
        self.plan.budgets.append(budget.name)
        changes: tuple[Change, ...] = ()
        if old is not None and old.spec.limit_usd != budget.spec.limit_usd:
            before, after = usd_text(old.spec.limit_usd), usd_text(budget.spec.limit_usd)
            changes = (Change(kind="Budget", name=budget.name, field="limitUSD", old=before, new=after),)
        outcome = "created" if old is None else "changed"
        message = f"{limit}, {budget.spec.period}, {budget.spec.action}"
        self.plan.applied.append(
            AppliedDocument.model_validate(
                {"kind": "Budget", "name": budget.name, "outcome": outcome, "message": message, "changes": changes}
            )
        )

    def _put(self, document: LoadedDocument, status: Mapping[str, Any], *, created: bool) -> None:
        resource = document.resource
        now = time_text(self.now)
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
        self.plan.statements.append(event(self.now, change, resource.kind, resource.name, status=status, spec=spec, metadata=metadata))

    async def environment(self, document: LoadedDocument, environment: Environment) -> None:
        """A task file and its grader: read and checked now, so that a broken file is a fault of this apply."""
        mine = located(environment, str(document.folder) if document.folder else None)
        if not document.in_doubt("metadata", "name"):
            self.environments[environment.name] = mine
        reference = f"{environment.name}@{environment.spec.version}"
        if document.in_doubt("spec", "version"):
            self.unsure.add(environment.name)
        if any(document.in_doubt("spec", part) for part in _DECIDES_TASKS):
            self.broken.add(environment.name)
            return
        try:
            resolved = self.known.environments.resolve(reference, "test", own={environment.name: mine}.get)
            facts = await self.known.environments.facts(resolved)
        except NodusError as error:
            self.broken.add(environment.name)
            if error.faults:
                self.plan.faults += error.faults
            else:
                self.plan.faults.append(document.fault(("spec", "folder" if environment.spec.folder else "file"), error.detail))
            return
        rows = await self.store.read("SELECT document, status FROM resources WHERE kind = 'Environment' AND name = ?", (environment.name,))
        old = type(environment).model_validate_json(rows[0]["document"]) if rows else None
        known = await self.store.read(
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
                    (environment.name, environment.spec.version, facts.digest, time_text(self.now)),
                )
            )
        status = {"digest": facts.digest, "tasks": dict(facts.tasks), "source": resolved.source, "updatedAt": time_text(self.now)}
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
