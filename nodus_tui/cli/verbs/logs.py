"""`logs`: what a job wrote, and what it goes on to write."""

import re
import sys

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.jobs import copy_log
from nodus_tui.cli.log_writing import writer_to
from nodus_tui.cli.options import TargetType
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.targets import JOB_WORDS, kind_of
from nodus_tui.contract.backend import Backend

_LAST_BYTES = 1 << 20


@click.command("logs")
@click.argument("target", type=TargetType(), metavar="JOB")
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--tail", type=click.IntRange(min=0), metavar="LINES", help="Its last lines only (of the last MiB).")
def command(target: str, tail: int | None, *, follow: bool) -> int:
    """Print what a JOB wrote, its errors included, in the order in which it came. Ctrl-C ends the following; the job goes on.

    On a terminal, characters that it would obey are made visible, and a line that was written over, as progress bars are, is written over
    there, too; into a file or a pipe the text goes as it is.
    """
    word, slash, name = target.partition("/")
    if slash and kind_of(word) not in JOB_WORDS:
        raise click.UsageError(f"{target} is no job: only jobs have logs (a run has its transcript: `nodus-tui describe`)")
    wanted = name if slash else target
    write = writer_to(sys.stdout)

    async def ask(backend: Backend) -> int:
        after = 0
        if tail is not None:
            piece = await backend.job_log(wanted, after=-_LAST_BYTES, limit=_LAST_BYTES)
            # A line ends at its line feed alone: a progress bar that was written over a hundred times is one.
            lines = re.findall(r"[^\n]*\n|[^\n]+", piece.text)
            write("".join(lines[len(lines) - min(tail, len(lines)) :]))
            after = piece.next_offset
            if not follow:
                return Exit.DONE
        await copy_log(backend, wanted, write, after=after, follow=follow)
        return Exit.DONE

    try:
        return with_backend("look", ask)
    except KeyboardInterrupt:
        say("no longer following; the job goes on")
        return Exit.INTERRUPTED
