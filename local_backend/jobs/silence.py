"""Supervisors that live and say nothing: somebody has stopped them (SIGSTOP), and a job's cap and timeout are theirs to hold. Pure."""

from typing import Literal

from msgspec import Struct

SILENT_SECONDS = 20.0
"""After so long without a new report, several of which were due, it is told to go on; after as long again it will not, whoever tells it."""

Remedy = Literal["wait", "wake", "kill"]


class _Heard(Struct):
    used_us: int
    at: float
    """When that was heard, or when it was last told to go on."""
    woken: bool = False


class Silences:
    """Of the jobs of one engine. Times are seconds on a clock that nobody sets."""

    def __init__(self) -> None:
        self._heard: dict[str, _Heard] = {}

    def remedy(self, token: str, used_us: int, now: float, *, overdue: bool) -> Remedy:
        """What to do about the supervisor of a launch whose last report has this time of its job. One that should long have ended its job
        (`overdue`) and could not be woken is killed.
        """
        heard = self._heard.get(token)
        if heard is None or heard.used_us != used_us:
            self._heard[token] = _Heard(used_us, now)
            return "wait"
        if now - heard.at < SILENT_SECONDS:
            return "wait"
        remedy: Remedy = "kill" if heard.woken and overdue else "wake"
        heard.at, heard.woken = now, True
        return remedy

    def keep_only(self, tokens: set[str]) -> None:
        """Forget all others."""
        for gone in self._heard.keys() - tokens:
            del self._heard[gone]
