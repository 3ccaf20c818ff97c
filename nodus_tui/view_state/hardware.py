"""What the GPU view shows: devices with their slices, the processes on them, and the machine; folded from one look after another."""

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct, field

from nodus_tui.contract.hardware_view import HISTORY_SAMPLES, DeviceHolder, GpuDevice, GpuProcess, HardwareView, MigDevice
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted
from nodus_tui.view_state.columns import Column, Item
from nodus_tui.view_state.devices import holders_words
from nodus_tui.view_state.figures import NOTHING, age_text, bar, share
from nodus_tui.view_state.hardware_words import (
    UNKNOWN,
    degrees,
    device_words,
    gib_of,
    machine_words,
    percent,
    size_text,
    sparkline,
    warnings_of,
    watts_of,
)
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.words import unread
from nodus_tui.view_state.wrapping import between

STALE_SECONDS = 5.0
"""From this age on figures are called old."""
SPARK_CELLS = 20
"""Samples that the widest sparkline holds."""

_HOT = 90
"""Percent from which a busy or full device is shown in another tone."""


class DeviceRow(Struct, frozen=True):
    """One line of the table: a device, or a slice of one."""

    device: GpuDevice
    leaf: MigDevice | None = None
    utilization: tuple[int | None, ...] = ()
    """The last samples, oldest first."""

    @property
    def place(self) -> str:
        """`0`, or `0:3` for the slice 3 of device 0."""
        return str(self.device.index) if self.leaf is None else f"{self.device.index}:{self.leaf.index}"

    @property
    def holders(self) -> tuple[DeviceHolder, ...]:
        """Who was given it."""
        return self.device.holders if self.leaf is None else self.leaf.holders

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of it."""
        return self.device.notes if self.leaf is None else self.leaf.notes


class ProcessRow(Struct, frozen=True):
    """A process on a device."""

    place: str
    order: int
    process: GpuProcess


class HardwareState(Struct):
    """The last look, and the samples before it."""

    view: HardwareView | None = None
    taken_at: datetime | None = None
    """When it arrived here: the backend's clock may be another."""
    problem: str = ""
    """Why the last try gave nothing; empty where it gave something."""
    devices: Rows[DeviceRow] = field(default_factory=lambda: Rows(DEVICE_COLUMNS, sort="gpu"))
    processes: Rows[ProcessRow] = field(default_factory=lambda: Rows(PROCESS_COLUMNS, sort="gpu"))
    _samples: dict[str, deque[int | None]] = field(default_factory=dict)

    def take(self, view: HardwareView, now: datetime) -> None:
        """A look arrived."""
        self.problem, self.taken_at = "", now
        if self.view is not None and self.view.at == view.at:
            # Its figures are those that are shown; only its notes may be others.
            self.view = view
            return
        self.view = view
        for device in view.devices:
            self._remember(device)
        _replace(self.devices, {row.place: row for device in view.devices for row in self._rows(device)})
        _replace(self.processes, {f"{row.place} {row.process.kind} {row.process.pid}": row for row in _process_rows(view)})

    def fail(self, problem: str) -> None:
        """A try gave nothing: what is known stays."""
        self.problem = problem

    @property
    def wants_history(self) -> bool:
        """Whether the samples from before this view was opened are still to be had."""
        return self.view is None

    def _remember(self, device: GpuDevice) -> None:
        kept = self._samples.setdefault(device.uuid or str(device.index), deque(maxlen=HISTORY_SAMPLES))
        if not kept and device.history is not None:
            kept.extend(device.history.utilization_percent)
        else:
            kept.append(device.utilization_percent)

    def _rows(self, device: GpuDevice) -> Iterator[DeviceRow]:
        yield DeviceRow(device, utilization=tuple(self._samples[device.uuid or str(device.index)])[-SPARK_CELLS:])
        for leaf in device.mig_devices:
            yield DeviceRow(device, leaf)

    def first_process_on(self, row: DeviceRow) -> str | None:
        """The key of the first process on a device, its slices included, or on a slice; None where there is none."""
        shown = (self.processes.key_at(index) for index in range(len(self.processes)))
        return next((key for key in shown if key.startswith((f"{row.place} ", f"{row.place}:"))), None)

    # In words

    def stale(self, now: datetime) -> bool:
        """Whether what is shown is older than it should be."""
        return self.taken_at is not None and (now - self.taken_at).total_seconds() >= STALE_SECONDS

    def headline(self) -> Line:
        """The driver."""
        if self.view is None or self.view.driver is None:
            return ()
        return line(muted(f"driver {self.view.driver}, CUDA {self.view.cuda or UNKNOWN}"))

    def state_words(self, now: datetime) -> Line:
        """How the figures stand, where that is worth a word."""
        if self.view is None:
            return ()
        if self.problem or self.stale(now):
            age = age_text(self.taken_at, now) if self.taken_at is not None else ""
            why = f": {self.problem}" if self.problem else ""
            return line(Span(f"! These figures are {age} old{why}", Tone.WARN))
        return ()

    def machine_lines(self, width: int) -> tuple[Line, ...]:
        """The machine, and what is to be said of it and of the driver. Its figures are broken between facts only."""
        if self.view is None:
            return ()
        machine = self.view.machine
        cpu, *rest = machine_words(machine)
        load = line(f"{machine.host}  ", *_bar(machine.cpu_percent, 8), f" {cpu}")
        memory = share(machine.memory_used_bytes or 0, machine.memory_total_bytes or 0)
        first = joined((load, line(*bar(memory, 8, _tone(100 * memory)), f" {rest[0]}")))
        more = between((line(part) for part in rest[1:]), width)
        # Without devices the notes say why, in the middle of the view.
        notes = (*(self.view.notes if self.view.devices else ()), *machine.notes)
        return (first, *more, *(line(Span(f"! {note}", Tone.WARN)) for note in notes))

    def empty_lines(self) -> tuple[Line, ...]:
        """What stands in place of the devices where there are none."""
        if self.view is None:
            return (line(Span(f"! {unread('The machine', self.problem)}", Tone.BAD) if self.problem else muted("Asking the machine…")),)
        sentences = self.view.notes or ("the driver lists no device",)
        return (line("No GPUs here."), *(line(muted(f"{sentence[:1].upper()}{sentence[1:]}.")) for sentence in sentences))

    def detail(self, row: DeviceRow | None, now: datetime, width: int) -> tuple[Line, ...]:
        """The selected device: what is wrong first, then what it tells beside its row."""
        if row is None:
            return ()
        wrong = warnings_of(row.device) if row.leaf is None else ()
        tone = Tone.WARN if row.device.responding else Tone.BAD
        lines = [line(Span(f"! {sentence}", tone)) for sentence in (*wrong, *(row.notes if not row.device.responding else ()))]
        name = (row.device if row.leaf is None else row.leaf).name or UNKNOWN
        facts = device_words(row.device) if row.leaf is None else _leaf_words(row.leaf)
        if row.holders:
            lines.append(line("given to ", Span(holders_words(row.holders, now), Tone.KEY)))
        lines += between((line(name), *(line(muted(fact)) for fact in facts)), width)
        if row.device.responding:
            lines += [line(muted(note)) for note in row.notes]
        return tuple(lines)


