"""The state of a backend as Prometheus reads it (text format 0.0.4). Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from msgspec import Struct, field

from nodus_tui.contract.events import Snapshot
from nodus_tui.contract.hardware_view import GpuDevice, HardwareView
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.training_job import TrainingJob

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_Labels = Mapping[str, str]
_Number = int | float | Decimal
"""Written as it is: money keeps its digits, bytes all of theirs."""


class _Gauge(Struct):
    """One metric with its series."""

    name: str
    help: str
    series: list[tuple[_Labels, _Number]] = field(default_factory=list)

    def add(self, value: _Number | None, **labels: str) -> None:
        """One series; what is not known has none."""
        if value is not None:
            self.series.append((labels, value))

    def lines(self) -> Iterable[str]:
        """As the format has it."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} gauge"
        for labels, value in self.series:
            inner = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            written = format(value, "f") if isinstance(value, Decimal) else str(value)
            yield f"{self.name}{{{inner}}} {written}" if inner else f"{self.name} {written}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def metrics_text(view: HardwareView, snapshot: Snapshot, sandboxes: int) -> str:
    """Devices, the machine, running sandboxes, each group's cases and money, jobs and budgets."""
    gauges = [
        *_devices(view.devices),
        *_slices(view.devices),
        *_machine(view),
        *_groups(snapshot.groups),
        *_jobs((*snapshot.jobs, *snapshot.training_jobs)),
        *_budgets(snapshot.budgets),
    ]
    running = _Gauge("nodus_sandboxes_running", "Sandboxes of this workspace's runs that run now.")
    running.add(sandboxes)
    return "".join(f"{line}\n" for gauge in (*gauges, running) if gauge.series for line in gauge.lines())


def _devices(devices: Iterable[GpuDevice]) -> tuple[_Gauge, ...]:
    up = _Gauge("nodus_gpu_up", "1 where the device answers, 0 where it is lost or hangs.")
    use = _Gauge("nodus_gpu_utilization_ratio", "Share of the last sample period in which some kernel ran.")
    used = _Gauge("nodus_gpu_memory_used_bytes", "Memory of the device that is allocated.")
    total = _Gauge("nodus_gpu_memory_total_bytes", "Memory of the device.")
    heat = _Gauge("nodus_gpu_temperature_celsius", "Temperature of the device.")
    power = _Gauge("nodus_gpu_power_watts", "Power that the device takes.")
    limit = _Gauge("nodus_gpu_power_limit_watts", "The limit of its power that is in force.")
    slowed = _Gauge("nodus_gpu_throttled", "1 where its clocks are lowered by a limit or heat.")
    errors = _Gauge("nodus_gpu_ecc_uncorrected_errors", "Uncorrected memory errors since the driver was loaded.")
    processes = _Gauge("nodus_gpu_processes", "Processes on the device, those in its MIG slices included.")
    for device in devices:
        labels = {"gpu": str(device.index), "uuid": device.uuid or "", "name": device.name or ""}
        up.add(int(device.responding), **labels)
        use.add(None if device.utilization_percent is None else device.utilization_percent / 100, **labels)
        used.add(device.memory_used_bytes, **labels)
        total.add(device.memory_total_bytes, **labels)
        heat.add(device.temperature_c, **labels)
        power.add(device.power_w, **labels)
        limit.add(device.power_limit_w, **labels)
        slowed.add(None if device.throttle_reasons is None else int(bool(device.throttle_reasons)), **labels)
        errors.add(device.ecc.uncorrected if device.ecc is not None else None, **labels)
        if device.processes is not None:
            processes.add(len(device.processes) + sum(len(leaf.processes or ()) for leaf in device.mig_devices), **labels)
    return up, use, used, total, heat, power, limit, slowed, errors, processes


