"""`doctor`: is this machine ready, and what to do where it is not."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

import click

from nodus_tui.cli.checks import Check, Level, client_checks, local_checks
from nodus_tui.cli.checks_backend import backend_checks, model_check, model_checks, remote_checks
from nodus_tui.cli.exits import Exit
from nodus_tui.cli.options import output_option
from nodus_tui.cli.output import emit, json_text
from nodus_tui.connect import chosen_way
from nodus_tui.contract.sandboxes import SandboxEngineFact
from nodus_tui.text import safe_text

_INDENT = "      "
_MIN_WIDTH = 40


@click.command("doctor")
@output_option("table", "json")
def command(output: str) -> int:
    """Check Python, the workspace, the configuration file, models and prices, sandboxes, and this terminal. Exit 4 when something fails.

    The engine for sandboxes is tried with a real one. With --connect it is the machine of that API that is checked, and of this one only
    what a client needs. -o json gives an object: `checks`, and `sandbox` with engine, version, isolation and reason.
    """
    url = chosen_way().url
    here = client_checks() if url else local_checks()
    found = remote_checks() if url else backend_checks()
    where = "there" if url else "here"
    if output == "json":
        models = [model_check(model).model_copy(update={"where": where}) for model in found.models]
        sandbox = found.sandbox or SandboxEngineFact(engine="none", isolation="none", reason="the backend told of no engine for sandboxes")
        checks = [*here, *found.checks, *models]
        emit(json_text({"checks": [check.to_document() for check in checks], "sandbox": sandbox.to_document()}))
    else:
        there = [*found.checks, *model_checks(found.models)]
        checks = [*here, *there]
        width = max(_MIN_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else None
        parts = (("On this machine", here), (f"There, at {url}", there)) if url else (("", checks),)
        emit("\n".join(line for title, some in parts for line in _part(title, some, width)))
    return Exit.INFRASTRUCTURE if any(check.level is Level.FAIL for check in checks) else Exit.DONE


def _part(title: str, checks: Sequence[Check], width: int | None) -> Iterable[str]:
    if title:
        yield safe_text(title)
    for check in checks:
        yield from check_lines(check, width)


def check_lines(check: Check, width: int | None) -> Iterable[str]:
    """A check, what to do under it; in lines of a terminal's width, or unbroken for a pipe."""
    said = [(f"{check.level.value:<4}  ", f"{safe_text(check.check)}: {safe_text(check.message)}")]
    said += [(f"{_INDENT}→ ", safe_text(check.remedy))] if check.remedy else []
    for start, text in said:
        if width is None:
            yield start + text
        else:
            later = " " * len(start)
            # Paths and addresses stay whole: a person copies them.
            yield from textwrap.wrap(
                text, width, initial_indent=start, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
            )
