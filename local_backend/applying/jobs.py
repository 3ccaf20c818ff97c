"""Planning jobs: whether this version runs such a one, whether its cap pays for any time, and whether it is new."""

from datetime import timedelta
from pathlib import Path

from local_backend.applying.definitions import Planning
from local_backend.applying.devices import Terms, terms_of
from local_backend.applying.plan import JobNeed
from local_backend.jobs.deadlines import plan as plan_deadlines
from local_backend.jobs.describing import created
from local_backend.jobs.launching import unsupported
from local_backend.models.served import ServedFamily
from local_backend.storage.job_records import JobRecord
from nodus_tui.contract.errors import Fault
from nodus_tui.contract.money import nano_from_usd
from nodus_tui.contract.outcomes import AppliedDocument
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.spec_loading.bundle import LoadedDocument

_MICROSECOND = timedelta(microseconds=1)


class JobPlanning:
    """The jobs of one plan."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning

    async def job(self, document: LoadedDocument, job: Job) -> None:
        """A new job to run; one that exists is never changed."""
        plan, known = self._planning.plan, self._planning.known
        if await stands_already(self._planning, document, job):
            return
        terms = await self._terms(document, job)
        reason = unsupported(job.spec) or terms.refusal
        if reason:
            plan.refusals.append(f"Job {job.name} is valid, but {reason}")
        faults = self._working_folder(document, job) + self._cap(document, job, terms) + self._serving(document, job)
        if faults:
            plan.faults += faults
            return
        record = JobRecord(
            name=job.name,
            metadata=job.metadata.to_document(),
            spec=job.spec.to_document(),
            folder=folder_of(document),
            cap=nano_from_usd(job.spec.max_cost_usd),
            rate=terms.rate or 0,
            created_at=self._planning.now,
        )
        plan.statements += created(record, self._planning.now, known.grace)
        plan.paid_from[job.name] = record.metadata
        plan.jobs.append(JobNeed(job.name, job.spec, record.folder))
        message = f"Job {job.name} is valid, but {reason}: apply refuses it" if reason else ""
        plan.applied.append(AppliedDocument(kind="Job", name=job.name, outcome="refused" if reason else "created", message=message))

    async def _terms(self, document: LoadedDocument, job: Job) -> Terms:
        if any(document.in_doubt("spec", each) for each in ("cpus", "memoryGiB", "hardware", "accelerators")):
            return Terms(None)
        known, spec = self._planning.known, job.spec
        return await terms_of(known.devices, known.rates, spec, cpus=spec.cpus, memory_gib=spec.memory_gib)

    def _working_folder(self, document: LoadedDocument, job: Job) -> list[Fault]:
        named = job.spec.working_dir
        if named is None or Path(named).is_absolute() or document.folder is not None or document.in_doubt("spec", "workingDir"):
            return []
        return [
            document.fault(("spec", "workingDir"), "this spec has no folder in which a relative path could start: give an absolute one")
        ]

    def _serving(self, document: LoadedDocument, job: Job) -> list[Fault]:
        """Whether it can serve its family: nobody else does, and its port can be reached. From here on groups may name the family."""
        serve, served = job.spec.serve, self._planning.served
        if serve is None or document.in_doubt("spec", "serve"):
            return []
        faults: list[Fault] = []
        if not job.spec.network and not document.in_doubt("spec", "network"):
            faults.append(document.fault(("spec", "network"), "a job that serves is reached through its network: set network: true"))
        if document.in_doubt("spec", "serve", "family"):
            return faults
        family, place = serve.family, ("spec", "serve", "family")
        other = served.get(family)
        if self._planning.known.in_catalogue(family):
            said = f"the model catalogue has a family {family} already, and groups that name it mean that one: serve another name"
            faults.append(document.fault(place, said))
        elif other is not None and not other.ended:
            said = f"Job {other.job} serves the family {family} already: kill it first, or serve another name"
            faults.append(document.fault(place, said))
        else:
            served[family] = ServedFamily(job.name, serve)
        return faults

    def _cap(self, document: LoadedDocument, job: Job, terms: Terms) -> list[Fault]:
        if terms.rate is None or document.in_doubt("spec", "maxCostUSD"):
            return []
        cap, timeout, grace = nano_from_usd(job.spec.max_cost_usd), job.spec.timeout // _MICROSECOND, self._planning.known.grace
        try:
            plan_deadlines(cap=cap, rate=terms.rate, timeout_us=timeout, grace_us=grace // _MICROSECOND)
        except ValueError as error:
            return [document.fault(("spec", "maxCostUSD"), f"this cap is too small: {error}")]
        return []


def folder_of(document: LoadedDocument) -> str | None:
    """Where relative paths in a document start; None where nothing says so."""
    return str(document.folder.absolute()) if document.folder else None


async def stands_already(planning: Planning, document: LoadedDocument, job: Job | TrainingJob) -> bool:
    """Whether there is a job of that name, of whichever kind: the same stays as it is, and another one is a conflict."""
    if document.in_doubt("metadata", "name"):
        return False
    rows = await planning.store.read("SELECT * FROM jobs WHERE name = ?", (job.name,))
    if not rows:
        return False
    record = JobRecord.from_row(rows[0])
    if record.kind == job.kind and type(job.spec).model_validate(record.spec) == job.spec and _same_place(record, document, job):
        planning.plan.applied.append(AppliedDocument(kind=job.kind, name=job.name, outcome="unchanged", message=record.phase))
    elif not document.in_doubt("spec"):
        planning.plan.conflicts.append(
            document.fault(
                ("metadata", "name"),
                f"there is a {record.kind} {job.name} with another spec ({record.phase}), and a job is never changed: give this one "
                "another name, or delete that one first",
            )
        )
    return True


def _same_place(record: JobRecord, document: LoadedDocument, job: Job | TrainingJob) -> bool:
    """Whether what is relative in the spec means the same as it did."""
    named = job.spec.include_paths if isinstance(job, TrainingJob) else (job.spec.working_dir or "/",)
    return record.folder == folder_of(document) or all(Path(each).is_absolute() for each in named)
