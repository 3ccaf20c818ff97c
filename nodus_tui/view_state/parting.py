"""Whose work it is that the console shows, and what becomes of it when the person leaves, in words. Pure."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.text import safe_text


class Going(Struct, frozen=True):
    """What is at work, by name."""

    work: tuple[str, ...]
    """Groups and sweeps."""
    boxes: tuple[str, ...]
    """Sandboxes of their own."""
    jobs: tuple[str, ...]


def whose_work(info: BackendInfo | None, *, linked: bool, url: str = "") -> str:
    """Who does the work, as the status line says it. It agrees with what leaving does: only in the first case something stops.

    `url` is the API of another machine: who looks at several never takes one for the other.
    """
    if info is None:
        return ""
    if url:
        host = safe_text(urlsplit(url).netloc.rpartition("@")[2])
        working = info.scheduling or info.scheduler_elsewhere
        return f"work goes on at {host} without this window" if working else f"nobody does the work at {host}"
    if info.scheduling:
        return "this window does the work"
    if info.scheduler_elsewhere:
        return "work goes on without this window" if linked else "another process does the work"
    return "nobody does the work"


def parting_words(going: Going, info: BackendInfo | None, *, linked: bool) -> str:
    """What the person who leaves should know: the work of another process goes on, or nobody does it; empty where nothing is at work."""
    if going.boxes and not going.work and not going.jobs and info is not None and info.scheduler_elsewhere:
        one = len(going.boxes) == 1
        ends = f"`nodus-tui kill sandbox/{safe_text(going.boxes[0])}` ends it" if one else "`nodus-tui kill sandbox/NAME` ends one"
        return f"nodus-tui: {_named(going.boxes)} {'runs' if one else 'run'} on and {'costs' if one else 'cost'} until the end; {ends}"
    needs_a_scheduler = (*going.work, *going.boxes)
    if info is None or info.scheduling or not needs_a_scheduler:
        # Jobs need no scheduler: they go on by themselves in any case.
        return f"nodus-tui: jobs go on in the background ({_named(going.jobs)}); `nodus-tui` shows them again" if going.jobs else ""
    named = _named((*needs_a_scheduler, *going.jobs))
    if linked:
        return f"nodus-tui: work goes on in the background ({named}); `nodus-tui` shows it again"
    if info.scheduler_elsewhere:
        return f"nodus-tui: work goes on in the other process ({named}); `nodus-tui` shows it again"
    return f"nodus-tui: nobody works on {named} now; `nodus-tui` goes on with it"


def _named(names: Sequence[str]) -> str:
    return safe_text(", ".join(names[:3]) + (" and more" if len(names) > 3 else ""))
