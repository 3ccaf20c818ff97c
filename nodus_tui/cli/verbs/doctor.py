"""`doctor`: is this machine ready, and what to do where it is not."""

import click

from nodus_tui.cli.checks import Check, Level, local_checks
from nodus_tui.cli.checks_backend import backend_checks
from nodus_tui.cli.exits import Exit
from nodus_tui.cli.options import output_option
from nodus_tui.cli.output import emit, json_text
from nodus_tui.contract.sandboxes import SandboxEngineFact
from nodus_tui.text import safe_text


@click.command("doctor")
@output_option("table", "json")
def command(output: str) -> int:
    """Check Python, the workspace, the configuration file, models and prices, sandboxes, and this terminal. Exit 4 when something fails.

    The engine for sandboxes is tried with a real one. -o json gives an object: `checks`, and `sandbox` with engine, version, isolation and
    reason.
    """
    found = backend_checks()
    checks = [*local_checks(), *found.checks]
    if output == "json":
        sandbox = found.sandbox or SandboxEngineFact(engine="none", isolation="none", reason="the backend told of no engine for sandboxes")
        emit(json_text({"checks": [check.to_document() for check in checks], "sandbox": sandbox.to_document()}))
    else:
        emit("\n".join(check_text(check) for check in checks))
    return Exit.INFRASTRUCTURE if any(check.level is Level.FAIL for check in checks) else Exit.DONE


def check_text(check: Check) -> str:
    """One line; what to do stands under it."""
    line = f"{check.level.value:<4}  {safe_text(check.check)}: {safe_text(check.message)}"
    return line + (f"\n      → {safe_text(check.remedy)}" if check.remedy else "")
