"""A recorded machine with every kind of device: busy, slowed down, divided, lost, idle."""

from datetime import datetime, timedelta

from console_records import NOW

from nodus_tui.contract.hardware_view import (
    DeviceHolder,
    EccFact,
    GpuClocks,
    GpuDevice,
    GpuHistory,
    GpuProcess,
    HardwareView,
    MachineFact,
    MigDevice,
    NvLinkFact,
    PcieFact,
)

GIB = 1 << 30
MACHINE = MachineFact(
    host="rack7",
    cpus=64,
    cpu_percent=37.4,
    load=22.5,
    memory_used_bytes=211 * GIB,
    memory_total_bytes=512 * GIB,
    disk_used_bytes=1800 * GIB,
    disk_total_bytes=3600 * GIB,
    disk_read_bytes_per_second=12_400_000.0,
    disk_written_bytes_per_second=880_000.0,
    network_received_bytes_per_second=3_100_000.0,
    network_sent_bytes_per_second=41_000.0,
)


def process(pid: int, **changes: object) -> GpuProcess:
    values: dict[str, object] = {"pid": pid, "kind": "compute", "user": "ann", "command": "python -m vllm serve", "memory_bytes": 30 * GIB}
    return GpuProcess.model_validate(values | changes)


def device(index: int, **changes: object) -> GpuDevice:
    values: dict[str, object] = {
        "index": index,
        "uuid": f"GPU-{index:08}",
        "name": "NVIDIA H100 80GB HBM3",
        "utilization_percent": 93,
        "memory_used_bytes": 71 * GIB,
        "memory_total_bytes": 80 * GIB,
        "temperature_c": 61,
        "power_w": 655.2,
        "power_limit_w": 700.0,
        "clocks": GpuClocks(sm_mhz=1755, sm_max_mhz=1980, memory_mhz=2619),
        "throttle_reasons": (),
        "pcie": PcieFact(
            generation=5, max_generation=5, width=16, max_width=16, received_bytes_per_second=2.1e9, sent_bytes_per_second=4e8
        ),
        "nvlink": NvLinkFact(links=18, active_links=18, received_bytes_per_second=8e10, sent_bytes_per_second=8e10),
        "ecc": EccFact(enabled=True, corrected=2, uncorrected=0),
        "mig_enabled": False,
        "processes": (),
        "history": GpuHistory(interval_seconds=1, utilization_percent=tuple((step * 37) % 101 for step in range(40))),
    }
    return GpuDevice.model_validate(values | changes)


def holder(name: str, kind: str = "Job", **changes: object) -> DeviceHolder:
    return DeviceHolder.model_validate({"kind": kind, "name": name, "since": NOW, **changes})


def hardware(at: datetime = NOW) -> HardwareView:
    slices = (
        MigDevice(
            index=0,
            uuid="MIG-1111",
            name="NVIDIA H100 80GB HBM3 MIG 3g.40gb",
            memory_used_bytes=12 * GIB,
            memory_total_bytes=40 * GIB,
            multiprocessors=60,
            processes=(process(4410, user="eve", command="./simulate --steps 9000"),),
        ),
        MigDevice(index=3, uuid="MIG-3333", name="NVIDIA H100 80GB HBM3 MIG 1g.10gb", memory_used_bytes=0, memory_total_bytes=10 * GIB),
    )
    of_run = process(4122, user="uid 165536", command="python train.py\x1b[2J [red]", run="every-state-c002", sandbox="nodus-0123456789ab")
    return HardwareView(
        at=at,
        driver="580.65.06",
        cuda="13.0",
        machine=MACHINE,
        devices=(
            device(
                0,
                processes=(process(3911, memory_bytes=40 * GIB, job="serve"), of_run),
                holders=(holder("serve", shared=True), holder("every-state-c002", "AgentRun", shared=True)),
            ),
            device(
                1,
                utilization_percent=100,
                temperature_c=88,
                throttle_reasons=("heat (by the hardware)", "power limit"),
                processes=(process(3912, sandbox="nodus-ba9876543210", user=None, command=None, memory_bytes=None),),
            ),
            device(
                2, utilization_percent=None, mig_enabled=True, mig_devices=slices, notes=("it does not tell its utilization",), history=None
            ),
            device(
                3,
                utilization_percent=0,
                memory_used_bytes=0,
                power_w=71.0,
                temperature_c=31,
                history=GpuHistory(interval_seconds=1, utilization_percent=(None, 80, 40, 0, 0, 0)),
                holders=(holder("train", until=NOW + timedelta(minutes=20), until_kind="About"),),
            ),
            GpuDevice(
                index=4,
                uuid="GPU-00000004",
                name="NVIDIA H100 80GB HBM3",
                responding=False,
                notes=("the device is lost: it fell off the bus, or needs a restart of the machine",),
            ),
        ),
    )


def without_driver() -> HardwareView:
    sentence = "no NVIDIA driver here: its library libnvidia-ml.so.1 is not found"
    return HardwareView(at=NOW, machine=MACHINE, notes=(sentence,))


def later(view: HardwareView, seconds: float, *devices: GpuDevice) -> HardwareView:
    return view.model_copy(update={"at": view.at + timedelta(seconds=seconds), "devices": devices or view.devices})
