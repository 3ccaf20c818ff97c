"""The progress of a pull, as a few lines for people out of an engine's hundreds. Pure."""

from collections.abc import Mapping
from typing import Any

from local_backend.sandboxes.interface import Progress

_DONE = ("Pull complete", "Already exists")
_MIB = 1 << 20


class PullProgress:
    """Hears an engine's events and tells when something worth a line has changed: a layer more, or a tenth of what is known to come."""

    def __init__(self, image: str, tell: Progress | None) -> None:
        self._image = image
        self._tell = tell
        self._layers: dict[str, tuple[int, int]] = {}
        """Layer → bytes that are here and bytes in all; 0 where they are not known yet."""
        self._done: set[str] = set()
        self._told: tuple[int, int] | None = None

    def hear(self, event: Mapping[str, Any]) -> None:
        """One event of the stream."""
        status, layer = str(event.get("status", "")), str(event.get("id", ""))
        if status.startswith("Pulling from"):
            self._say(f"pulling {self._image}")
        elif status == "Pulling fs layer":
            self._layers.setdefault(layer, (0, 0))
        elif status in _DONE:
            here, size = self._layers.get(layer, (0, 0))
            self._layers[layer] = (max(here, size), size)
            self._done.add(layer)
        elif status == "Downloading":
            detail = event.get("progressDetail") or {}
            self._layers[layer] = (int(detail.get("current") or 0), int(detail.get("total") or 0))
        elif status.startswith("Status:"):
            self._say(f"pulled {self._image}")
            return
        self._tell_state()

    def _tell_state(self) -> None:
        if not self._layers:
            return
        here = sum(each[0] for each in self._layers.values())
        size = sum(each[1] for each in self._layers.values())
        state = (len(self._done), 10 * here // size if size else 0)
        if state != self._told and (self._told is not None or any(state)):
            amount = f", {here / _MIB:.1f} of {size / _MIB:.1f} MiB" if size else ""
            self._say(f"pulling {self._image}: {len(self._done)} of {len(self._layers)} layers{amount}")
        self._told = state

    def _say(self, line: str) -> None:
        if self._tell is not None:
            self._tell(line)
