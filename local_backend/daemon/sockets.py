"""The sockets that a server listens on, and its TLS: made so that nobody else gets in, refused with a sentence where that cannot be."""

import asyncio
import errno
import ipaddress
import os
import socket
import ssl
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from nodus_tui.contract.errors import ErrorCode, NodusError

_LONGEST_SOCKET_PATH = 107
"""Bytes of a unix socket's path, a limit of the system."""

_BACKLOG = 1024


class TcpListen(Struct, frozen=True):
    """Where and how to listen on TCP. Tokens are always asked for."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 lets the system choose; `Served.port` tells."""
    certificate: Path | None = None
    """PEM file with the certificate chain; with `key`, TLS is spoken."""
    key: Path | None = None
    behind_proxy: bool = False
    """Somebody else speaks TLS in front of this: lets plain HTTP listen on an address that is not loopback."""
    names: tuple[str, ...] = ()
    """Further names that clients call this server by (their Host header)."""
    origins: tuple[str, ...] = ()
    """Web origins whose pages may ask; none by default."""
    metrics: bool = False
    """Whether Prometheus may read `/v1/metrics` here, with a token as everybody."""


def unix_socket(path: Path) -> tuple[socket.socket, Callable[[], None]]:
    """A listening unix socket that only its owner can open, from its first moment on; and how its file is taken away again.

    A socket file that nobody listens on any more is replaced. Raises NodusError.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        raise NodusError(ErrorCode.NOT_SUPPORTED, "this system does not tell who is at the other end of a unix socket")
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        raise NodusError(
            ErrorCode.CONFIGURATION, f"the path of the socket {path} is longer than {_LONGEST_SOCKET_PATH} bytes: name a shorter NODUS_HOME"
        )
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_folder(path.parent)
        _remove_dead(path)
        # The mode of the open socket is the one that its file gets, so there is no moment at which others could connect.
        os.fchmod(made.fileno(), 0o600)
        made.bind(str(path))
        path.chmod(0o600)
        made.listen(_BACKLOG)
        made.setblocking(False)  # noqa: FBT003 - the library's own parameter
    except OSError as error:
        made.close()
        raise NodusError(ErrorCode.CONFIGURATION, f"the socket {path} cannot be made: {error.strerror or error}") from error
    except NodusError:
        made.close()
        raise
    return made, partial(_remove_own, path, path.stat().st_ino)


def _remove_own(path: Path, inode: int) -> None:
    """Take the socket file away, unless another server has put its own there meanwhile."""
    with suppress(FileNotFoundError):
        if path.stat().st_ino == inode:
            path.unlink()


def _check_folder(folder: Path) -> None:
    found = folder.stat()
    if found.st_uid not in {os.geteuid(), 0} or stat.S_IMODE(found.st_mode) & 0o022:
        raise NodusError(
            ErrorCode.CONFIGURATION, f"others could replace the socket in {folder}: it must be yours, and writable by you only (chmod 700)"
        )


def _remove_dead(path: Path) -> None:
    """Take away a socket file that a dead server left. Raises NodusError Conflict when a living one answers."""
    if not path.is_socket():
        if path.exists() or path.is_symlink():
            raise NodusError(ErrorCode.CONFIGURATION, f"{path} is no socket; remove it")
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
    raise NodusError(ErrorCode.CONFLICT, f"another server listens on {path}")


async def tcp_socket(listen: TcpListen) -> socket.socket:
    """A listening TCP socket. Raises NodusError when the address cannot be used, or would let others in without TLS."""
    loop = asyncio.get_running_loop()
    try:
        # Named as TCP, so that the event loop switches the delay of small packets off for its connections.
        found = await loop.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise NodusError(ErrorCode.CONFIGURATION, f"{listen.host}:{listen.port} is no address to listen on: {error}") from error
    family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    if not ipaddress.ip_address(address[0]).is_loopback and listen.certificate is None and not listen.behind_proxy:
        raise NodusError(
            ErrorCode.CONFIGURATION,
            f"{listen.host} can be reached from other machines: give TLS files, or say --behind-proxy where something else speaks TLS",
        )
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
        made.setblocking(False)  # noqa: FBT003 - the library's own parameter
    except OSError as error:
        made.close()
        hint = "; another program listens there" if error.errno == errno.EADDRINUSE else ""
        raise NodusError(
            ErrorCode.CONFIGURATION, f"cannot listen on {listen.host}:{listen.port}: {error.strerror or error}{hint}"
        ) from error
    return made


def tls_context(listen: TcpListen) -> ssl.SSLContext | None:
    """The TLS of a listener, at least 1.2; None where it speaks plain HTTP. Raises NodusError."""
    if listen.certificate is None and listen.key is None:
        return None
    if listen.certificate is None or listen.key is None:
        raise NodusError(ErrorCode.CONFIGURATION, "TLS needs both files: the certificate chain and its key")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Asked for on a terminal otherwise, where nobody may be sitting.
        context.load_cert_chain(listen.certificate, listen.key, password="")
    except (OSError, ValueError) as error:
        raise NodusError(
            ErrorCode.CONFIGURATION,
            f"the TLS files {listen.certificate} and {listen.key} cannot be used: {getattr(error, 'reason', None) or error}; "
            "they are PEM files, the key without a passphrase",
        ) from error
    return context
