"""`exec`: a command, or a shell, in a Sandbox that runs."""

import os
import re
import signal

import click
from pydantic import ValidationError

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import TargetType
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.targets import kind_of
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.sandbox_exec import SHELL, ExecEnd, ExecRequest
from nodus_tui.sandbox_commands.here import run_here
from nodus_tui.sandbox_commands.streams import is_terminal, terminal_shape

_TERMINAL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]{0,63}")
_CAP_REASONS = frozenset({"MaxCostReached", "BudgetExceeded"})
_NOBODY_READS = 128 + signal.SIGPIPE
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


class VariableType(click.ParamType[tuple[str, str]]):
    """`NAME=VALUE`."""

    name = "variable"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Name and value."""
        if isinstance(value, tuple):
            return value
        found = _VARIABLE.fullmatch(str(value))
        if found is None:
            self.fail(f"{str(value)!r} is no variable: write NAME=VALUE", param, ctx)
        return found[1], found[2]


class ExecCommand(click.Command):
    """Takes options before the sandbox's name and right after it; the command begins after them, or after `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, with the options that stand right after the name put before it."""
        before = self._options_of(args)
        name, rest = args[before : before + 1], args[before + 1 :]
        after = self._options_of(rest)
        if name and name != ["--"] and after:
            args = [*args[:before], *rest[:after], "--", *name, *rest[after:]]
        return super().parse_args(ctx, args)

    def _options_of(self, args: list[str]) -> int:
        """How many words from the first on are options with their values."""
        valued = {opt for each in self.params if isinstance(each, click.Option) and not each.is_flag for opt in each.opts}
        place = 0
        while place < len(args) and args[place].startswith("-") and args[place] not in {"-", "--"}:
            word = args[place]
            if word.startswith("--"):
                place += 2 if word in valued else 1
                continue
            # Of several in one word only the last takes a value, in the same word or in the next one.
            taking = next((at for at, letter in enumerate(word[1:], start=1) if f"-{letter}" in valued), None)
            place += 2 if taking is not None and taking == len(word) - 1 else 1
        return min(place, len(args))


@click.command("exec", cls=ExecCommand, context_settings={"allow_interspersed_args": False})
@click.option("-t", "--tty/--no-tty", "tty", default=None, help="A terminal of its own; the default for a shell on a terminal.")
@click.option(
    "-i", "--interactive", is_flag=True, expose_value=False, help="Standard input goes in. It does in any case; the flag is for the habit."
)
@click.option("--user", type=click.Choice(["agent", "root"]), default="agent", show_default=True, help="Who runs it.")
@click.option("-w", "--workdir", metavar="PATH", help="Where it runs; by default in the sandbox's work folder.")
@click.option("-e", "--env", "variables", type=VariableType(), multiple=True, metavar="NAME=VALUE", help="A variable for it.")
@click.argument("target", type=TargetType(), metavar="SANDBOX")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def command(
    target: str,
    words: tuple[str, ...],
    user: str,
    workdir: str | None,
    variables: tuple[tuple[str, str], ...],
    *,
    tty: bool | None,
) -> int:
    """Run COMMAND in a SANDBOX that runs, with this command's own standard streams, and leave with its exit code.

    Without COMMAND it is a shell: on a terminal an interactive one, with keys, Ctrl-C among them, going inside. Then what comes out is
    obeyed by your terminal, as with every shell on another machine. Without a terminal of its own a command's output is made harmless
    where it goes to a terminal, and passes unchanged into a file or a pipe.

    Ctrl-C sends SIGINT to a command without a terminal; the third one kills it.
    """
    word, slash, name = target.partition("/")
    if slash and kind_of(word) != "Sandbox":
        raise click.UsageError(f"{target} is no Sandbox: commands are run in those only (`nodus-tui get sandboxes`)")
    given = words[1:] if words[:1] == ("--",) else words
    on_terminal = is_terminal(0) and is_terminal(1)
    if tty and not on_terminal:
        raise click.UsageError("--tty needs a terminal for standard input and output: leave it out")
    lent = on_terminal and not given if tty is None else tty
    asked = {
        "command": given or SHELL,
        "user": user,
        "workdir": workdir,
        "env": {**({"TERM": _terminal_name()} if lent else {}), **dict(variables)},
        "terminal": terminal_shape() if lent else None,
    }
    try:
        request = ExecRequest.model_validate(asked)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise click.UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None

    async def ask(backend: Backend) -> int:
        return _exit_code(await run_here(backend, name if slash else target, request))

    return with_backend("act", ask)


def _exit_code(end: ExecEnd | None) -> int:
    """The command's own; where its sandbox ended with it, ours."""
    if end is None:
        return _NOBODY_READS
    if end.exit_code is None or end.message:
        say(end.message or "the sandbox ended, and the command with it")
    if end.exit_code is not None:
        return end.exit_code
    return Exit.CAP if end.reason in _CAP_REASONS else Exit.INFRASTRUCTURE


def _terminal_name() -> str:
    name = os.environ.get("TERM", "")
    return name if _TERMINAL_NAME.fullmatch(name) else "xterm"
