"""`gpus`: the machine that does the work, its accelerators and who uses them; once, or live on a terminal."""

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

import click
from pydantic import JsonValue

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import output_option
from nodus_tui.cli.output import emit, json_text, table_text
from nodus_tui.cli.session import opened, with_backend
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.hardware_view import DeviceHolder, GpuDevice, GpuProcess, HardwareView
from nodus_tui.text import safe_text
from nodus_tui.view_state.devices import holder_words
from nodus_tui.view_state.hardware_words import (
    UNKNOWN,
    degrees,
    device_words,
    gib_of,
    machine_words,
    percent,
    size_text,
    warnings_of,
    watts_of,
)

_TITLES = ("GPU", "NAME", "UTIL", "MEMORY", "TEMP", "POWER", "PROCESSES", "GIVEN TO")
_PROCESS_TITLES = ("GPU", "PID", "USER", "MEMORY", "RUN, JOB", "COMMAND")
_RIGHT = frozenset({"UTIL", "MEMORY", "TEMP", "POWER", "PROCESSES", "PID"})
_LIVE_SECONDS = 1.0
_AT_ONCE_SECONDS = 0.02
"""A look that takes longer is the first one in a while: to open a driver that no process keeps open can take seconds."""


@click.command("gpus")
@click.option("--once", is_flag=True, help="Print one sample and end; so it is anyway where stdout is no terminal.")
@click.option("--whole", is_flag=True, help="With -o json: everything, the machine and the driver included, as one object.")
@output_option("table", "json")
def command(output: str, *, once: bool, whole: bool) -> int:
    """The GPUs of the machine that does the work, the processes on them with their runs, and its CPU, memory, disk and network.

    On a terminal the figures are renewed once a second until Ctrl-C. `-o json` prints a list of the devices, once; a figure that a device
    does not tell is null, and its `notes` say why. A machine without a driver has none: an empty list, and the reason on stderr.
    """
    # Nothing can be drawn over on a dumb terminal.
    if output == "table" and not once and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in {"", "dumb", "unknown"}:
        return _live()

    if output == "table":
        with_backend("look", _show)
        return Exit.DONE

    async def ask(backend: Backend) -> HardwareView:
        return await backend.gpus()

    view = with_backend("look", ask)
    if whole:
        emit(json_text(view.to_document()))
    else:
        emit(json_text([_without_history(device) for device in view.devices]))
        for note in view.notes:
            say(note)
    return Exit.DONE


async def _show(backend: Backend) -> None:
    """Print at once what needs one look, and what needs two of them when it is there."""
    look = asyncio.ensure_future(backend.gpus(rates=False))
    if not (await asyncio.wait({look}, timeout=_AT_ONCE_SECONDS))[0]:
        say("looking at the machine; a first look opens its driver")
    view = await look
    first = _blocks_of_a_look(view)
    if first:
        emit(_text(first))
    if view.machine.cpu_percent is None:
        view = await backend.gpus()
    emit(("\n" if first else "") + _text(_blocks_of_two(view)))


def _without_history(device: GpuDevice) -> JsonValue:
    return {name: value for name, value in device.to_document().items() if name != "history"}


def _live() -> int:
    from rich.console import Console  # noqa: PLC0415 - loaded on a terminal only
    from rich.live import Live  # noqa: PLC0415 - loaded on a terminal only
    from rich.text import Text  # noqa: PLC0415 - loaded on a terminal only

    async def go_on() -> None:
        async with opened("look") as backend:
            console = Console(markup=False, highlight=False, emoji=False)
            with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
                while True:
                    text = view_text(await backend.gpus()) + "\n\nCtrl-C ends this."
                    live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)
                    await asyncio.sleep(_LIVE_SECONDS)

    try:
        asyncio.run(go_on())
    except KeyboardInterrupt:
        return Exit.DONE
    return Exit.DONE


def view_text(view: HardwareView) -> str:
    """Everything as text, for people; safe for a terminal."""
    return _text([*_blocks_of_a_look(view), *_blocks_of_two(view)])


def _text(blocks: Sequence[str]) -> str:
    return "\n\n".join(blocks)


def _blocks_of_a_look(view: HardwareView) -> list[str]:
    """What one look tells: notes, devices, processes."""
    blocks = []
    if view.notes:
        blocks.append(_lines(view.notes))
    if view.devices:
        blocks.append(table_text(_TITLES, [row for device in view.devices for row in _rows(device)], right=_RIGHT))
    processes = list(_process_rows(view))
    if processes:
        blocks.append(table_text(_PROCESS_TITLES, processes, right=_RIGHT))
    return blocks


def _blocks_of_two(view: HardwareView) -> list[str]:
    """What has amounts a second in it: what is to be said of each device, and the machine."""
    details = list(_details(view))
    machine = _lines([_machine_line(view), *(f"{view.machine.host}: {note}" for note in view.machine.notes)])
    return [_lines(details), machine] if details else [machine]


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(map(safe_text, lines))


def _machine_line(view: HardwareView) -> str:
    driver = f"driver {view.driver}, CUDA {view.cuda or UNKNOWN}; " if view.driver is not None else ""
    return f"{view.machine.host}: {driver}{'; '.join(machine_words(view.machine))}"


def _rows(device: GpuDevice) -> Iterator[tuple[str, ...]]:
    yield (
        str(device.index),
        (device.name or UNKNOWN) + ("" if device.responding else " (does not answer)"),
        percent(device.utilization_percent),
        gib_of(device.memory_used_bytes, device.memory_total_bytes),
        degrees(device.temperature_c),
        watts_of(device.power_w, device.power_limit_w),
        UNKNOWN if device.processes is None else str(len(device.processes)),
        _holders(device.holders),
    )
    for leaf in device.mig_devices:
        memory = gib_of(leaf.memory_used_bytes, leaf.memory_total_bytes)
        count = UNKNOWN if leaf.processes is None else str(len(leaf.processes))
        name = f"└ {leaf.name or leaf.uuid or UNKNOWN}"
        yield f"{device.index}:{leaf.index}", name, UNKNOWN, memory, UNKNOWN, UNKNOWN, count, _holders(leaf.holders)


def _holders(holders: Sequence[DeviceHolder]) -> str:
    return "; ".join(map(holder_words, holders)) or "-"


def _details(view: HardwareView) -> Iterator[str]:
    for device in view.devices:
        words = (*warnings_of(device), *device.notes, *(f"{leaf.name}: {note}" for leaf in device.mig_devices for note in leaf.notes))
        facts = device_words(device)
        if facts or words:
            yield f"GPU {device.index}: {'; '.join((*words, *facts))}"


def _process_rows(view: HardwareView) -> Iterator[tuple[str, ...]]:
    for device in view.devices:
        for process in device.processes or ():
            yield _process_row(str(device.index), process)
        for leaf in device.mig_devices:
            for process in leaf.processes or ():
                yield _process_row(f"{device.index}:{leaf.index}", process)


def _process_row(place: str, process: GpuProcess) -> tuple[str, ...]:
    owner = process.run or process.job or (f"sandbox {process.sandbox}" if process.sandbox else "-")
    return place, str(process.pid), process.user or UNKNOWN, size_text(process.memory_bytes), owner, process.command or UNKNOWN
