"""Estimates of the kinds beside AgentGroup: Sandbox, Job, TrainingJob and Sweep. Pure; money is exact."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType

from msgspec import Struct

from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.estimates import KindEstimate
from nodus_tui.contract.money import cent_text, nano_from_usd
from nodus_tui.contract.resources.hardware import MachineSlice
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob, TrainingJobSpec
from nodus_tui.contract.wording import escaped
from nodus_tui.statistics.hardware_rates import SECONDS_PER_TASK, slice_rate
from nodus_tui.statistics.notes import dollars, slice_notes
from nodus_tui.statistics.planning import time_charge


class MeasuredSpeed(Struct, frozen=True):
    """How fast a TrainingJob scored on some hardware here."""

    seconds_per_task: Decimal
    """On one device."""
    samples: int
    model: str
    """The address of the model that was scored."""


NOTHING_MEASURED: Mapping[str, MeasuredSpeed] = MappingProxyType({})


def estimate_kind(
    resource: Resource,
    *,
    rates: Mapping[str, Decimal],
    environment_tasks: int | None = None,
    measured: Mapping[str, MeasuredSpeed] = NOTHING_MEASURED,
) -> KindEstimate | None:
    """The estimate of a Sandbox, Job, TrainingJob or Sweep; None for a kind that this module has no estimate for.

    `rates` are US dollars an hour by hardware; `environment_tasks` is the number of tasks that a TrainingJob's Environment holds, if
    known, and `measured` how fast hardware was here.
    """
    if isinstance(resource, Sandbox):
        return estimate_sandbox(resource, rates=rates)
    if isinstance(resource, Job):
        return estimate_job(resource, rates=rates)
    if isinstance(resource, TrainingJob):
        return estimate_training_job(resource, rates=rates, environment_tasks=environment_tasks, measured=measured)
    if isinstance(resource, Sweep):
        return estimate_sweep(resource)
    return None


def estimate_sandbox(sandbox: Sandbox, *, rates: Mapping[str, Decimal]) -> KindEstimate:
    """What a sandbox can cost: its cap, or its rate × its longest life where that is less."""
    return _timed("Sandbox", sandbox.name, sandbox.spec, sandbox.spec.max_cost_usd, sandbox.spec.max_lifetime, rates)


def estimate_job(job: Job, *, rates: Mapping[str, Decimal]) -> KindEstimate:
    """What a job can cost: its cap, or its rate × its timeout where that is less. One that serves may be started more than once."""
    estimate = _timed("Job", job.name, job.spec, job.spec.max_cost_usd, job.spec.timeout, rates)
    if job.spec.serve is None:
        return estimate
    note = f"It serves {job.spec.serve.family} and may be started more than once: its cap bounds all of its time together."
    return estimate.model_copy(update={"ceiling_usd": job.spec.max_cost_usd, "notes": (*estimate.notes, note)})


def _timed(kind: str, name: str, machine: MachineSlice, cap: Decimal, longest: timedelta, rates: Mapping[str, Decimal]) -> KindEstimate:
    seconds = _seconds(longest)
    rate = slice_rate(rates, machine.hardware, machine.cpus, machine.memory_gib, machine.accelerators)
    ceiling = cap
    notes = slice_notes(machine.hardware, machine.cpus, machine.memory_gib)
    if rate is None:
        notes = (*notes, _unpriced([machine.hardware]))
    else:
        whole = _charge(seconds, rate, 1)
        ceiling = min(cap, whole)
        notes = (*notes, *_early_end(cap, whole, longest))
    return KindEstimate(kind=kind, name=name, cap_usd=cap, ceiling_usd=ceiling, longest_seconds=seconds, notes=notes)


def _early_end(cap: Decimal, whole: Decimal, longest: timedelta) -> tuple[str, ...]:
    if whole <= cap:
        return ()
    return (f"All {duration_text(longest)} of its time would cost {dollars(whole)}; its cap of {dollars(cap)} ends it before.",)


def estimate_training_job(
    job: TrainingJob,
    *,
    rates: Mapping[str, Decimal],
    environment_tasks: int | None = None,
    measured: Mapping[str, MeasuredSpeed] = NOTHING_MEASURED,
) -> KindEstimate:
    """What a TrainingJob can cost and how long its scoring takes on each hardware that it accepts: seconds a task × tasks ÷ devices."""
    spec, resources = job.spec, job.spec.resources
    tasks, hardware = _tasks(spec, environment_tasks), resources.hardware
    # A measurement of this very model counts before the published figure, and that before one of another model.
    own = {each: speed for each, speed in measured.items() if speed.model == _without_commit(spec.model.uri)}
    speeds = {name: speed.seconds_per_task for name, speed in measured.items()} | {**SECONDS_PER_TASK}
    speeds |= {name: speed.seconds_per_task for name, speed in own.items()}
    known = [each for each in hardware if each in speeds]
    seconds = {} if tasks is None else {each: speeds[each] * tasks / resources.accelerators for each in known}
    longest = _seconds(spec.timeout)
    priced = {each: rate for each in hardware if (rate := _rate(job, rates, each)) is not None}
    ceiling = spec.max_cost_usd
    if len(priced) == len(hardware):
        ceiling = min(ceiling, _charge(longest, max(priced.values()), 1))
    unpriced = [each for each in hardware if each not in priced]
    unknown_speed = [each for each in hardware if each not in known]
    slow = [each for each, needed in seconds.items() if needed > longest]
    return KindEstimate(
        kind="TrainingJob",
        name=job.name,
        cap_usd=spec.max_cost_usd,
        ceiling_usd=ceiling,
        longest_seconds=longest,
        tasks=tasks,
        seconds_by_hardware=seconds,
        usd_by_hardware={each: _charge(needed, priced[each], 1) for each, needed in seconds.items() if each in priced},
        notes=(
            *((_open_ended(spec),) if tasks is None else ()),
            *(_measured_here(each, own.get(each) or measured[each]) for each in known if each in own or each not in SECONDS_PER_TASK),
            *((f"How fast {_listed(unknown_speed)} scores is not known.",) if unknown_speed else ()),
            *((_unpriced(unpriced),) if unpriced else ()),
            *(
                (f"On {_listed(slow)} it takes longer than its timeout of {duration_text(spec.timeout)}: raise the timeout.",)
                if slow
                else ()
            ),
        ),
    )


def _rate(job: TrainingJob, rates: Mapping[str, Decimal], hardware: str) -> Decimal | None:
    """An hour of it on some hardware."""
    resources = job.spec.resources
    return slice_rate(rates, hardware, resources.all_cpus, resources.all_memory_gib, resources.accelerators)


def _without_commit(uri: str) -> str:
    return uri.partition("@")[0]


def _measured_here(hardware: str, speed: MeasuredSpeed) -> str:
    return (
        f"{speed.seconds_per_task:.3g} s a task were measured here on {escaped(hardware)}, "
        f"over {speed.samples:,} samples of {escaped(speed.model)}."
    )


def _tasks(spec: TrainingJobSpec, environment_tasks: int | None) -> int | None:
    limit = spec.parameters.limit
    if spec.parameters.tasks is not None:
        return None if limit is None else limit * len(spec.parameters.tasks)
    known = [count for count in (limit, environment_tasks) if count is not None]
    return min(known, default=None)


def _open_ended(spec: TrainingJobSpec) -> str:
    what = "The Environment is" if spec.environment else "Each benchmark task is"
    return f"{what} scored whole and its size is not known here, so the time is not either; set spec.parameters.limit to bound it."


def estimate_sweep(sweep: Sweep) -> KindEstimate:
    """What a sweep can cost: its cap, or its cells' caps together where that is less."""
    spec = sweep.spec
    cells, cap, each = spec.cells, spec.max_cost_usd, spec.template.spec.max_cost_usd
    wanted = cells * each
    sure = min(cells, nano_from_usd(cap) // nano_from_usd(each))
    notes: tuple[str, ...] = ()
    if sure < cells:
        room = f"is sure to start only {sure} of {cells} cells, if each spends its whole {dollars(each)}"
        notes = (f"The sweep's cap of {dollars(cap)} {room}: raise maxCostUSD to {dollars(wanted)} to give every cell room.",)
    return KindEstimate(
        kind="Sweep", name=sweep.name, cap_usd=cap, ceiling_usd=min(cap, wanted), cells=cells, cells_sure_to_start=sure, notes=notes
    )


def _charge(seconds: Decimal, rate_per_hour: Decimal, devices: int) -> Decimal:
    return Decimal(cent_text(time_charge(seconds, rate_per_hour * devices)))


def _seconds(duration: timedelta) -> Decimal:
    return Decimal(duration // timedelta(seconds=1))


def _unpriced(hardware: list[str]) -> str:
    return (
        f"The price list has no rate for {_listed(hardware)}, so only the cap bounds the cost; set one under `rates` in the configuration."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(escaped(name) for name in names)
