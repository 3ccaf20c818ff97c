"""Accelerators in words: what is asked for, what was given, by whom a device is held, and until when somebody waits. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from nodus_tui.contract.hardware_view import DeviceHolder
from nodus_tui.contract.phases import UntilKind
from nodus_tui.contract.resources.agent import AgentSandbox
from nodus_tui.contract.resources.hardware import MachineSlice
from nodus_tui.view_state.figures import clock_text

_KINDS = {"Job": "job", "TrainingJob": "job", "AgentRun": "run", "Sandbox": "sandbox"}


def until_words(time: str, kind: UntilKind) -> str:
    """`until 14:20`, `until about 14:20`, `until 14:20 at the latest`."""
    if kind == "About":
        return f"until about {time}"
    return f"until {time}" + (" at the latest" if kind == "AtLatest" else "")


def waiting_words(message: str, until: datetime | None, kind: UntilKind, now: datetime) -> str:
    """What somebody waits for, and until when by the clock of `now`'s zone."""
    return message if until is None else f"{message}, {until_text(until, kind, now)}"


def until_text(until: datetime, kind: UntilKind, now: datetime) -> str:
    """The end of a wait by the clock of `now`'s zone; what is not known to the second is told to the minute that is not too early."""
    if kind == "Exact":
        return until_words(clock_text(until, now), kind)
    return until_words(clock_text(until + timedelta(seconds=59, microseconds=999_999), now, seconds=False), kind)


def hardware_words(part: MachineSlice | AgentSandbox) -> str:
    """`2 × H100, 60 GiB each, shared`; `CPU` where no device is asked for."""
    count = max(1, part.accelerators)
    if part.hardware == "CPU":
        return "CPU"
    memory = f", {part.accelerator_memory_gib:g} GiB{' each' if count > 1 else ''}" if part.accelerator_memory_gib is not None else ""
    return (f"{count} × " if count > 1 else "") + part.hardware + memory + (", shared" if part.share_accelerators else "")


def given_words(hardware: str, names: Sequence[str]) -> str:
    """In few letters what was given: `GPU 0, 1 (H100)`; nothing where nothing was."""
    places = ", ".join(name.partition(" ")[0] for name in names)
    return f"GPU {places} ({hardware})" if names else ""


def holder_words(holder: DeviceHolder) -> str:
    """`job train`, `run hello-c003, shared`."""
    return f"{_KINDS.get(holder.kind, holder.kind)} {holder.name}" + (", shared" if holder.shared else "")


def holders_words(holders: Sequence[DeviceHolder], now: datetime) -> str:
    """Who was given a device, each with the time at which it gives it back, as far as that is known."""
    told = []
    for holder in holders:
        until = "" if holder.until is None else f" {until_text(holder.until, holder.until_kind, now)}"
        told.append(holder_words(holder) + until)
    return "; ".join(told)
