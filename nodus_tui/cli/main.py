"""The console script. It knows the verbs by name, loads a verb's module when it is called, and turns every error into a sentence."""

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Sequence

import click

from nodus_tui import __version__
from nodus_tui.cli.no_plugins import without_plugins

VERBS: dict[str, tuple[str, str]] = {
    "run": ("run", "Launch what a spec has to run, wait, and print its results."),
    "apply": ("apply", "Create or change the resources of a spec, all or none."),
    "validate": ("validate", "Check specs and show every fault with its line."),
    "diff": ("diff", "What applying a spec would change; exit 1 where anything would."),
    "estimate": ("estimate", "What a group will cost at most, and how long it takes."),
    "get": ("get", "List resources, or show one."),
    "describe": ("describe", "One resource in detail; a run with its transcript."),
    "cp": ("cp", "Copy files out of runs, jobs and sandboxes, or into a sandbox."),
    "exec": ("exec", "A command, or a shell, in a sandbox that runs."),
    "logs": ("logs", "What a job wrote, and goes on to write."),
    "results": ("results", "Verdicts, pass rate with its error, coverage, cost."),
    "compare": ("compare", "Groups, or the variants of a sweep, task by task."),
    "wait": ("wait", "Wait until a group, a job or a sweep has ended, or stands stalled."),
    "watch": ("watch", "How things stand and what changes, a line each."),
    "kill": ("kill", "End a run, a job, a sandbox, a group with its runs, or a sweep."),
    "extend-cap": ("extend_cap", "Give work a higher cap, or a budget a higher limit."),
    "retry": ("retry", "Run the cases again that ended unscored."),
    "pause": ("pause", "Let no further cell of a sweep start."),
    "resume": ("resume", "Let an interrupted group or a paused sweep go on."),
    "delete": ("delete", "Remove resources that nothing unfinished needs."),
    "environment": ("environment", "Task sets and graders: list, and the gold check of one."),
    "sandboxes": ("sandboxes", "Those that run: list, and remove what was left behind."),
    "queue": ("queue", "Who waits for what and until when; a group's timeline."),
    "gpus": ("gpus", "The machine's GPUs and who uses them, once or live."),
    "evaluate": ("evaluate", "The environment in which TrainingJobs score models."),
    "keys": ("keys", "The console's keys, with those of your configuration."),
    "schema": ("schema", "JSON Schema of a kind, for editors and checks."),
    "scheduler": ("scheduler", "The process that does the work: status, start, stop, logs."),
    "record": ("record", "Write down what the workspace does, for a replay."),
    "replay": ("replay", "Show a recording again, in the console or as text."),
    "serve": ("serve", "Let other machines look and act: the API over TCP."),
    "web": ("web", "Show the console in browsers: a team's wall."),
    "token": ("token", "Create, list and revoke the tokens of that API."),
    "doctor": ("doctor", "Check this machine, the workspace and the models."),
    "demo": ("demo", "See two campaigns at work, one of them real."),
}
"""Verb → its module in `verbs`, and its line in the help: listing them loads none of them."""


GARBAGE_AFTER = 100_000
"""New objects after which Python looks for garbage: more than a verb makes. What it imports stays, and looking through that is a tenth of
its time."""

_WITH_CONSOLE = frozenset({None, "demo", "replay"})
"""What opens a console."""


class VerbGroup(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The verbs, in the order of use."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The verb's command, or None for an unknown verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"nodus_tui.cli.verbs.{VERBS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with the nearest verb where there is none of that name."""
        verb = args[0]
        if not verb.startswith("-") and verb not in VERBS:
            from nodus_tui.cli.near_verbs import meant_by  # noqa: PLC0415 - needed for a misspelt verb only

            meant = meant_by(verb, VERBS)
            hint = f"; did you mean `nodus-tui {meant}`?" if meant else ""
            ctx.fail(f"there is no verb {verb!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The list of verbs in the help."""
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, line) for verb, (_, line) in VERBS.items()])


@click.group(cls=VerbGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="nodus-tui %(version)s")
@click.option("--in-process", is_flag=True, help="Do the work in this process, for as long as it runs (NODUS_IN_PROCESS=1).")
@click.option("--connect", "url", metavar="URL", help="Ask the API at this URL (NODUS_URL), with the token of NODUS_TOKEN.")
@click.option("--theme", metavar="NAME", default="", help="The console's colours, this time; `t` in the console lists and keeps them.")
@click.option("--ascii", "only_ascii", is_flag=True, help="The console draws nothing but ASCII.")
@click.option("--no-mouse", is_flag=True, help="The console leaves the mouse to the terminal.")
@click.option(
    "--at", metavar="VIEW", default="", help="Where the console begins: a view, group/NAME or sweep/NAME; else where it was left."
)
@click.option("--record", "record_to", type=click.Path(dir_okay=False), metavar="FILE", help="The console writes down what it shows.")
@click.pass_context
def cli(
    ctx: click.Context, url: str | None, record_to: str | None, theme: str, at: str, *, in_process: bool, only_ascii: bool, no_mouse: bool
) -> None:
    """The console for agent eval campaigns: launch, watch, cap, and read verdicts with their error bars.

    Without a verb it opens the full-screen console. NODUS_HOME names the state folder, NODUS_CONFIG the configuration file.
    """
    if in_process and url:
        raise click.UsageError("--in-process and --connect are two different ways: choose one")
    from nodus_tui.connect import Way, choose_way  # noqa: PLC0415 - the help and the version need no backend
    from nodus_tui.wishes import Wishes, wish  # noqa: PLC0415 - nor looks

    choose_way(Way(in_process=in_process, url=url or ""))
    wishes = Wishes(theme=theme, mouse=not no_mouse, ascii=only_ascii)
    if wishes and ctx.invoked_subcommand not in _WITH_CONSOLE:
        raise click.UsageError(f"--theme, --ascii and --no-mouse are for the console; {ctx.invoked_subcommand} opens none")
    wish(wishes)
    if ctx.invoked_subcommand is None:
        from nodus_tui.cli.console import open_console  # noqa: PLC0415 - the console is imported only when it is opened

        ctx.exit(open_console(record_to=record_to, at=at))
    if at:
        raise click.UsageError("--at belongs to the console; `nodus-tui web --view VIEW` says it for a browser")
    if record_to is not None:
        raise click.UsageError("--record belongs to the console; `nodus-tui record FILE` records without one")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code (docs/cli.md). Never shows a traceback unless NODUS_DEBUG is 1."""
    gc.set_threshold(GARBAGE_AFTER)
    # At its end Python looks through all that lives once more: a sixth of a verb's time, for memory that the system takes back anyway.
    atexit.register(gc.freeze)
    without_plugins()
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # Closed by the caller. Something harmless takes its number, or the next file that is opened would get what is printed.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # A terminal without UTF-8 shows an escape in place of a character that it lacks.
            reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    sys.exit(_answer(arguments))


def _answer(arguments: list[str]) -> int | None:
    try:
        code: int | None = _code(cli.main(arguments, prog_name="nodus-tui", standalone_mode=False))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _told(click.Abort())
    except Exception as error:
        code = _told(error)
        if code is None:
            raise
    return code


def _told(error: Exception) -> int | None:
    """The exit code of an error that was told; None for one that is to be raised."""
    from nodus_tui.cli.failures import report  # noqa: PLC0415 - needed when something fails only

    return report(error)


def _code(value: object) -> int:
    return value if isinstance(value, int) else 0
