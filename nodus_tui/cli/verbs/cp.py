"""`cp`: the files that an agent made, listed or copied onto this machine."""

import asyncio
import sys
import time
from pathlib import Path

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import output_option
from nodus_tui.cli.output import emit, json_text, table_text
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.targets import JOB_WORDS, kind_of
from nodus_tui.cli.transfers import TransferDisplay, bytes_text
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.copying import FileSource, JobFiles, below, clean_path, copy, kept_path, pieces_of, plan_copy
from nodus_tui.text import safe_text

STDOUT = "-"


class SourceType(click.ParamType[tuple[str, str, str]]):
    """`RUN:PATH`, `job/NAME:PATH` or `tj/NAME:PATH`."""

    name = "source"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str, str]:
        """The kind, the name and the path, which is empty for everything."""
        if isinstance(value, tuple):
            return value
        named, colon, path = str(value).partition(":")
        word, slash, name = named.rpartition("/")
        kind = kind_of(word) if slash else "AgentRun"
        if not colon or not name or not name.isprintable() or kind not in {"AgentRun", *JOB_WORDS}:
            self.fail(f"{str(value)!r} names no file: write RUN:PATH, job/NAME:PATH or tj/NAME:PATH, or RUN: for everything", param, ctx)
        return kind, name, path


@click.command("cp")
@click.argument("source", type=SourceType(), metavar="RUN:[PATH]")
@click.argument("target", type=click.Path(path_type=Path, allow_dash=True), required=False)
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@output_option("table", "json")
def command(source: tuple[str, str, str], target: Path | None, output: str, *, force: bool, quiet: bool) -> int:
    """Copy a file or a folder that an agent or a job made to TARGET; without TARGET, list it. RUN: alone means everything.

    job/NAME:PATH (tj/NAME:PATH for a TrainingJob) is a kept output of a job that has ended; its sha256 is compared with the manifest.

    PATH starts in the agent's work folder: as it is while the run's sandbox lives, as it was kept afterwards. Like `cp -r`, it goes into a
    TARGET that is a folder, else under TARGET's name; - writes a file to standard output. Nothing is replaced without --force, nothing is
    written outside TARGET, and links are left out. A name with characters that a terminal obeys is saved with them made visible.
    """
    kind, name, path = source

    def files(backend: Backend) -> FileSource:
        return JobFiles(backend) if kind in JOB_WORDS else backend

    async def ask(backend: Backend) -> int:
        wanted = await kept_path(files(backend), name, path) if kind == "TrainingJob" else path
        if target is None:
            return await _list(files(backend), name, wanted, output)
        if str(target) == STDOUT:
            return await _write_out(files(backend), name, wanted)
        return await _copy(files(backend), name, wanted, target, output, force=force, quiet=quiet)

    return with_backend("look", ask)


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
