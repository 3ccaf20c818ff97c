"""Sandboxes on the command line: waiting until they are up, or have ended, and saying how they are entered."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import Any, Literal, cast

from nodus_tui.cli.exits import Exit, gravest
from nodus_tui.cli.failures import say
from nodus_tui.cli.output import csv_text, emit, json_text, resources_yaml, table_text
from nodus_tui.cli.rows import RIGHT, row_of, titles_of
from nodus_tui.cli.signals import stop_on_signals
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxStatus

_CAP_REASONS = frozenset({"MaxCostReached", "BudgetExceeded"})


def enter_words(name: str) -> str:
    """What to do with one that is there."""
    return f"`nodus-tui exec {name}` opens a shell in it, `nodus-tui kill sandbox/{name}` stops it"


async def wait_for_sandboxes(
    backend: Backend, names: Sequence[str], output: str, *, quiet: bool, timeout: timedelta | None, ended: bool = False
) -> Exit:
    """Wait until each runs or has ended, with `ended` until it has ended; print them. An interruption ends the waiting only."""
    with stop_on_signals(lambda _: None) as stop:
        asked = asyncio.ensure_future(stop.asked.wait())
        everything = asyncio.ensure_future(_all_there(backend, names, quiet=quiet, ended=ended))
        both: set[asyncio.Future[Any]] = {everything, asked}
        await asyncio.wait(both, timeout=None if timeout is None else timeout.total_seconds(), return_when=asyncio.FIRST_COMPLETED)
        up, interrupted = everything.done(), asked.done()
        for each in both:
            each.cancel()
        outcomes = await asyncio.gather(everything, asked, return_exceptions=True)
    if up and isinstance(outcomes[0], BaseException):
        raise outcomes[0]
    boxes = [await _box(backend, name) for name in names]
    _print(boxes, output)
    if not up:
        for name in names:
            say(f"{name} goes on all the same; `nodus-tui describe sandbox/{name}` says how it stands")
        return Exit.INTERRUPTED if interrupted else Exit.INFRASTRUCTURE
    return gravest(tuple(tell_box(box, wanted="ended" if ended else "up") for box in boxes))


async def _all_there(backend: Backend, names: Sequence[str], *, quiet: bool, ended: bool) -> None:
    cursor = (await backend.snapshot()).cursor
    waiting, told = set(names), dict.fromkeys(names, "")
    async with aclosing(cast("Any", backend.watch(after=cursor))) as batches:
        while True:
            for name in tuple(waiting):
                status = _status(await _box(backend, name))
                if status.ended or (status.phase == "Running" and not ended):
                    waiting.discard(name)
                elif status.message and status.message != told[name] and not quiet:
                    told[name] = status.message
                    say(f"{name}: {status.message}")
            if not waiting:
                return
            while not any(event.kind == "Sandbox" and event.name in waiting for event in (await anext(batches)).events):
                pass


def tell_box(box: Sandbox, *, wanted: Literal["up", "ended"]) -> Exit:
    """Say how one stands, and what that means for a pipeline: an end in order is none for who wanted it up."""
    status = _status(box)
    if status.phase == "Running":
        say(f"{box.name} runs; {enter_words(box.name)}")
        return Exit.DONE
    files = f"; `nodus-tui cp sandbox/{box.name}:` lists its files" if status.files_kept else ""
    say(f"{box.name} has ended ({status.message or status.reason or status.phase}){files}; `--as NAME` starts another one")
    if status.reason in _CAP_REASONS:
        return Exit.CAP
    in_order = Exit.DONE if wanted == "ended" else Exit.GATE
    return in_order if status.phase == "Stopped" else Exit.INFRASTRUCTURE


def _print(boxes: Sequence[Sandbox], output: str) -> None:
    titles = titles_of("Sandbox")
    if output == "json":
        documents = [each.to_document() for each in boxes]
        emit(json_text(documents[0] if len(documents) == 1 else list(documents)))
    elif output == "yaml":
        emit(resources_yaml(list(boxes)))
    elif output == "csv":
        emit(csv_text([dict(zip(titles, row_of(each), strict=True)) for each in boxes], titles))
    else:
        emit(table_text(titles, [row_of(each) for each in boxes], right=RIGHT))


def _status(box: Sandbox) -> SandboxStatus:
    if box.status is None:
        raise ValueError(f"the backend gave Sandbox {box.name} without a status")
    return box.status


async def _box(backend: Backend, name: str) -> Sandbox:
    found = await backend.get("Sandbox", name)
    if not isinstance(found, Sandbox):
        raise TypeError(f"the backend gave a {found.kind} for Sandbox {name}")
    return found
