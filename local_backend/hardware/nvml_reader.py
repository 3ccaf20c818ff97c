"""NVML through nvidia-ml-py, as plain values. Runs in the probe's process only: any of these calls may take for ever.

No error leaves here. A figure that a device does not tell is None, and the device's notes say why: not supported, no permission, or what
NVML said. What changes rarely is asked again after a while only.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pynvml
from msgspec import Struct, field

from local_backend.hardware.nvml_words import (
    FUNCTION_NOT_FOUND,
    LOST_CODES,
    NO_PERMISSION,
    NOT_SUPPORTED,
    error_words,
    listed,
    opening_words,
    reason_words,
)
from local_backend.hardware.rates import Rates

STATIC_SECONDS = 300.0
"""Names and what the hardware can do at most."""
SLOW_SECONDS = 10.0
"""What changes by somebody's action or by a fault: limits, links, memory errors, MIG."""
UNSUPPORTED_SECONDS = 60.0
"""A question that a device does not support is not put again for so long."""

_MOST_LINKS = 18
_ALL_LINKS = 0xFFFFFFFF
_NO_ID = 0xFFFFFFFF
_KIB = 1024
_PCIE_RECEIVED, _PCIE_SENT, _LINK_RECEIVED, _LINK_SENT = "pcie received", "pcie sent", "link received", "link sent"

Reading = dict[str, Any]
"""Values under the contract's names, ready to be sent as JSON."""


class _LostError(Exception):
    """The device does not answer any more; the text says why."""


class _Answer(Struct):
    """What a question gave, and until when that is good."""

    value: Any
    code: int
    """NVML's error code; 0 where it answered."""
    words: str
    until: float


class _Asked(Struct):
    """Questions to one handle over its life, and what went wrong in this sample."""

    kept: dict[str, _Answer] = field(default_factory=dict)
    problems: dict[str, _Answer] = field(default_factory=dict)


