"""`cp`: the files that an agent made, listed or copied onto this machine; and files of this machine into a Sandbox."""

import asyncio
import sys
import time
from pathlib import Path

import click
from msgspec import Struct

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import output_option
from nodus_tui.cli.output import emit, json_text, table_text
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.targets import JOB_WORDS, kind_of
from nodus_tui.cli.transfers import LINE_SECONDS, TransferDisplay, bytes_text
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.copying import FileSource, JobFiles, SandboxFiles, below, clean_path, copy, kept_path, pieces_of, plan_copy
from nodus_tui.sandbox_commands.copying_in import copy_in
from nodus_tui.text import safe_text

STDOUT = "-"

_PLACES = "write RUN:PATH, job/NAME:PATH, tj/NAME:PATH or sandbox/NAME:PATH, or RUN: for everything"


class Place(Struct, frozen=True):
    """What one side of a copy names."""

    kind: str
    """Of what has the files; empty for a path of this machine."""
    name: str
    path: str
    """Empty for everything."""


class PlaceType(click.ParamType[Place]):
    """`RUN:PATH`, `job/NAME:PATH`, `tj/NAME:PATH` or `sandbox/NAME:PATH`, or a path of this machine."""

    name = "place"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Place:
        """The place. Only a name can stand before a colon, so that `./a:b` is a file of this machine."""
        if isinstance(value, Place):
            return value
        text = str(value)
        named, colon, path = text.partition(":")
        word, slash, name = named.rpartition("/")
        if not colon or named.startswith((".", "/", "~")):
            return Place("", "", text)
        kind = kind_of(word) if slash else "AgentRun"
        if not name or not name.isprintable() or kind not in {"AgentRun", "Sandbox", *JOB_WORDS}:
            self.fail(f"{text!r} names no file: {_PLACES}", param, ctx)
        return Place(kind, name, path)


@click.command("cp")
@click.argument("source", type=PlaceType(), metavar="RUN:[PATH]")
@click.argument("target", type=PlaceType(), metavar="[TARGET]", required=False)
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@output_option("table", "json")
def command(source: Place, target: Place | None, output: str, *, force: bool, quiet: bool) -> int:
    """Copy a file or a folder that an agent or a job made to TARGET; without TARGET, list it. RUN: alone means everything.

    job/NAME:PATH (tj/NAME:PATH for a TrainingJob) is a kept output of a job that has ended; its sha256 is compared with the manifest.
    sandbox/NAME:PATH is a file of a Sandbox, and with `cp FILE sandbox/NAME:PATH` a file or folder of this machine goes into one that runs.

    PATH starts in the work folder: as it is while the sandbox lives, as it was kept afterwards. Like `cp -r`, it goes into a
    TARGET that is a folder, else under TARGET's name; - writes a file to standard output. Nothing is replaced without --force, nothing is
    written outside TARGET, and links are left out. A name with characters that a terminal obeys is saved with them made visible.
    """
    if not source.kind:
        if target is None or target.kind != "Sandbox":
            raise click.UsageError(f"{source.path!r} is a path of this machine, and only a Sandbox takes such: {_PLACES}")
        into = target
        return with_backend("act", lambda backend: _copy_in(backend, Path(source.path), into, output, force=force, quiet=quiet))
    if target is not None and target.kind:
        raise click.UsageError("one side of a copy is on this machine: copy it here first")
    kind, name = source.kind, source.name

    def files(backend: Backend) -> FileSource:
        return JobFiles(backend) if kind in JOB_WORDS else SandboxFiles(backend) if kind == "Sandbox" else backend

    async def ask(backend: Backend) -> int:
        wanted = await kept_path(files(backend), name, source.path) if kind == "TrainingJob" else source.path
        if target is None:
            return await _list(files(backend), name, wanted, output)
        if target.path == STDOUT:
            return await _write_out(files(backend), name, wanted)
        return await _copy(files(backend), name, wanted, Path(target.path), output, force=force, quiet=quiet)

    return with_backend("look", ask)


async def _copy_in(backend: Backend, source: Path, into: Place, output: str, *, force: bool, quiet: bool) -> int:
    told = time.monotonic()

    def progress(size: int) -> None:
        nonlocal told
        if not quiet and time.monotonic() - told > LINE_SECONDS:
            told = time.monotonic()
            say(f"{bytes_text(size)} of {source}", prefix="")

    copied = await copy_in(backend, into.name, source, into.path, force=force, progress=progress)
    for sentence in copied.left_out:
        say(sentence)
    if output == "json":
        emit(json_text({"target": copied.target, "files": copied.files, "bytes": copied.size, "notes": list(copied.left_out)}))
        return Exit.DONE
    emit(safe_text(copied.target))
    say(f"{copied.files} file{'s' if copied.files != 1 else ''}, {bytes_text(copied.size)}")
    return Exit.DONE


async def _list(backend: FileSource, run: str, path: str, output: str) -> int:
    wanted = clean_path(path)
    found = below(await backend.files(run), wanted)
    if wanted and not found:
        raise NodusError(ErrorCode.NOT_FOUND, f'{run} has no file "{path}"; `nodus-tui cp {run}:` lists what it has')
    if output == "json":
        emit(json_text([each.to_document() for each in found]))
    elif found:
        emit(table_text(("SIZE", "KIND", "PATH"), [_row(each) for each in found], right=frozenset({"SIZE"})))
    else:
        say(f"{run} has no files")
    return Exit.DONE


def _row(entry: FileEntry) -> tuple[str, str, str]:
    size = f"{entry.size:,}" if entry.kind == "file" else "-"
    return size, "program" if entry.kind == "file" and entry.executable else entry.kind, entry.path


async def _write_out(backend: FileSource, run: str, path: str) -> int:
    if sys.stdout.isatty():
        raise click.UsageError("a file from a sandbox may hold anything, so it is not written to a terminal: redirect it, or name a TARGET")
    wanted = clean_path(path)
    if not wanted:
        raise click.UsageError("standard output takes one file: name it, as in RUN:answer.txt")
    async for piece in pieces_of(backend, run, wanted):
        try:
            await asyncio.to_thread(sys.stdout.buffer.write, piece)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise NodusError(ErrorCode.UNAVAILABLE, f"standard output cannot be written: {error.strerror or error}") from error
    sys.stdout.buffer.flush()
    return Exit.DONE


async def _copy(backend: FileSource, run: str, path: str, target: Path, output: str, *, force: bool, quiet: bool) -> int:
    plan = await plan_copy(backend, run, path, target)
    with TransferDisplay(plan, quiet=quiet, clock=time.monotonic) as display:
        copied = await copy(backend, run, plan, force=force, progress=display.progress)
    for sentence in plan.left_out:
        say(sentence)
    if output == "json":
        emit(json_text({"files": [str(each) for each in copied.paths], "bytes": copied.size, "notes": list(plan.left_out)}))
        return Exit.DONE
    for each in copied.paths:
        emit(safe_text(str(each)))
    count = len(copied.paths)
    say(f"{count} file{'s' if count != 1 else ''}, {bytes_text(copied.size)}")
    return Exit.DONE
