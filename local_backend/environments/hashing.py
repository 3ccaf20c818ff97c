"""Numbers and digests from SHA-256 alone: the same on every machine and every Python. Pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")
_WORD = 1 << 64


class HashStream:
    """An endless stream of numbers that a text fixes: the n-th block is SHA-256 of the text and n."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()
        self._block = b""
        self._blocks = 0

    def _word(self) -> int:
        if not self._block:
            self._block = hashlib.sha256(self._key + b"#" + str(self._blocks).encode()).digest()
            self._blocks += 1
        word, self._block = int.from_bytes(self._block[:8], "big"), self._block[8:]
        return word

    def below(self, bound: int) -> int:
        """A whole number from 0 up to and without `bound`, each as likely as the others (1 ≤ bound ≤ 2⁶⁴)."""
        # Words above the last whole multiple would favour small numbers.
        fair = _WORD - _WORD % bound
        while (word := self._word()) >= fair:
            pass
        return word % bound

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[_Item]) -> _Item:
        """One of the items."""
        return items[self.below(len(items))]


def canonical_json(value: object) -> bytes:
    """JSON with sorted keys and no spaces, as UTF-8. Raises ValueError for NaN and infinities, TypeError for what JSON cannot hold."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def digest(parts: Sequence[object] | Mapping[str, object]) -> str:
    """`sha256:…` over the canonical JSON of the parts."""
    return "sha256:" + hashlib.sha256(canonical_json(parts)).hexdigest()
