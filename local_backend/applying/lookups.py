"""What a workspace has already: applied agents and environments, models, environments that come along. Reads only."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from local_backend.devices.desk import DeviceDesk
from local_backend.environments.client import EnvironmentFacts
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.jobs.standing import SERVING_JOBS, newest_by_family, served_family
from local_backend.models.catalogue import ModelCatalogue, ResolvedModel
from local_backend.models.served import ServedFamily
from local_backend.storage.job_records import JobRecord
from local_backend.storage.store import Store
from local_backend.training.desk import TrainingDesk
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.statistics.hardware_rates import DEFAULT_RATES

_NO_GRACE = timedelta()


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


class Lookups:
    """What the documents of an apply are checked against."""

    def __init__(
        self,
        store: Store,
        catalogue: ModelCatalogue,
        environments: Environments,
        clock: Callable[[], datetime],
        *,
        training: TrainingDesk,
        devices: DeviceDesk,
        rates: Mapping[str, Decimal] = DEFAULT_RATES,
        grace: timedelta = _NO_GRACE,
    ) -> None:
        self.store = store
        self.training = training
        self.devices = devices
        self.rates = rates
        """US dollars an hour by hardware."""
        self.grace = grace
        """How long a job may take to end when it is asked to."""
        self.environments = environments
        self.clock = clock
        self._catalogue = catalogue

    async def stored_environments(self) -> dict[str, Environment]:
        """The applied environments by name, their paths absolute."""
        rows = await self.store.read("SELECT document, folder FROM resources WHERE kind = 'Environment'")
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
        return self._catalogue.resolve(agent.spec.model.families, served)

    def family(self, name: str, served: Mapping[str, ServedFamily]) -> ResolvedModel:
        """The model of one family, likewise. Raises CatalogueProblem."""
        return self._catalogue.resolve([name], served)

    def in_catalogue(self, family: str) -> bool:
        """Whether the catalogue itself has a family."""
        return family in self._catalogue.families

    async def served_families(self) -> dict[str, ServedFamily]:
        """The families that jobs serve or have served."""
        records = [JobRecord.from_row(row) for row in await self.store.read(SERVING_JOBS)]
        return {family: served_family(record) for family, record in newest_by_family(records).items()}


def located(environment: Environment, folder: str | None) -> Environment:
    """The environment with its paths made absolute."""
    return environment.model_copy(update={"spec": environment.spec.located(Path(folder or "."))})