def _replace(rows: Rows[Item], found: Mapping[str, Item]) -> None:
    """These are all there are."""
    for key in [key for key in rows.keys() if key not in found]:  # noqa: SIM118 - Rows is no mapping
        rows.remove(key)
    for key, row in found.items():
        rows.put(key, row)


def _process_rows(view: HardwareView) -> Iterator[ProcessRow]:
    for device in view.devices:
        for process in device.processes or ():
            yield ProcessRow(str(device.index), _order(device, None), process)
        for leaf in device.mig_devices:
            for process in leaf.processes or ():
                yield ProcessRow(f"{device.index}:{leaf.index}", _order(device, leaf), process)


def _leaf_words(leaf: MigDevice) -> tuple[str, ...]:
    sized = (f"{leaf.multiprocessors} multiprocessors",) if leaf.multiprocessors is not None else ()
    return (*sized, *((leaf.uuid,) if leaf.uuid else ()))


def _order(device: GpuDevice, leaf: MigDevice | None) -> int:
    return 1000 * device.index + (0 if leaf is None else leaf.index + 1)


def _tone(percents: float | None) -> Tone:
    return Tone.WARN if percents is not None and percents >= _HOT else Tone.INFO


def _bar(percents: float | None, width: int) -> Line:
    return line(muted(" " * width)) if percents is None else bar(min(1.0, percents / 100), width, Tone.INFO)


# The columns of the devices.


def _name_cell(row: DeviceRow, _now: datetime) -> Line:
    if row.leaf is not None:
        name = row.leaf.name or row.leaf.uuid or UNKNOWN
        # Its name begins with its device's, which stands above.
        return line(muted("└ "), name.removeprefix(row.device.name or "").strip() or name)
    return line((row.device.name or UNKNOWN).removeprefix("NVIDIA "))


def _use_cell(row: DeviceRow, _now: datetime) -> Line:
    value = row.device.utilization_percent if row.leaf is None else None
    return line(NOTHING) if value is None else line(Span(percent(value), Tone.STRONG if value else Tone.MUTED))


