"""What a workspace's TrainingJobs are started with: the harness that is here now, where a served model is now, who grades."""

import sys
from collections.abc import Awaitable, Callable, Mapping

from local_backend.jobs.launching import NotStartedError
from local_backend.jobs.servers import Servers
from local_backend.jobs.standing import USES
from local_backend.jobs.starting import Translated
from local_backend.models.catalogue import CatalogueProblem, ModelCatalogue, ResolvedModel
from local_backend.storage.job_records import JobRecord
from local_backend.training.model_uri import ServedModel, parse
from local_backend.training.order import EvaluationOrder
from local_backend.training.runtime import look
from local_backend.training.translating import order_in, served, work_of
from nodus_tui.contract.configuration import EvaluateSettings
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.evaluation import EvaluationFact
from nodus_tui.contract.resources.job import JobSpec
from nodus_tui.contract.resources.training_job import TrainingJobSpec
from nodus_tui.values import replace


class TrainingDesk:
    """One a backend."""

    def __init__(
        self,
        workspace: str,
        settings: EvaluateSettings,
        environ: Mapping[str, str],
        catalogue: ModelCatalogue,
        grading_engine: Callable[[str], Awaitable[str]],
    ) -> None:
        self.workspace = workspace
        """The folder of the workspace: whose sandboxes the graders' are."""
        self.settings = settings
        self.environ = environ
        self._catalogue = catalogue
        self._grading_engine = grading_engine
        """The name of the engine that makes the sandboxes of an environment's graders. Raises NodusError where none does."""

    async def fact(self) -> EvaluationFact:
        """Whether the harness is here."""
        return await look(self.settings, self.environ)

    def work(self, spec: TrainingJobSpec, order: EvaluationOrder) -> JobSpec:
        """The Job that carries out an order."""
        return work_of(spec, order, self.settings, self.environ, sys.executable)

    async def work_now(self, record: JobRecord, servers: Servers) -> Translated:
        """The same for a TrainingJob that is about to start, with what has changed since it was made. Raises NotStartedError."""
        spec, order = TrainingJobSpec.model_validate(record.spec), order_in(record.work)
        fact = await self.fact()
        if fact.problem:
            raise NotStartedError(fact.problem)
        order = replace(order, python=fact.python)
        source = parse(spec.model.uri)
        if isinstance(source, ServedModel):
            model = self._served(source, record, servers)
            order = replace(order, model=served(source, model, environment=order.environment is not None))
        if order.environment is not None and order.environment.engine is not None:
            try:
                order = replace(order, environment=replace(order.environment, engine=await self._grading_engine(order.environment.name)))
            except NodusError as error:
                raise NotStartedError(error.detail) from error
        return Translated(self.work(spec, order), needs_image=self.settings.image)

    def _served(self, source: ServedModel, record: JobRecord, servers: Servers) -> ResolvedModel:
        try:
            model = servers.model(source.family) if record.serving.get(USES) else self._catalogue.resolve([source.family])
        except CatalogueProblem as problem:
            raise NotStartedError(problem.detail) from problem
        if model is None or not model.base_url:
            raise NotStartedError(f"nobody serves the family {source.family} now")
        return model