class NvmlReader:
    """NVML, opened once. `clock` is a steady one, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked: dict[str, _Asked] = {}
        self._known: dict[int, tuple[str | None, str | None]] = {}
        """Uuid and name by index, for devices that stop to answer."""
        self._rates: dict[str, Rates] = {}
        self._now = 0.0

    def open(self) -> str:
        """Open the library. Empty where it opened, else a sentence."""
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            return opening_words(error.value, _told(error))
        return ""

    def driver(self) -> Reading:
        """Its versions."""
        asked = self._asked_of("driver")
        cuda = self._figure(asked, "CUDA version", pynvml.nvmlSystemGetCudaDriverVersion_v2, keep=STATIC_SECONDS)
        return {
            "driver": self._figure(asked, "driver version", pynvml.nvmlSystemGetDriverVersion, keep=STATIC_SECONDS),
            "cuda": None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
        }

    def count(self) -> tuple[int, str]:
        """How many devices there are; none, and a sentence, where NVML does not say."""
        self._now = self._clock()
        try:
            return int(pynvml.nvmlDeviceGetCount()), ""
        except pynvml.NVMLError as error:
            return 0, f"the driver does not list its devices: {error_words(error.value, _told(error))}"

    def device(self, index: int) -> Reading:
        """One device with its slices. Its processes are bare: pid, kind and memory."""
        asked = self._asked_of(f"device {index}")
        asked.problems.clear()
        uuid, name = self._known.get(index, (None, None))
        try:
            handle = self._handle(index)
            uuid = self._figure(asked, "uuid", pynvml.nvmlDeviceGetUUID, handle, keep=SLOW_SECONDS) or uuid
            name = self._figure(asked, "name", pynvml.nvmlDeviceGetName, handle, keep=SLOW_SECONDS) or name
            known = (uuid, name)
            if self._known.get(index, known) != known:
                # Another device has this number now: what was kept is not its.
                asked.kept.clear()
            self._known[index] = known
            return {"index": index, "uuid": uuid, "name": name, **self._figures(asked, handle, index), "notes": _notes(asked)}
        except _LostError as error:
            asked.kept.clear()
            return {"index": index, "uuid": uuid, "name": name, "responding": False, "notes": [str(error)]}

    # Asking

    def _asked_of(self, key: str) -> _Asked:
        return self._asked.setdefault(key, _Asked())

    def _handle(self, index: int) -> Any:
        try:
            return pynvml.nvmlDeviceGetHandleByIndex(index)
        except pynvml.NVMLError as error:
            raise _LostError(error_words(error.value, _told(error))) from error

    def _figure(self, asked: _Asked, what: str, ask: Callable[..., Any], *args: Any, keep: float = 0.0, quiet: bool = False) -> Any:
        """The answer, or None with the reason noted. `keep`: seconds for which it is good. `quiet`: no answer is no news."""
        kept = asked.kept.get(what)
        if kept is None or self._now >= kept.until:
            kept = self._ask(ask, *args, keep=keep)
            asked.kept[what] = kept
        if kept.code and not quiet:
            asked.problems[what] = kept
        return kept.value

    def _ask(self, ask: Callable[..., Any], *args: Any, keep: float) -> _Answer:
        try:
            return _Answer(ask(*args), 0, "", self._now + keep)
        except pynvml.NVMLError as error:
            code, words = error.value, error_words(error.value, _told(error))
        except UnicodeDecodeError:
            code, words = 999, "the driver's answer is no text"
        if code in LOST_CODES:
            raise _LostError(words)
        rarely = code in {NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND}
        return _Answer(None, code, words, self._now + (UNSUPPORTED_SECONDS if rarely else keep))

    # Figures

    def _figures(self, asked: _Asked, handle: Any, index: int) -> Reading:
        mig = self._figure(asked, "MIG", pynvml.nvmlDeviceGetMigMode, handle, keep=SLOW_SECONDS, quiet=True)
        divided = bool(mig and mig[0])
        use = self._figure(asked, "utilization", pynvml.nvmlDeviceGetUtilizationRates, handle)
        memory = self._figure(asked, "memory", _memory, handle)
        power = self._figure(asked, "power", pynvml.nvmlDeviceGetPowerUsage, handle)
        limit = self._figure(asked, "power limit", pynvml.nvmlDeviceGetEnforcedPowerLimit, handle, keep=SLOW_SECONDS)
        # Cards before Volta do not count it, and it is nothing that people look for.
        energy = self._figure(asked, "energy", pynvml.nvmlDeviceGetTotalEnergyConsumption, handle, quiet=True)
        reasons = self._figure(asked, "throttle reasons", _reasons, handle)
        fields = self._fields(handle, index)
        return {
            "minor": self._figure(asked, "minor number", pynvml.nvmlDeviceGetMinorNumber, handle, keep=STATIC_SECONDS, quiet=True),
            "utilization_percent": None if use is None else int(use.gpu),
            "memory_utilization_percent": None if use is None else int(use.memory),
            "memory_used_bytes": None if memory is None else int(memory.used),
            "memory_total_bytes": None if memory is None else int(memory.total),
            "temperature_c": self._figure(asked, "temperature", _temperature, handle),
            "power_w": None if power is None else power / 1000,
            "power_limit_w": None if limit is None else limit / 1000,
            "energy_j": None if energy is None else energy / 1000,
            # Cards for servers have no fan of their own, and say so at every question.
            "fan_percent": self._figure(asked, "fan", pynvml.nvmlDeviceGetFanSpeed, handle, keep=1.0, quiet=True),
            "clocks": self._clocks(asked, handle),
            "throttle_reasons": None if reasons is None else reason_words(reasons),
            "pcie": self._pcie(asked, handle, fields),
            "nvlink": self._nvlink(asked, handle, fields),
            "ecc": self._ecc(asked, handle),
            "mig_enabled": None if mig is None else divided,
            "mig_devices": list(self._slices(handle, index)) if divided else [],
            "processes": self._processes(asked, handle, leaves=divided),
        }

    def _clocks(self, asked: _Asked, handle: Any) -> Reading:
        kinds = (("sm", pynvml.NVML_CLOCK_SM), ("memory", pynvml.NVML_CLOCK_MEM))
        found: Reading = {}
        for name, kind in kinds:
            found[f"{name}_mhz"] = self._figure(asked, f"{name} clock", pynvml.nvmlDeviceGetClockInfo, handle, kind)
            found[f"{name}_max_mhz"] = self._figure(
                asked, f"highest {name} clock", pynvml.nvmlDeviceGetMaxClockInfo, handle, kind, keep=STATIC_SECONDS, quiet=True
            )
        return found

    def _pcie(self, asked: _Asked, handle: Any, fields: Reading) -> Reading | None:
        questions = (
            ("generation", pynvml.nvmlDeviceGetCurrPcieLinkGeneration, 2.0),
            ("max_generation", pynvml.nvmlDeviceGetMaxPcieLinkGeneration, STATIC_SECONDS),
            ("width", pynvml.nvmlDeviceGetCurrPcieLinkWidth, 2.0),
            ("max_width", pynvml.nvmlDeviceGetMaxPcieLinkWidth, STATIC_SECONDS),
        )
        found = {name: self._figure(asked, f"PCIe {name}", ask, handle, keep=keep, quiet=True) for name, ask, keep in questions}
        found |= {"received_bytes_per_second": fields.get(_PCIE_RECEIVED), "sent_bytes_per_second": fields.get(_PCIE_SENT)}
        return found if any(value is not None for value in found.values()) else None

    def _nvlink(self, asked: _Asked, handle: Any, fields: Reading) -> Reading | None:
        states = self._figure(asked, "NVLink", _link_states, handle, keep=SLOW_SECONDS, quiet=True)
        if not states:
            return None
        return {
            "links": len(states),
            "active_links": sum(states),
            "received_bytes_per_second": fields.get(_LINK_RECEIVED),
            "sent_bytes_per_second": fields.get(_LINK_SENT),
        }

    def _ecc(self, asked: _Asked, handle: Any) -> Reading | None:
        mode = self._figure(asked, "ECC", pynvml.nvmlDeviceGetEccMode, handle, keep=SLOW_SECONDS, quiet=True)
        if mode is None:
            return None
        if not mode[0]:
            return {"enabled": False}
        corrected, uncorrected = pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
        volatile, aggregate = pynvml.NVML_VOLATILE_ECC, pynvml.NVML_AGGREGATE_ECC

        def errors(what: str, error: int, counter: int) -> Any:
            return self._figure(asked, what, pynvml.nvmlDeviceGetTotalEccErrors, handle, error, counter, keep=SLOW_SECONDS)

        rows = self._figure(asked, "remapped rows", pynvml.nvmlDeviceGetRemappedRows, handle, keep=SLOW_SECONDS, quiet=True)
        return {
            "enabled": True,
            "corrected": errors("corrected memory errors", corrected, volatile),
            "uncorrected": errors("uncorrected memory errors", uncorrected, volatile),
            "uncorrected_in_all": errors("uncorrected memory errors in all", uncorrected, aggregate),
            "remapping_pending": None if rows is None else bool(rows[2]),
            "remapping_failed": None if rows is None else bool(rows[3]),
        }

    def _fields(self, handle: Any, index: int) -> Reading:
        """Bytes a second from NVML's counters, which cost nothing to read: the direct question takes 20 ms a direction."""
        ids = (
            (_PCIE_RECEIVED, pynvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES, 0, 1),
            (_PCIE_SENT, pynvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES, 0, 1),
            (_LINK_RECEIVED, pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, _ALL_LINKS, _KIB),
            (_LINK_SENT, pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, _ALL_LINKS, _KIB),
        )
        asked = self._asked_of(f"device {index}")
        values = self._figure(
            asked, "counters", pynvml.nvmlDeviceGetFieldValues, handle, [(number, scope) for _, number, scope, _ in ids], quiet=True
        )
        if values is None:
            return {}
        rates = self._rates.setdefault(f"device {index}", Rates())
        counters = {
            name: _field_number(value) * unit for (name, _, _, unit), value in zip(ids, values, strict=True) if value.nvmlReturn == 0
        }
        return dict(rates.take(counters, self._now))

    def _processes(self, asked: _Asked, handle: Any, *, leaves: bool = False) -> list[Reading] | None:
        found: list[Reading] = []
        told = False
        for kind, names in _PROCESS_QUESTIONS:
            processes = self._figure(asked, f"{kind} processes", _first_that_exists, names, handle, quiet=kind != "compute")
            if processes is None:
                continue
            told = True
            # Of a divided device each slice tells its own; what is in no slice stays here.
            found += [
                {"pid": int(each.pid), "kind": kind, "memory_bytes": each.usedGpuMemory}
                for each in processes
                if not leaves or getattr(each, "gpuInstanceId", _NO_ID) == _NO_ID
            ]
        return found if told else None

    def _slices(self, handle: Any, index: int) -> Iterator[Reading]:
        asked = self._asked_of(f"device {index}")
        most = self._figure(asked, "number of slices", pynvml.nvmlDeviceGetMaxMigDeviceCount, handle, keep=SLOW_SECONDS) or 0
        for number in range(int(most)):
            try:
                leaf = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
            except pynvml.NVMLError:
                continue  # No slice has this number: they need not follow each other.
            yield self._slice(leaf, number)

    def _slice(self, leaf: Any, number: int) -> Reading:
        named = self._ask(pynvml.nvmlDeviceGetUUID, leaf, keep=0.0)
        # By its uuid: another slice with this number is another device.
        own = self._asked_of(f"slice {named.value or number}")
        own.problems.clear()
        if named.code:
            own.problems["uuid"] = named
        name = self._figure(own, "name", pynvml.nvmlDeviceGetName, leaf, keep=SLOW_SECONDS)
        memory = self._figure(own, "memory", _memory, leaf)
        parts = self._figure(own, "size", pynvml.nvmlDeviceGetAttributes_v2, leaf, keep=SLOW_SECONDS, quiet=True)
        return {
            "index": number,
            "uuid": named.value,
            "name": name,
            "memory_used_bytes": None if memory is None else int(memory.used),
            "memory_total_bytes": None if memory is None else int(memory.total),
            "multiprocessors": None if parts is None else int(parts.multiprocessorCount),
            "gpu_instance": self._figure(own, "GPU instance", pynvml.nvmlDeviceGetGpuInstanceId, leaf, keep=SLOW_SECONDS, quiet=True),
            "compute_instance": self._figure(
                own, "compute instance", pynvml.nvmlDeviceGetComputeInstanceId, leaf, keep=SLOW_SECONDS, quiet=True
            ),
            "processes": self._processes(own, leaf),
            "notes": _notes(own),
        }