def _spark_cell(row: DeviceRow, _now: datetime) -> Line:
    # Aligned at the right, so that the newest sample stands at the same place in every width.
    return () if row.leaf is not None else line(Span(sparkline(row.utilization, SPARK_CELLS).lstrip(), Tone.INFO))


def _shorter_spark(row: DeviceRow, _now: datetime) -> tuple[Line, ...]:
    return tuple(line(Span(sparkline(row.utilization, cells), Tone.INFO)) for cells in range(SPARK_CELLS - 1, 0, -1))


def _memory(row: DeviceRow) -> tuple[int | None, int | None]:
    of = row.device if row.leaf is None else row.leaf
    return of.memory_used_bytes, of.memory_total_bytes


def _memory_cell(row: DeviceRow, _now: datetime) -> Line:
    used, total = _memory(row)
    return line(NOTHING) if used is None and total is None else line(gib_of(used, total))


def _fill_cell(row: DeviceRow, _now: datetime) -> Line:
    used, total = _memory(row)
    if used is None or not total:
        return ()
    part = share(used, total)
    return bar(part, 5, _tone(100 * part))


def _state_cell(row: DeviceRow, _now: datetime) -> Line:
    if not row.device.responding:
        return line(Span("! no answer", Tone.BAD))
    if row.leaf is not None:
        return ()
    if warnings_of(row.device):
        reasons = row.device.throttle_reasons
        return line(Span(f"! {reasons[0] if reasons else 'memory'}", Tone.WARN))
    if row.device.mig_enabled:
        return line(muted("divided"))
    return line(muted("idle" if row.device.utilization_percent == 0 and not row.device.processes else ""))


def _held_cell(row: DeviceRow, now: datetime) -> Line:
    """What is wrong with it; else who has it; else how it stands."""
    if not row.holders or not row.device.responding or (row.leaf is None and warnings_of(row.device)):
        return _state_cell(row, now)
    more = f" +{len(row.holders) - 1}" if len(row.holders) > 1 else ""
    return line(muted("→ "), Span(row.holders[0].name, Tone.KEY), muted(more))


DEVICE_COLUMNS: tuple[Column[DeviceRow], ...] = (
    Column("gpu", "GPU", 4, lambda row, _now: line(muted(row.place)), lambda row: _order(row.device, row.leaf)),
    Column("name", "NAME", 10, _name_cell, lambda row: row.device.name, prefer=14, grow=20, least=6),
    Column("use", "UTIL", 4, _use_cell, lambda row: row.device.utilization_percent, right=True),
    Column(
        "spark",
        "HISTORY",
        8,
        _spark_cell,
        lambda row: row.device.utilization_percent,
        priority=3,
        grow=12,
        right=True,
        shorter=_shorter_spark,
    ),
    Column("memory", "MEMORY", 13, _memory_cell, lambda row: _memory(row)[0], grow=2, right=True),
    Column("fill", "", 5, _fill_cell, lambda row: _memory(row)[0], priority=4),
    Column(
        "temperature",
        "TEMP",
        5,
        lambda row, _now: line(degrees(row.device.temperature_c)) if row.leaf is None else (),
        lambda row: row.device.temperature_c,
        priority=2,
        right=True,
    ),
    Column(
        "power",
        "POWER",
        9,
        lambda row, _now: line(watts_of(row.device.power_w, row.device.power_limit_w)) if row.leaf is None else (),
        lambda row: row.device.power_w,
        priority=2,
        right=True,
    ),
    Column("state", "STATE", 11, _held_cell, lambda row: row.device.responding, priority=1, grow=20),
)


# The columns of the processes.


def _run_cell(row: ProcessRow, _now: datetime) -> Line:
    process = row.process
    owner = process.run or process.job
    if owner is not None:
        return line(Span(owner, Tone.KEY))
    return line(muted(f"□ {process.sandbox}" if process.sandbox is not None else "–"))


PROCESS_COLUMNS: tuple[Column[ProcessRow], ...] = (
    Column("gpu", "GPU", 4, lambda row, _now: line(muted(row.place)), lambda row: row.order),
    Column("pid", "PID", 7, lambda row, _now: line(str(row.process.pid)), lambda row: row.process.pid, right=True),
    Column("user", "USER", 8, lambda row, _now: line(row.process.user or UNKNOWN), lambda row: row.process.user, priority=2, grow=8),
    Column(
        "memory", "MEMORY", 9, lambda row, _now: line(size_text(row.process.memory_bytes)), lambda row: row.process.memory_bytes, right=True
    ),
    Column("run", "RUN, JOB", 14, _run_cell, lambda row: row.process.run or row.process.job, grow=18, middle=True),
    Column(
        "command",
        "COMMAND",
        16,
        lambda row, _now: line(row.process.command or UNKNOWN),
        lambda row: row.process.command,
        priority=1,
        grow=200,
    ),
)
