"""Options that several verbs share."""

import shlex
import sys
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any, Protocol, TypeVar

import click

from nodus_tui.contract.durations import parse_duration
from nodus_tui.contract.money import parse_usd

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Decorator(Protocol):
    """What an option is until it meets its function."""

    def __call__(self, function: Decorated, /) -> Decorated:
        """The function with the option."""
        ...


class TargetType(click.ParamType[str]):
    """A name, with or without its kind."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text, which nothing but its characters can make wrong here: whether something has that name is the backend's answer."""
        text = str(value)
        if not text.isprintable():
            self.fail("a name has no control characters, and no bytes that are not UTF-8", param, ctx)
        return text


class DurationType(click.ParamType[timedelta]):
    """A duration such as `90s` or `10m`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """The span of time."""
        if isinstance(value, timedelta):
            return value
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class AmountType(click.ParamType[Decimal]):
    """An amount of US dollars, with or without its sign."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """The exact amount, above zero."""
        if isinstance(value, Decimal):
            return value
        try:
            amount = parse_usd(str(value).removeprefix("$"))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if amount <= 0:
            self.fail("the amount must be above zero", param, ctx)
        return amount


class ShareType(click.ParamType[float]):
    """A share such as `0.8` or `80%`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """0 to 1."""
        text = str(value)
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            self.fail(f"{text!r} is no share; write 0.8 or 80%", param, ctx)
        if not 0 <= share <= 1:
            self.fail(f"{text} is not between 0 and 1 (or 0% and 100%)", param, ctx)
        return share


def output_option(*formats: str, default: str | None = None) -> Decorator:
    """`-o FORMAT`, and `--json` for short. The first format is the default."""

    def decorate(function: Decorated) -> Decorated:
        chosen = click.option(
            "-o", "--output", type=click.Choice(formats), default=default or formats[0], show_default=True, help="Format on stdout."
        )
        short = click.option("--json", "output", flag_value="json", help="Short for -o json.")
        return chosen(short(function))

    return decorate


class FilesCommand(click.Command):
    """A verb that takes spec files with `-f` and nothing else: who leaves that out reads what to type."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it; a refusal names the files that stand there without `-f`."""
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            _, alone, _ = self.make_parser(ctx).parse_args(typed)
            if alone:
                meant = " ".join(f"-f {shlex.quote(file)}" for file in alone)
                raise click.UsageError(f"spec files are given with -f: say `{meant}`", ctx) from error
            raise


def files_option(*, required: bool = True) -> Decorator:
    """`-f FILE`, as often as needed."""
    return click.option(
        "-f",
        "--file",
        "files",
        multiple=True,
        required=required,
        metavar="FILE",
        help="A spec file, a directory of them, or - for standard input. May be given several times.",
    )


def why_option() -> Decorator:
    """`--why TEXT`."""
    return click.option("--why", default="", metavar="TEXT", help="Your reason; it is kept with the action.")


def yes_option() -> Decorator:
    """`--yes`."""
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")


def confirm(question: str, *, yes: bool) -> None:
    """Go on only with a clear yes. Raises UsageError without a terminal to ask on, Abort on a no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} There is no terminal to ask on: say --yes")
    click.confirm(question, default=False, abort=True, err=True)


def gate_options(function: Decorated) -> Decorated:
    """`--min-pass-rate` and `--min-coverage`."""
    rate = click.option("--min-pass-rate", type=ShareType(), metavar="SHARE", help="Exit 1 when the pass rate is below it (0.8 or 80%).")
    coverage = click.option(
        "--min-coverage",
        type=ShareType(),
        metavar="SHARE",
        help="Share of cases that must be scored; unscored cases within it are then no failure. Without it every case must be scored.",
    )
    return rate(coverage(function))
