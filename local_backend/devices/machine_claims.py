"""What keeps two workspaces or users of one machine from taking the same device: names in the kernel, which it takes back by itself.

A claim is an abstract unix socket that is bound to a name of the device and never used. A name can be bound once on a machine (in one
network namespace), by whoever is first, of whatever user; it is free again when the last process that has the socket open is gone, however
it ended. A job's supervisor inherits the sockets of its devices, so that they outlive the scheduler with the job.

    @nodus-tui/device/UUID             somebody has it to himself
    @nodus-tui/device/UUID/place/K     one of those that share it
    @nodus-tui/device/UUID/of/UID/X    whose the claim is, so that it can be told
"""

import contextlib
import os
import pwd
import re
import secrets
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_backend.devices.allocation import Elsewhere

_SOCKETS = Path("/proc/net/unix")
_PREFIX = "nodus-tui/device/"
_LINE = re.compile(rf" @{_PREFIX}([^/\s]+)(?:/(place|of)/(\d+)(?:/\w+)?)?$", re.MULTILINE)


class TakenError(Exception):
    """Somebody else of this machine has it."""


class MachineClaim:
    """Devices claimed before the whole machine, as open sockets."""

    def __init__(self, sockets: Sequence[socket.socket]) -> None:
        self._sockets = list(sockets)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What a process that is to hold it must inherit."""
        return tuple(each.fileno() for each in self._sockets)

    def close(self) -> None:
        """Give it up here; whoever inherited it holds it on."""
        for each in self._sockets:
            each.close()
        self._sockets.clear()


def claim(uuids: Sequence[str], *, shared: bool, places: int) -> MachineClaim:
    """Claim all of these, or none. Raises TakenError. Takes no time."""
    taken: list[socket.socket] = []
    try:
        for uuid in uuids:
            taken.append(_place(uuid, places) if shared else _bound(_name(uuid)))
            taken.append(_bound(f"{_name(uuid)}/of/{os.getuid()}/{secrets.token_hex(4)}"))
        # Looked at only now: of two that come at once in different ways, both see the other's, and both let go.
        _refuse_the_other_way(uuids, shared=shared)
    except BaseException:
        MachineClaim(taken).close()
        raise
    return MachineClaim(taken)


def _refuse_the_other_way(uuids: Sequence[str], *, shared: bool) -> None:
    """Raise TakenError where one of these is shared and wanted alone, or the other way round."""
    found = held()
    if any(each.alone if shared else each.shares for uuid in uuids if (each := found.get(plain(uuid))) is not None):
        raise TakenError


def plain(uuid: str) -> str:
    """How a uuid stands in the names: older drivers have slashes in those of slices."""
    return uuid.replace("/", ":")


def held() -> Mapping[str, Elsewhere]:
    """Everything that is claimed on this machine now, by `plain` uuid, the claims of this process included. Takes a millisecond at most."""
    try:
        text = _SOCKETS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}  # No such system, or it may not be looked at: then a claim that fails is what is known.
    alone, shares, owners = set[str](), dict[str, int](), dict[str, set[str]]()
    for uuid, what, number in _LINE.findall(text):
        if not what:
            alone.add(uuid)
        elif what == "place":
            shares[uuid] = shares.get(uuid, 0) + 1
        else:
            owners.setdefault(uuid, set()).add(_user(int(number)))
    who = {uuid: " and ".join(sorted(owners.get(uuid, ()))) or "another user" for uuid in alone}
    return {uuid: Elsewhere(who.get(uuid, ""), shares.get(uuid, 0)) for uuid in alone | shares.keys()}


def _name(uuid: str) -> str:
    return f"\0{_PREFIX}{plain(uuid)}"


def _place(uuid: str, places: int) -> socket.socket:
    for number in range(places):
        with contextlib.suppress(TakenError):
            return _bound(f"{_name(uuid)}/place/{number}")
    raise TakenError


def _bound(name: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        made.bind(name)
    except OSError as error:
        made.close()
        raise TakenError from error
    return made


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
