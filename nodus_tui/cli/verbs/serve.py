"""`serve`: the API over TCP, for other machines. It stands between them and the workspace's scheduler, in the foreground."""

import asyncio
import contextlib
import re
import signal
from collections.abc import Callable
from pathlib import Path

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.session import opened
from nodus_tui.connect import chosen_way, home_path, hosting
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.hosting import Hosting, ListenRequest

_LISTEN = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<host>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class ListenType(click.ParamType[tuple[str, int]]):
    """`HOST:PORT`, or `[IPv6]:PORT`."""

    name = "address"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Host and port."""
        found = _LISTEN.fullmatch(str(value))
        if found is None or int(found["port"]) > 65_535:
            self.fail(f"{value!r} is no address: write HOST:PORT, such as 127.0.0.1:8800 or [::1]:8800", param, ctx)
        return found["six"] or found["host"], int(found["port"])


@click.command("serve")
@click.option(
    "--listen", type=ListenType(), default="127.0.0.1:8800", show_default=True, metavar="HOST:PORT", help="Where; port 0 takes a free one."
)
@click.option("--tls-cert", type=_FILE, metavar="FILE", help="PEM file with the certificate and its chain.")
@click.option("--tls-key", type=_FILE, metavar="FILE", help="PEM file with its key.")
@click.option("--behind-proxy", is_flag=True, help="Somebody else speaks TLS in front of it: allows plain HTTP beyond this machine.")
@click.option("--host", "names", multiple=True, metavar="NAME", help="A further name by which clients call this server. May be repeated.")
@click.option("--metrics", is_flag=True, help="Also answer Prometheus at /v1/metrics: GPUs, the machine, sandboxes, groups' money.")
def command(
    listen: tuple[str, int], tls_cert: Path | None, tls_key: Path | None, names: tuple[str, ...], *, behind_proxy: bool, metrics: bool
) -> int:
    """Let other machines look and act, with a token each (`nodus-tui token create`), until Ctrl-C.

    The workspace's scheduler is started where none runs, and goes on when this ends. With `nodus-tui --in-process serve` this process does
    the work itself: in a container with nothing else, say. An address beyond this machine needs --tls-cert and --tls-key, or
    --behind-proxy.
    """
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key belong together")
    if chosen_way().url:
        raise click.UsageError("serve shows this machine's workspace: leave out --connect, or unset NODUS_URL")
    host = hosting()
    request = ListenRequest(
        listen[0], listen[1], certificate=tls_cert, key=tls_key, behind_proxy=behind_proxy, names=names, metrics=metrics
    )
    return asyncio.run(_serve(host, request))


async def _serve(host: Hosting, request: ListenRequest) -> int:
    if not host.tokens(home_path()):
        say("nobody has a token yet, so nobody is let in: `nodus-tui token create NAME --role viewer|operator`")

    def ready(url: str) -> None:
        say(f"serving {home_path()} at {url}; Ctrl-C ends it")

    async with opened("work") as backend:
        await _until_asked(host, backend, request, ready)
    return Exit.DONE


async def _until_asked(host: Hosting, backend: Backend, request: ListenRequest, ready: Callable[[str], None]) -> None:
    """Serve until a signal. A graceful stop is what is asked for, so it is no failure."""
    serving = asyncio.ensure_future(host.serve(backend, home_path(), request, ready))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving
