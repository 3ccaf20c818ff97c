"""Planning TrainingJobs: what cannot be scored as the spec has it, what this machine lacks, and the job that is made of it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from local_backend.applying.definitions import Planning
from local_backend.applying.devices import Part, Terms, terms_of
from local_backend.applying.jobs import folder_of, stands_already
from local_backend.applying.plan import JobNeed, SandboxNeed
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.jobs.deadlines import plan as plan_deadlines
from local_backend.jobs.describing import created
from local_backend.jobs.launching import unsupported
from local_backend.jobs.standing import USES
from local_backend.models.catalogue import CatalogueProblem, ResolvedModel
from local_backend.storage.job_records import JobRecord
from local_backend.training.model_uri import LocalModel, ModelSource, ServedModel, parse
from local_backend.training.order import EvaluationOrder, OrderedEnvironment, OrderedModel
from local_backend.training.translating import CPU, parameters_of, served, unserved
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.money import nano_from_usd
from nodus_tui.contract.outcomes import AppliedDocument
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.spec_loading.bundle import LoadedDocument
from nodus_tui.contract.wording import quoted

_MICROSECOND = timedelta(microseconds=1)
_LEAST_LOOK = 1000
_LOOKS_PER_TASK = 20
"""So many tasks of an Environment without end are looked at for each that is wanted, where a taskFilter leaves some out."""


class _Model(Struct):
    source: ModelSource
    ordered: OrderedModel
    served_by_job: bool = False


class TrainingJobPlanning:
    """The TrainingJobs of one plan."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self._desk = planning.known.training
        self._faulty = False

    async def training_job(self, document: LoadedDocument, job: TrainingJob) -> None:
        """A new one; one that exists is never changed."""
        if await stands_already(self._planning, document, job):
            return
        self._faulty = False
        model = self._model(document, job)
        self._parameters(document, job)
        self._hardware(document, job, model)
        includes = self._includes(document, job)
        environment = await self._environment(document, job)
        terms = await self._terms(document, job)
        if self._faulty or model is None or (job.spec.environment is not None and environment is None):
            return
        await self._make(document, job, model, includes, environment, terms)

    def _fault(self, document: LoadedDocument, path: tuple[str | int, ...], message: str, suggestion: str = "") -> None:
        self._faulty = True
        if not document.in_doubt(*path):
            self._planning.plan.faults.append(document.fault(path, message, suggestion))

    # The model.

    def _model(self, document: LoadedDocument, job: TrainingJob) -> _Model | None:
        place = ("spec", "model", "uri")
        if document.in_doubt(*place):
            return None
        try:
            source = parse(job.spec.model.uri)
        except ValueError as error:
            self._fault(document, place, str(error))
            return None
        if isinstance(source, ServedModel):
            return self._served(document, job, source)
        if isinstance(source, LocalModel) and not Path(source.path).exists():
            self._fault(document, place, f"there is no model at {source.path} on the backend's machine")
        return _Model(source, unserved(source))

    def _served(self, document: LoadedDocument, job: TrainingJob, source: ServedModel) -> _Model | None:
        place = ("spec", "model", "uri")
        try:
            model = self._planning.known.family(source.family, self._planning.served)
        except CatalogueProblem as problem:
            self._fault(document, place, problem.detail, f"family://{problem.suggestion}" if problem.suggestion else "")
            return None
        if unfit := _unfit(model):
            self._fault(document, place, f"the family {source.family} {unfit}")
        ordered = served(source, model, environment=job.spec.environment is not None)
        return _Model(source, ordered, served_by_job=bool(model.served_by))

    # What is scored.

    def _parameters(self, document: LoadedDocument, job: TrainingJob) -> None:
        parameters, at = job.spec.parameters, ("spec", "parameters")
        for place, task in enumerate(parameters.tasks or ()):
            if "/" in task or "," in task or task.endswith((".yaml", ".yml")) or not task.isprintable():
                said = f"{quoted(task)} is no task's name: a task of your own has one too, and its folder stands in spec.includePaths"
                self._fault(document, (*at, "tasks", place), said)
        if job.spec.environment is None:
            for name, value in (
                ("evaluationBatchSize", parameters.evaluation_batch_size),
                ("maxCompletionLength", parameters.max_completion_length),
            ):
                if value is not None:
                    self._fault(document, (*at, name), f"{name} is for an Environment; a benchmark's tasks say it themselves")
        elif parameters.num_fewshot:
            self._fault(document, (*at, "numFewshot"), "an Environment's tasks have no worked examples: leave numFewshot out")

    def _hardware(self, document: LoadedDocument, job: TrainingJob, model: _Model | None) -> None:
        resources, at = job.spec.resources, ("spec", "resources")
        if CPU in resources.hardware and resources.accelerators > 1:
            self._fault(document, (*at, "accelerators"), "on a CPU the harness is one process: give it more with cpus, and leave this at 1")
        if model is not None and isinstance(model.source, ServedModel) and not resources.on_cpu:
            self._fault(document, (*at, "hardware"), "a server has this model, and the harness itself needs no device: say hardware: [CPU]")

    def _includes(self, document: LoadedDocument, job: TrainingJob) -> tuple[str, ...]:
        found = [str(Path(each).expanduser()) for each in self._desk.settings.include_paths]
        for place, named in enumerate(job.spec.include_paths):
            at = ("spec", "includePaths", place)
            path = Path(named)
            if job.spec.environment is not None:
                self._fault(document, at, "an Environment is scored, and no benchmark task: leave includePaths out")
            elif not path.is_absolute() and document.folder is None:
                self._fault(document, at, "this spec has no folder in which a relative path could start: give an absolute one")
            else:
                path = document.folder.absolute() / path if document.folder else path
                if not path.is_dir():
                    self._fault(document, at, f"{path} is no folder of the backend's machine")
                found.append(str(path))
        return tuple(dict.fromkeys(found)) if job.spec.environment is None else ()

    async def _environment(self, document: LoadedDocument, job: TrainingJob) -> OrderedEnvironment | None:
        """The Environment, as far as its own faults are not told elsewhere."""
        reference, place = job.spec.environment, ("spec", "environment")
        if reference is None or document.in_doubt(*place):
            return None
        planning = self._planning
        name = reference.partition("@")[0]
        if ("/" not in name and planning.bundle.may_lack("Environment", name)) or name in planning.unsure or name in planning.broken:
            return None
        try:
            resolved = planning.known.environments.resolve(
                reference, "test", own=planning.environments.get, own_names=planning.environments
            )
            facts = await planning.known.environments.facts(resolved)
        except NodusError as error:
            self._fault(document, place, error.detail, getattr(error, "suggestion", ""))
            return None
        if resolved.source == "folder":
            self._fault(document, place, "its tasks are folders for agents at work, not prompts: score it with an AgentGroup")
        if _judges_files(resolved):
            said = "its grader judges files that an agent with tools leaves, and the harness gives words (solution: completion or text)"
            self._fault(document, place, said)
        draw = self._draw(document, job, resolved, facts.tasks.get("test"), facts.most)
        # Which engine makes its graders' sandboxes is found out when the job is started.
        engine = "" if resolved.in_sandbox else None
        return OrderedEnvironment(resolved.name, resolved.version, resolved.source, dict(resolved.options), draw, engine)

    def _draw(self, document: LoadedDocument, job: TrainingJob, resolved: ResolvedEnvironment, have: int | None, most: int | None) -> int:
        limit = job.spec.parameters.limit
        if have is not None:
            if not have:
                self._fault(document, ("spec", "environment"), f"{resolved.name}@{resolved.version} has no task in its test split")
            return have
        if limit is None:
            said = f"{resolved.name} makes tasks without end: say with limit how many are scored"
            self._fault(document, ("spec", "parameters", "limit"), said)
            return 0
        wanted = limit if not job.spec.parameters.task_filter else max(_LEAST_LOOK, _LOOKS_PER_TASK * limit)
        if most is not None and limit > most:
            self._fault(document, ("spec", "parameters", "limit"), f"{resolved.name} makes {most:,} tasks of a seed at most")
        return min(wanted, most) if most is not None else wanted

    # Money.

    async def _terms(self, document: LoadedDocument, job: TrainingJob) -> Terms:
        """What the dearest of its hardware costs here, and whether the machine has any of it."""
        if document.in_doubt("spec", "resources"):
            return Terms(None)
        resources, known = job.spec.resources, self._planning.known
        part = Part(resources.hardware[0], 0 if resources.on_cpu else resources.accelerators)
        terms = await terms_of(
            known.devices, known.rates, part, cpus=resources.all_cpus, memory_gib=resources.all_memory_gib, choices=resources.hardware
        )
        cap, timeout = nano_from_usd(job.spec.max_cost_usd), job.spec.timeout // _MICROSECOND
        try:
            plan_deadlines(cap=cap, rate=terms.rate or 0, timeout_us=timeout, grace_us=known.grace // _MICROSECOND)
        except ValueError as error:
            self._fault(document, ("spec", "maxCostUSD"), f"this cap is too small: {error}")
        return terms

    # The job.

    async def _make(
        self,
        document: LoadedDocument,
        job: TrainingJob,
        model: _Model,
        includes: tuple[str, ...],
        environment: OrderedEnvironment | None,
        terms: Terms,
    ) -> None:
        plan, planning, spec = self._planning.plan, self._planning, job.spec
        fact = await self._desk.fact()
        order = EvaluationOrder(
            job=job.name,
            workspace=self._desk.workspace,
            uri=spec.model.uri,
            python=fact.python,
            model=model.ordered,
            parameters=parameters_of(spec),
            tasks=spec.parameters.tasks or (),
            environment=environment,
            include_paths=includes,
            devices=spec.resources.accelerators,
            cpus=spec.resources.all_cpus,
        )
        work = self._desk.work(spec, order)
        reason = fact.problem or unsupported(work) or terms.refusal
        if not reason and fact.harness and not fact.torch and not isinstance(model.source, ServedModel):
            remedy = "choose one that has it (evaluate.image)" if fact.image else "`nodus-tui evaluate setup` adds it"
            reason = f"{fact.image or fact.python} has no torch, which loads models: {remedy}"
        if reason:
            plan.refusals.append(f"TrainingJob {job.name} is valid, but {reason}")
        uses: dict[str, Any] = {USES: model.ordered.family} if model.served_by_job else {}
        record = JobRecord(
            name=job.name,
            metadata=job.metadata.to_document(),
            spec=spec.to_document(),
            folder=folder_of(document),
            cap=nano_from_usd(spec.max_cost_usd),
            rate=terms.rate or 0,
            created_at=planning.now,
            kind="TrainingJob",
            work=work.to_document(),
            choices=list(spec.resources.hardware) if len(spec.resources.hardware) > 1 else [],
            serving=uses,
        )
        plan.statements += created(record, planning.now, planning.known.grace)
        plan.paid_from[job.name] = record.metadata
        plan.jobs.append(JobNeed(job.name, work, record.folder, kind="TrainingJob"))
        if environment is not None and environment.engine is not None:
            plan.needs.append(SandboxNeed(job.name, None, environment.resolved))
        message = f"TrainingJob {job.name} is valid, but {reason}: apply refuses it" if reason else ""
        outcome = "refused" if reason else "created"
        plan.applied.append(
            AppliedDocument.model_validate({"kind": "TrainingJob", "name": job.name, "outcome": outcome, "message": message})
        )


def _judges_files(resolved: ResolvedEnvironment) -> bool:
    """Whether nothing but a work folder could ever be right."""
    spec = resolved.options.get("spec")
    grader = spec.get("grader") if isinstance(spec, dict) else None
    in_folder = isinstance(grader, dict) and grader.get("type") in {"program", "pytest"}
    return in_folder and isinstance(grader, dict) and grader.get("solution", "files") == "files"


def _unfit(model: ResolvedModel) -> str:
    """Why a served model cannot be scored by the harness, as a sentence without its subject; empty where it can."""
    if model.simulated:
        return "is simulated, and there is nothing to score: an AgentGroup runs on it"
    if model.provider != "openai":
        return f"speaks the protocol {quoted(model.provider)}, and the harness speaks openai's only: score it with an AgentGroup"
    if not model.price.free:
        return "costs money by the token, which nobody would count here: score it with an AgentGroup, whose cap does"
    return ""
