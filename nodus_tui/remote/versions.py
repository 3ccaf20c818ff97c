"""Whether two versions of the program understand each other. Pure."""

import re

from nodus_tui.contract.errors import ErrorCode, NodusError

_VERSION = re.compile(r"(\d+)\.(\d+)")


def major_minor(version: str) -> tuple[int, int] | None:
    """The first two numbers of a version; None when it has not two."""
    found = _VERSION.match(version)
    return (int(found[1]), int(found[2])) if found else None


def skew_note(theirs: str, ours: str, place: str) -> str:
    """What people should know when the other side has another version; empty when both are alike.

    Raises NodusError when the major versions differ: then the two do not speak the same language.
    """
    them, us = major_minor(theirs), major_minor(ours)
    if them is None or us is None or them[0] != us[0]:
        shown = theirs if theirs.isprintable() and len(theirs) < 40 else "something unknown"
        raise NodusError(
            ErrorCode.CONFIGURATION,
            f"{place} runs nodus-tui {shown} and this is {ours}: they do not understand each other. Install the same version on both "
            "sides (`nodus-tui scheduler stop` ends a scheduler of this machine; what it worked on is kept and goes on with the next)",
        )
    if them == us:
        return ""
    older = "this one" if us < them else "that one"
    return f"{place} runs nodus-tui {theirs} and this is {ours}: most things work, new ones may not; update {older}"
