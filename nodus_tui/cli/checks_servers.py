"""What `doctor` asks of model servers on this machine: whether anybody listens. No request is sent, and no other machine is asked:
whether a server elsewhere is reached hangs on proxies, which only the one who calls it knows.
"""

import socket
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from nodus_tui.cli.checks import Check, Level
from nodus_tui.contract.configuration import ModelEntry

_PATIENCE = 2.0
"""Seconds: this machine answers itself at once, or not at all."""
_PORTS = {"http": 80, "https": 443}


def server_checks(models: Iterable[ModelEntry]) -> list[Check]:
    """One check for each address of this machine at which the configuration says that models are served."""
    served: dict[tuple[str, int], list[ModelEntry]] = {}
    for model in models:
        address = _own_address(model.base_url or "")
        if address is not None:
            served.setdefault(address, []).append(model)
    return [_check(address, entries) for address, entries in served.items()]


def _own_address(url: str) -> tuple[str, int] | None:
    """Host and port of a URL that leads to this machine by its loopback; None of any other."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        own = host == "localhost" or ip_address(host).is_loopback
        return (host, parts.port or _PORTS[parts.scheme]) if own else None
    except (KeyError, ValueError):
        return None


def _check(address: tuple[str, int], entries: list[ModelEntry]) -> Check:
    families = ", ".join(entry.family for entry in entries)
    name = f"model server{'s' if len(entries) > 1 else ''} {families}"
    url = entries[0].base_url
    try:
        socket.create_connection(address, timeout=_PATIENCE).close()
    except OSError as error:
        text = f"nobody listens at {url} ({error.strerror or error}), so that no run of {families} comes to an answer"
        return Check(check=name, level=Level.WARN, message=text, remedy="start the server, or correct its `baseURL` in the configuration")
    return Check(check=name, level=Level.OK, message=f"somebody listens at {url}")
