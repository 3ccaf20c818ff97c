"""`estimate`: what a group will cost at most and how long it takes, before it is launched."""

from decimal import Decimal, InvalidOperation
from typing import Any

import click
from click.core import ParameterSource

from nodus_tui.cli.failures import say
from nodus_tui.cli.options import FilesCommand, files_option, output_option
from nodus_tui.cli.output import emit, json_text, pairs_text, yaml_text
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.specs import load_files, only_asking, refused_sentences
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.money import display_usd
from nodus_tui.statistics.minutes_text import beside_minutes


class MinutesType(click.ParamType[Decimal]):
    """A number of minutes above zero."""

    name = "minutes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """The exact number."""
        try:
            minutes = Decimal(str(value))
        except InvalidOperation:
            minutes = Decimal(0)
        if not minutes.is_finite() or not 0 < minutes <= 1_000_000:
            self.fail(f"{value!r} is no number of minutes above zero", param, ctx)
        return minutes


@click.command("estimate", cls=FilesCommand)
@files_option()
@click.option("--minutes-per-case", type=MinutesType(), default="10", show_default=True, help="How long one case takes.")
@output_option("table", "json", "yaml")
def command(files: tuple[str, ...], minutes_per_case: Decimal, output: str) -> int:
    """What the groups of a spec will cost at most, and how long they take. A ceiling, not a forecast; nothing is launched.

    Of sandboxes, jobs and sweeps it gives the ceiling too.
    """
    with only_asking():
        bundle = load_files(files)

    async def ask(backend: Backend) -> tuple[tuple[Estimate | KindEstimate, ...], list[str]]:
        made = await backend.estimate(bundle, minutes_per_case=minutes_per_case)
        try:
            return made, refused_sentences(await backend.apply(bundle, dry_run=True))
        except NodusError:
            return made, []  # What is wrong with it otherwise is told by validate and apply; a ceiling holds all the same.

    with only_asking():
        estimates, refused = with_backend("look", ask)
    if not estimates:
        raise click.UsageError("there is nothing in these files that can cost money, so nothing to estimate")
    documents = [each.to_document() for each in estimates]
    if output == "json":
        emit(json_text(documents[0] if len(documents) == 1 else list(documents)))
    elif output == "yaml":
        emit(yaml_text(documents))
    else:
        assumed = click.get_current_context().get_parameter_source("minutes_per_case") is ParameterSource.DEFAULT
        emit("\n\n".join(estimate_text(each, assumed=assumed) if isinstance(each, Estimate) else kind_text(each) for each in estimates))
    for sentence in refused:
        say(sentence)
    return 0


def estimate_text(estimate: Estimate, *, assumed: bool) -> str:
    """One estimate for people; `assumed` when nobody has said how long a case takes."""
    room = "yes" if estimate.room_for_all else f"no: {estimate.cases_sure_to_start} of {estimate.cases} are sure to start"
    if estimate.every_run_waits:
        room += " under the group's cap, but none could make a call: each would wait at its own cap"
    half = "" if estimate.half_width95 is None else f"± {100 * estimate.half_width95:.1f} points at a pass rate of 50%"
    timeout = ""
    if estimate.timeout_minutes is not None:
        timeout = f"{_minutes(estimate.timeout_minutes)}, " + ("enough at this pace" if estimate.fits_timeout else "too short at this pace")
    return pairs_text(
        [
            ("Group", estimate.group + (" (simulated)" if estimate.simulated else "")),
            ("Agent", f"{estimate.agent}, {display_usd(estimate.per_run_cap_usd)} a run at most"),
            ("Cases", str(estimate.cases)),
            ("Model ceiling", f"{display_usd(estimate.model_ceiling_usd)}, under a group cap of {display_usd(estimate.cap_usd)}"),
            ("Room for all", room),
            *_sandbox_pairs(estimate),
            ("Wall clock", f"{_minutes(estimate.wall_clock_minutes)} {_pace(estimate, assumed=assumed)}"),
            (
                "By maxActive",
                ", ".join(f"{active}: {number(minutes)} min" for active, minutes in estimate.wall_clock_by_max_active.items()),
            ),
            ("Timeout", timeout),
            ("95% interval", half),
            ("Note", "\n".join(estimate.notes)),
        ]
    )


def _sandbox_pairs(estimate: Estimate) -> list[tuple[str, str]]:
    if not estimate.sandboxed:
        return [("Sandboxes", "none: the agent has no tools, so its runs start none")]
    return [
        ("Sandbox time", f"{number(estimate.sandbox_minutes)} min at {number(estimate.minutes_per_case)} min a case"),
        ("Sandbox cost", "\n".join(f"{display_usd(amount)} on {hardware}" for hardware, amount in estimate.sandbox_usd.items())),
    ]


def _pace(estimate: Estimate, *, assumed: bool) -> str:
    return f"at {number(estimate.minutes_per_case)} min a case" + (", assumed: --minutes-per-case says otherwise" if assumed else "")


def _minutes(minutes: Decimal) -> str:
    return f"{number(minutes)} min{beside_minutes(minutes)}"


def kind_text(estimate: KindEstimate) -> str:
    """The estimate of another kind."""
    longest = "" if estimate.longest_seconds is None else _minutes(estimate.longest_seconds / 60)
    speeds = "\n".join(
        f"{number(seconds)} s on {hardware}"
        + (f", {display_usd(estimate.usd_by_hardware[hardware])}" if hardware in estimate.usd_by_hardware else "")
        for hardware, seconds in estimate.seconds_by_hardware.items()
    )
    cells = "" if estimate.cells is None else f"{estimate.cells}, {estimate.cells_sure_to_start} sure to start"
    return pairs_text(
        [
            (estimate.kind, estimate.name),
            ("Ceiling", f"{display_usd(estimate.ceiling_usd)}, under a cap of {display_usd(estimate.cap_usd)}"),
            ("Longest", longest),
            ("Cells", cells),
            ("Tasks", "" if estimate.tasks is None else f"{estimate.tasks:,}"),
            ("Time", speeds),
            ("Note", "\n".join(estimate.notes)),
        ]
    )


def number(value: Decimal) -> str:
    """A figure without needless zeros, thousands parted."""
    text = f"{value:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
