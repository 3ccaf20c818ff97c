"""`web`: the console in browsers, for a team's wall; read-only unless it is told otherwise."""

import asyncio
import hmac
import ipaddress
import logging
import re
import secrets
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.logs import log_to_file
from nodus_tui.cli.session import opened
from nodus_tui.cli.verbs.serve import ListenType
from nodus_tui.connect import chosen_way, home_path, hosting
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.meta import NAME_PATTERN
from nodus_tui.view_state.views import destination, destinations
from nodus_tui.web.access import Identify, Visitor

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_log = logging.getLogger(__name__)
_LINK = "link"
"""The name of whoever comes with the key that was printed."""


@click.command("web")
@click.option(
    "--listen", type=ListenType(), default="127.0.0.1:8900", show_default=True, metavar="HOST:PORT", help="Where; port 0 takes a free one."
)
@click.option("--view", default="campaigns", show_default=True, metavar="NAME", help="The view to open at, or group/NAME.")
@click.option("--operator", is_flag=True, help="Whoever has an operator's token (`nodus-tui token create`) may act.")
@click.option("--most", type=click.IntRange(min=1, max=1000), default=8, show_default=True, help="Consoles at once.")
@click.option("--tls-cert", type=_FILE, metavar="FILE", help="PEM file with the certificate and its chain.")
@click.option("--tls-key", type=_FILE, metavar="FILE", help="PEM file with its key.")
@click.option("--behind-proxy", is_flag=True, help="Somebody else speaks TLS in front of it: allows plain HTTP beyond this machine.")
@click.option("--host", "names", multiple=True, metavar="NAME", help="A further name by which browsers call this server. May be repeated.")
def command(
    listen: tuple[str, int],
    view: str,
    most: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    names: tuple[str, ...],
    *,
    operator: bool,
    behind_proxy: bool,
) -> int:
    """Show the console in browsers until Ctrl-C: for a wall, or for who has no terminal. They look on; nobody can change anything, unless
    --operator is said and they bring an operator's token.

    The address that is printed holds a key for looking, which is new each time; a viewer's token opens the page as well. An address
    beyond this machine needs --tls-cert and --tls-key, or --behind-proxy.
    """
    if find_spec("textual_serve") is None:
        raise click.UsageError("the console in browsers needs textual-serve: pip install 'nodus-tui[web]'")
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key belong together")
    if not behind_proxy and tls_cert is None and not _loopback(listen[0]):
        raise click.UsageError(
            f"{listen[0]} is beyond this machine, and keys would go there in the clear: "
            "give --tls-cert and --tls-key, or --behind-proxy where somebody else speaks TLS"
        )
    if not known_view(view):
        raise click.UsageError(f"there is no view {view!r}: {', '.join(each.view.value for each in destinations())}, or group/NAME")
    if operator and chosen_way().url:
        raise click.UsageError("--operator is for this machine's workspace, whose tokens say who acts: leave out --connect")
    log_to_file()
    logging.getLogger("nodus_tui.web").setLevel(logging.INFO)
    return asyncio.run(_serve(listen, view, most, tls_cert, tls_key, frozenset(name.lower() for name in names), operator=operator))


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def known_view(name: str) -> bool:
    """Whether a console can be opened at it: a view's name, or `group/` and the name of a group, which need not be there (yet)."""
    kind, slash, group = name.partition("/")
    if slash:
        return kind == "group" and re.fullmatch(NAME_PATTERN, group) is not None
    return destination(name) is not None


def identifier(link: str, *, operator: bool) -> Identify:
    """Who has which key: the one that was printed, or a token of the workspace. Acting needs both an operator's token and the word."""

    def identify(key: str) -> Visitor | None:
        if hmac.compare_digest(key.encode(), link.encode()):
            return Visitor(_LINK, "viewer")
        try:
            fact = hosting().token_of(home_path(), key) if key else None
        except NodusError as error:
            _log.warning("%s", error.detail)
            fact = None
        if fact is None:
            return None
        return Visitor(fact.name, "operator" if operator and fact.role == "operator" else "viewer")

    return identify


def way_environment(*, in_process: bool, url: str) -> dict[str, str]:
    """The variables by which the consoles go the way that the command line of this one says."""
    return {**({"NODUS_URL": url} if url else {}), **({"NODUS_IN_PROCESS": "1"} if in_process else {})}


async def _serve(
    listen: tuple[str, int],
    view: str,
    most: int,
    certificate: Path | None,
    key: Path | None,
    names: frozenset[str],
    *,
    operator: bool,
) -> int:
    from nodus_tui.web.server import WebOptions, serving_consoles  # noqa: PLC0415 - the web server is loaded only here

    if operator and not any(token.role == "operator" for token in hosting().tokens(home_path())):
        say("nobody has an operator's token yet, so nobody can act: `nodus-tui token create NAME --role operator`")
    # What no console could reach is told here, and not in every browser.
    async with opened("order" if operator else "look"):
        pass
    way, link = chosen_way(), secrets.token_urlsafe(32)
    options = WebOptions(
        host=listen[0],
        port=listen[1],
        identify=identifier(link, operator=operator),
        command=lambda visitor, place: (sys.executable, "-m", "nodus_tui.cli.browser_console", visitor.role, visitor.name, place),
        knows_view=known_view,
        view=view,
        most=most,
        names=names,
        certificate=certificate,
        key=key,
        environment=way_environment(in_process=way.in_process, url=way.url),
    )
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    async with serving_consoles(options) as (_, port):
        host = f"[{listen[0]}]" if ":" in listen[0] else listen[0]
        scheme = "https" if certificate is not None else "http"
        say(f"the console is at {scheme}://{host}:{port}/#key={link}")
        say(f"{'operators may act, others look on' if operator else 'everybody looks on, nobody can act'}; Ctrl-C ends it")
        await stopped.wait()
    return Exit.DONE
