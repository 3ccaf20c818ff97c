"""What of a machine's devices can be given, and who uses one that was not given it."""

from device_records import NOW, device

from local_backend.devices.inventory import GIB, MIB, Belongings, devices_of, strangers
from nodus_tui.contract.hardware_view import GpuDevice, GpuProcess, HardwareView, MachineFact, MigDevice

IDLE = 512 * MIB


def process(
    command: str | None = "/usr/bin/python train.py", *, kind: str = "compute", memory: int | None = GIB, **more: object
) -> GpuProcess:
    values = {"pid": 7, "kind": kind, "user": "ann", "command": command, "memory_bytes": memory, **more}
    return GpuProcess.model_validate(values)


def test_whole_devices_and_slices_are_given_and_never_a_divided_device() -> None:
    slices = (
        MigDevice(index=3, uuid="MIG-3", name="H100 MIG 1g.10gb", memory_total_bytes=10 * GIB, gpu_instance=7, compute_instance=0),
        MigDevice(index=5, uuid=None, name=None),
    )
    view = HardwareView(
        at=NOW,
        machine=MachineFact(host="here"),
        devices=(
            GpuDevice(index=0, uuid="GPU-0", name="NVIDIA H100", memory_total_bytes=80 * GIB, minor=4, power_limit_w=700),
            GpuDevice(index=1, uuid="GPU-1", name="NVIDIA H100", mig_enabled=True, mig_devices=slices, minor=2, power_limit_w=700),
            GpuDevice(index=2, uuid=None, name=None, responding=False),
        ),
    )
    whole, part = devices_of(view)
    assert (whole.uuid, whole.place, whole.memory_bytes, whole.minor, whole.power_limit_w) == ("GPU-0", "0", 80 * GIB, 4, 700)
    assert (part.uuid, part.place, part.memory_bytes, part.minor, part.gpu_instance) == ("MIG-3", "1:3", 10 * GIB, 2, 7)
    assert part.power_limit_w is None, "a slice's part of the power cannot be told"
    assert sorted((part, whole), key=lambda each: each.order) == [whole, part]


def test_programs_that_compute_are_strangers_unless_they_belong_to_a_holder() -> None:
    mine = Belongings(runs={"hello-c001"}, jobs={"train"}, sandboxes={"nodus-1"})
    owned = (process(run="hello-c001"), process(job="train"), process(sandbox="nodus-1"))
    other = (process(), process(), process("Xorg", kind="graphics"), process(job="other"), process(None, user=None))
    used = device(0, processes=(*owned, *other), memory_used_bytes=0)
    assert strangers(used, mine, held=True, idle_memory_bytes=IDLE) == (
        "python (ann)",
        "python (other, which was not given it)",
        "process 7",
    )


def test_memory_that_no_process_explains_is_somebodys() -> None:
    nobody = Belongings()

    def told(used: int | None, *processes: GpuProcess, held: bool = False) -> tuple[str, ...]:
        found = device(0, processes=processes, memory_used_bytes=used)
        return strangers(found, nobody, held=held, idle_memory_bytes=IDLE)

    screen = process("Xorg", kind="graphics", memory=2 * GIB)
    assert told(3 * GIB) == ("3.0 GiB of no process that can be seen",)
    assert told(2 * GIB + IDLE, screen) == ()
    assert told(3 * GIB, process("Xorg", kind="graphics", memory=None)) == ()
    assert told(IDLE) == ()
    assert told(None) == ()
    assert told(3 * GIB, held=True) == ()
