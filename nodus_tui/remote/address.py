"""Where an API is and how it is spoken to: a URL with a token, or a unix socket. Nothing is opened here."""

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.http import PREFIX


class Address(Struct, frozen=True):
    """One API."""

    url: str
    """What the paths of the API are put behind."""
    shown: str
    """How people are told of it."""
    socket: Path | None = None
    token: str = ""
    ca: Path | None = None
    """A PEM file with the authorities that the server's certificate is checked against; None means the system's."""
    notes: tuple[str, ...] = ()


def socket_address(socket: Path) -> Address:
    """The API behind a unix socket."""
    return Address(url="http://localhost", shown=str(socket), socket=socket)


def remote_address(url: str, environ: Mapping[str, str]) -> Address:
    """The API at a URL, with the token of NODUS_TOKEN and the authorities of NODUS_CA. Raises NodusError when one cannot be used."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_is_fine = urlsplit(""), False
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_fine or not url.isprintable() or " " in url:
        raise _wrong(f"{url!r} is no URL of an API: write https://HOST:PORT")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise _wrong(f"{parts.scheme}://{parts.hostname}: a URL of an API has no user, query or fragment; the token goes into NODUS_TOKEN")
    token = environ.get("NODUS_TOKEN", "").strip()
    if any(not "!" <= each <= "~" for each in token):
        raise _wrong("NODUS_TOKEN holds characters that no token has: set it to what `nodus-tui token create` printed")
    ca = environ.get("NODUS_CA", "")
    if ca and not Path(ca).is_file():
        raise _wrong(f"NODUS_CA names {ca}, which is not a file: it is a PEM file with the certificates to trust")
    notes: tuple[str, ...] = ()
    if parts.scheme == "http" and token and not _on_this_machine(parts.hostname):
        notes = (f"the token travels in the clear to {parts.hostname}: use https:// unless the way there is protected otherwise",)
    path = parts.path.rstrip("/").removesuffix(PREFIX)
    base = f"{parts.scheme}://{parts.netloc}{path}"
    return Address(url=base, shown=base, token=token, ca=Path(ca) if ca else None, notes=notes)


def _on_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _wrong(detail: str) -> NodusError:
    return NodusError(ErrorCode.CONFIGURATION, detail)