def _slices(devices: Iterable[GpuDevice]) -> tuple[_Gauge, ...]:
    used = _Gauge("nodus_mig_memory_used_bytes", "Memory of a MIG slice that is allocated.")
    total = _Gauge("nodus_mig_memory_total_bytes", "Memory of a MIG slice.")
    for device in devices:
        for leaf in device.mig_devices:
            labels = {"gpu": str(device.index), "uuid": leaf.uuid or "", "name": leaf.name or ""}
            used.add(leaf.memory_used_bytes, **labels)
            total.add(leaf.memory_total_bytes, **labels)
    return used, total


def _machine(view: HardwareView) -> tuple[_Gauge, ...]:
    cpu = _Gauge("nodus_machine_cpu_ratio", "Share of all processors' time in which they worked.")
    used = _Gauge("nodus_machine_memory_used_bytes", "Memory that programs hold.")
    total = _Gauge("nodus_machine_memory_total_bytes", "Memory of the machine.")
    machine = view.machine
    cpu.add(None if machine.cpu_percent is None else machine.cpu_percent / 100)
    used.add(machine.memory_used_bytes)
    total.add(machine.memory_total_bytes)
    return cpu, used, total


def _groups(groups: Iterable[AgentGroup]) -> tuple[_Gauge, ...]:
    phase = _Gauge("nodus_group_phase", "1 for the phase that the group is in.")
    spent = _Gauge("nodus_group_model_usd", "Spent on models so far, in US dollars.")
    boxes = _Gauge("nodus_group_sandbox_usd", "Spent on sandboxes so far, in US dollars; it does not count against the cap.")
    cap = _Gauge("nodus_group_cap_usd", "The group's cap, in US dollars.")
    left = _Gauge("nodus_group_left_usd", "What of the cap is neither spent nor reserved, in US dollars.")
    going = _Gauge("nodus_group_runs_going", "Runs of the group that go now.")
    scored = _Gauge("nodus_group_cases_scored", "Cases of the group that have a verdict that counts.")
    total = _Gauge("nodus_group_cases", "Cases of the group.")
    for group in groups:
        status = group.status
        if status is None:
            continue
        phase.add(1, group=group.name, phase=status.phase.value)
        money = status.money
        for gauge, amount in ((spent, money.model_usd), (boxes, money.sandbox_usd), (cap, money.cap_usd), (left, money.left_usd)):
            gauge.add(amount, group=group.name)
        going.add(status.going, group=group.name)
        scored.add(status.coverage.scored, group=group.name)
        total.add(status.coverage.total, group=group.name)
    return phase, spent, boxes, cap, left, going, scored, total


def _jobs(jobs: Iterable[Job | TrainingJob]) -> tuple[_Gauge, ...]:
    phase = _Gauge("nodus_job_phase", "1 for the phase that the job is in.")
    cost = _Gauge("nodus_job_cost_usd", "What the job has cost up to now, in US dollars.")
    cap = _Gauge("nodus_job_cap_usd", "The job's cap, in US dollars.")
    progress = _Gauge("nodus_job_progress_ratio", "How far the job is, where it tells that.")
    for job in jobs:
        status = job.status
        if status is None:
            continue
        phase.add(1, job=job.name, phase=status.phase)
        cost.add(status.cost_usd, job=job.name)
        cap.add(job.spec.max_cost_usd if status.cap_usd is None else status.cap_usd, job=job.name)
        progress.add(status.progress, job=job.name)
    return phase, cost, cap, progress


def _budgets(budgets: Iterable[Budget]) -> tuple[_Gauge, ...]:
    spent = _Gauge("nodus_budget_spent_usd", "Spent under the budget in its present period, in US dollars.")
    limit = _Gauge("nodus_budget_limit_usd", "The budget's limit, in US dollars.")
    blocking = _Gauge("nodus_budget_blocking", "1 where new work in its scope is refused.")
    for budget in budgets:
        if budget.status is not None:
            spent.add(budget.status.spent_usd, budget=budget.name)
            limit.add(budget.spec.limit_usd, budget=budget.name)
            blocking.add(int(budget.status.blocking), budget=budget.name)
    return spent, limit, blocking
