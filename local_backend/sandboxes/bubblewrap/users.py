"""Which users of this machine stand behind the two users of a sandbox.

`root`: a scheduler that is root gives each sandbox two host uids that nobody else has. `subids`: anybody else gets the second user from
/etc/subuid, by newuidmap. `single`: neither is there, so init and agent are one user, and a grader could not hide its answers.
"""

import contextlib
import os
import pwd
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

AGENT = 1000
_FIRST_UID = 1_900_000_000
"""Above what distributions give to users, services and containers, and below the half of the range that some programs read as negative."""

_FEWEST_SUBIDS = 2


class Users(Struct, frozen=True):
    """How users are mapped here."""

    kind: Literal["root", "subids", "single"]
    first_uid: int = 0
    """Of the range that sandboxes' users come from."""
    first_gid: int = 0
    count: int = 0
    newuidmap: str = ""
    newgidmap: str = ""

    @property
    def two(self) -> bool:
        """Whether root and the agent are two users."""
        return self.kind != "single"

    def host_root(self, slot: int) -> int:
        """The host's uid behind uid 0 of a sandbox, for `root`."""
        return self.first_uid + 2 * slot

    def maps(self, slot: int) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
        """(inside, outside) pairs of uids, and of gids."""
        if self.kind == "root":
            pairs = ((0, self.host_root(slot)), (AGENT, self.host_root(slot) + 1))
            return pairs, pairs
        uids = ((0, os.getuid()), (AGENT, self.first_uid + slot % self.count))
        gids = ((0, os.getgid()), (AGENT, self.first_gid + slot % self.count))
        return uids, gids


def find_users(environ: Mapping[str, str]) -> Users:
    """What this process can do."""
    if os.geteuid() == 0:
        return Users("root", _FIRST_UID, _FIRST_UID)
    uids = _range(Path("/etc/subuid"), _names(os.getuid()))
    gids = _range(Path("/etc/subgid"), _names(os.getuid()))
    programs = [shutil.which(name, path=environ.get("PATH")) for name in ("newuidmap", "newgidmap")]
    if uids is None or gids is None or programs[0] is None or programs[1] is None:
        return Users("single")
    return Users("subids", uids[0], gids[0], min(uids[1], gids[1]), programs[0], programs[1])


def _names(uid: int) -> set[str]:
    names = {str(uid)}
    with contextlib.suppress(KeyError):  # Known by its number only.
        names.add(pwd.getpwuid(uid).pw_name)
    return names


def _range(path: Path, names: set[str]) -> tuple[int, int] | None:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, numbers = line.partition(":")
        first, _, count = numbers.partition(":")
        if name in names and first.isdigit() and count.isdigit() and int(count) >= _FEWEST_SUBIDS:
            return int(first), int(count)
    return None


def weakness(users: Users) -> str | None:
    """A sentence about what is weaker with one user; None with two."""
    if users.two:
        return None
    return (
        "Init and the agent are one user, so answers cannot be hidden from code and program graders are refused: install newuidmap and "
        "newgidmap (package uidmap), and give your user a line in /etc/subuid and /etc/subgid."
    )
