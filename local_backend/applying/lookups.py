"""What a workspace has already: applied agents and environments, models, environments that come along. Reads only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from local_backend.storage.job_records import SERVING_JOBS, JobRecord
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime, timedelta
    from decimal import Decimal

    from local_backend.devices.desk import DeviceDesk
    from local_backend.environments.client import EnvironmentFacts
    from local_backend.environments.interface import ResolvedEnvironment
    from local_backend.models.catalogue import ModelCatalogue, ResolvedModel
    from local_backend.models.served import ServedFamily
    from local_backend.storage.store import Store
    from local_backend.training.desk import TrainingDesk
    from nodus_tui.contract.configuration import Configuration
    from nodus_tui.contract.resources.environment import Environment


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


class Sources(Protocol):
    """Where a workspace has what documents are checked against; each is made when it is first asked for."""

    @property
    def store(self) -> Store:
        """What is applied and on record."""
        ...

    @property
    def clock(self) -> Callable[[], datetime]:
        """What time it is, in UTC."""
        ...

    @property
    def configuration(self) -> Configuration:
        """The workspace's."""
        ...

    @property
    def catalogue(self) -> ModelCatalogue:
        """The models."""
        ...

    @property
    def environments(self) -> Environments:
        """The environments."""
        ...

    @property
    def training(self) -> TrainingDesk:
        """What TrainingJobs run."""
        ...

    @property
    def devices(self) -> DeviceDesk:
        """Who has which device."""
        ...

    @property
    def rates(self) -> Mapping[str, Decimal]:
        """US dollars an hour by hardware."""
        ...


class Lookups:
    """What the documents of an apply are checked against."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.store = sources.store
        self.clock = sources.clock

    @property
    def environments(self) -> Environments:
        """The environments."""
        return self._sources.environments

    @property
    def training(self) -> TrainingDesk:
        """What TrainingJobs run."""
        return self._sources.training

    @property
    def devices(self) -> DeviceDesk:
        """Who has which device."""
        return self._sources.devices

    @property
    def rates(self) -> Mapping[str, Decimal]:
        """US dollars an hour by hardware."""
        return self._sources.rates

    @property
    def grace(self) -> timedelta:
        """How long a job may take to end when it is asked to."""
        return self._sources.configuration.jobs.stop_grace

    async def electric_rates(self, names: Iterable[str]) -> dict[str, Decimal]:
        """US dollars an hour at most of one device under each of these names, where electricity is what it costs here."""
        return await self.devices.electric_rates(names) if self._sources.configuration.electricity is not None else {}

    async def stored_environments(self) -> dict[str, Environment]:
        """The applied environments by name, their paths absolute."""
        rows = await self.store.read("SELECT document, folder FROM resources WHERE kind = 'Environment'")
        if not rows:
            return {}
        from nodus_tui.contract.resources.environment import Environment  # noqa: PLC0415 - most workspaces have none

        return {found.name: found for found in (located(Environment.model_validate_json(row["document"]), row["folder"]) for row in rows)}

    async def newest_agent(self, name: str) -> tuple[Agent, int] | None:
        """The applied agent of a name with its newest revision."""
        rows = await self.store.read("SELECT document, status FROM resources WHERE kind = 'Agent' AND name = ?", (name,))
        if not rows:
            return None
        return Agent.model_validate_json(rows[0]["document"]), int(json.loads(rows[0]["status"])["revision"])

    async def agent_at(self, name: str, revision: int) -> Agent:
        """An agent as it was at a revision. Raises NodusError NotFound."""
        rows = await self.store.read("SELECT spec FROM agent_revisions WHERE agent = ? AND revision = ?", (name, revision))
        if not rows:
            raise NodusError.not_found("Agent", f"{name} r{revision}")
        return Agent.model_validate({"metadata": {"name": name}, "spec": json.loads(rows[0]["spec"])})

    def model_of(self, agent: Agent, served: Mapping[str, ServedFamily]) -> ResolvedModel:
        """The model that the agent's runs would talk to: of the catalogue, or one of those that jobs serve. Raises CatalogueProblem."""
        return self._sources.catalogue.resolve(agent.spec.model.families, served)

    def family(self, name: str, served: Mapping[str, ServedFamily]) -> ResolvedModel:
        """The model of one family, likewise. Raises CatalogueProblem."""
        return self._sources.catalogue.resolve([name], served)

    def in_catalogue(self, family: str) -> bool:
        """Whether the catalogue itself has a family."""
        return family in self._sources.catalogue.families

    async def served_families(self) -> dict[str, ServedFamily]:
        """The families that jobs serve or have served."""
        rows = await self.store.read(SERVING_JOBS)
        if not rows:
            return {}
        from local_backend.jobs.standing import newest_by_family, served_family  # noqa: PLC0415 - most workspaces have none

        records = [JobRecord.from_row(row) for row in rows]
        return {family: served_family(record) for family, record in newest_by_family(records).items()}


def located(environment: Environment, folder: str | None) -> Environment:
    """The environment with its paths made absolute."""
    return environment.model_copy(update={"spec": environment.spec.located(Path(folder or "."))})
