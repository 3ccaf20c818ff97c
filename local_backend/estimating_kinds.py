"""Estimates of Sandboxes, Jobs, TrainingJobs and Sweeps over a workspace, and what jobs of the same documents serve. Reads only."""

from collections.abc import Mapping
from decimal import Decimal

from local_backend.applying.lookups import Lookups, located
from local_backend.models.served import ServedFamily
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.estimates import KindEstimate
from nodus_tui.contract.money import nano_from_usd
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.statistics.kind_estimate import MeasuredSpeed, estimate_kind

_ELECTRIC = "Its devices cost the electricity that they take: this is at their power limits, and what is booked in the end is measured."


async def estimate_other(bundle: SpecBundle, resource: Resource, lookups: Lookups, rates: Mapping[str, Decimal]) -> KindEstimate | None:
    """What a document costs at most; None for a kind that costs nothing. `rates` are US dollars an hour by hardware. Raises NodusError."""
    electric = await lookups.electric_rates(_hardware_of(resource))
    made = await _estimate_at(bundle, resource, lookups, {**rates, **electric})
    return made if made is None or not electric else made.model_copy(update={"notes": (*made.notes, _ELECTRIC)})


def _hardware_of(resource: Resource) -> tuple[str, ...]:
    if isinstance(resource, TrainingJob):
        return resource.spec.resources.hardware
    return (resource.spec.hardware,) if isinstance(resource, Job | Sandbox) else ()


async def _estimate_at(bundle: SpecBundle, resource: Resource, lookups: Lookups, rates: Mapping[str, Decimal]) -> KindEstimate | None:
    if not isinstance(resource, TrainingJob):
        return estimate_kind(resource, rates=rates)
    from local_backend.jobs.speeds import speeds  # noqa: PLC0415 - most estimates are of groups

    found = await speeds(lookups.store, resource.spec.model.uri.partition("@")[0])
    # A measurement says no more than three digits.
    measured = {name: MeasuredSpeed(Decimal(f"{each.seconds_per_task:.3g}"), each.samples, each.model) for name, each in found.items()}
    tasks = await _held_out_tasks(bundle, resource, lookups)
    return estimate_kind(resource, rates=rates, environment_tasks=tasks, measured=measured)


async def _held_out_tasks(bundle: SpecBundle, job: TrainingJob, lookups: Lookups) -> int | None:
    """How many tasks its Environment has, where that is known and has an end; what is wrong with it is told by an apply."""
    if job.spec.environment is None:
        return None
    own = await lookups.stored_environments()
    for document in bundle:
        if isinstance(document.resource, Environment):
            own[document.resource.name] = located(document.resource, str(document.folder) if document.folder else None)
    try:
        resolved = lookups.environments.resolve(job.spec.environment, "test", own=own.get, own_names=own)
        return (await lookups.environments.facts(resolved)).tasks.get("test")
    except NodusError:
        return None


def with_served(bundle: SpecBundle, served: Mapping[str, ServedFamily]) -> dict[str, ServedFamily]:
    """The families that are served, and those that jobs of these documents will serve."""
    known = dict(served)
    for document in bundle:
        job = document.resource
        serve = job.spec.serve if isinstance(job, Job) else None
        if isinstance(job, Job) and serve is not None and (serve.family not in known or known[serve.family].ended):
            known[serve.family] = ServedFamily(job.name, serve, cap=nano_from_usd(job.spec.max_cost_usd))
    return known
