"""Texts in few cells that still differ where they differ: the values of a sweep's axis, say, that all begin or end alike. Pure."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from nodus_tui.text import ELLIPSIS, cut, cut_middle, safe_text, width_of


@lru_cache(maxsize=512)
def told_apart(texts: tuple[str, ...], width: int) -> dict[str, str]:
    """Each text made safe and in at most `width` cells, cut in the way in which the most of them stay apart."""
    safe = {text: safe_text(text) for text in texts}
    ways = [{text: way(shown) for text, shown in safe.items()} for way in _ways(tuple(safe.values()), width)]
    return max(ways, key=lambda shown: len(set(shown.values())))


def _ways(texts: Sequence[str], width: int) -> Iterator[Callable[[str], str]]:
    """How they may be cut, the best to read first: in the middle, behind what all begin with, at the end."""
    first, last = min(texts), max(texts)
    alike = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), min(len(first), len(last)))

    def behind(text: str) -> str:
        return text if width_of(text) <= width else cut(ELLIPSIS + text[alike:], width)

    yield lambda text: cut_middle(text, width)
    yield behind
    yield lambda text: cut(text, width)