_PROCESS_QUESTIONS = (
    ("compute", ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")),
    ("graphics", ("nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2")),
)


def _first_that_exists(names: tuple[str, ...], *args: Any) -> Any:
    """Ask by the newest name that this driver has: each release knows the older ones too, but not the newer."""
    for name in names[:-1]:
        try:
            return getattr(pynvml, name)(*args)
        except pynvml.NVMLError as error:
            if error.value != FUNCTION_NOT_FOUND:
                raise
    return getattr(pynvml, names[-1])(*args)


def _memory(handle: Any) -> Any:
    """What programs have allocated, as nvidia-smi counts it; older drivers count what they reserve as used too."""
    try:
        return pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    except pynvml.NVMLError as error:
        if error.value != FUNCTION_NOT_FOUND:
            raise
    return pynvml.nvmlDeviceGetMemoryInfo(handle)


def _temperature(handle: Any) -> int:
    names = ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV")
    return int(_first_that_exists(names, handle, pynvml.NVML_TEMPERATURE_GPU))


def _reasons(handle: Any) -> int:
    return int(_first_that_exists(("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"), handle))


def _link_states(handle: Any) -> list[bool]:
    """Whether each link is up; a device refuses the number of a link that it does not have."""
    states: list[bool] = []
    for link in range(_MOST_LINKS):
        try:
            states.append(bool(pynvml.nvmlDeviceGetNvLinkState(handle, link)))
        except pynvml.NVMLError as error:
            if error.value in LOST_CODES:
                raise
            break
    return states


def _field_number(value: Any) -> float:
    """A field's value by its type (nvmlValueType_t)."""
    name = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}.get(value.valueType, "ullVal")
    return float(getattr(value.value, name))


def _told(error: Exception) -> str:
    try:
        return str(error)
    except (UnicodeDecodeError, OSError):
        return "an unknown error"


def _notes(asked: _Asked) -> list[str]:
    """What went wrong in this sample: one sentence for each kind of reason."""
    unsupported = [what for what, answer in asked.problems.items() if answer.code in {NOT_SUPPORTED, FUNCTION_NOT_FOUND}]
    forbidden = [what for what, answer in asked.problems.items() if answer.code == NO_PERMISSION]
    notes = [f"it does not tell its {listed(unsupported)}"] if unsupported else []
    if forbidden:
        notes.append(f"no permission to see its {listed(forbidden)}")
    rest = {what: answer for what, answer in asked.problems.items() if what not in {*unsupported, *forbidden}}
    return [*notes, *(f"{what}: {answer.words}" for what, answer in rest.items())]
