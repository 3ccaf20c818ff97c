"""Figures of one column, so that they stand at their decimal points: how far a figure goes on behind its last whole digit. Pure."""

import re
from collections.abc import Sequence

_FIGURE = re.compile(r"[<~≤±]? ?[-+]?\$?[0-9][0-9,]*(\.[0-9]+)?")
"""A number, or an amount of money. What has a unit behind it stands at that."""


def behind_the_point(text: str) -> int | None:
    """Cells from the decimal point of a figure on: 3 for `$0.02`, 0 for a whole number; None for what is no figure."""
    figure = _FIGURE.fullmatch(text)
    return len(figure[1] or "") if figure is not None else None


def at_the_point(texts: Sequence[str]) -> list[str]:
    """The texts of a column that is aligned at the right, with spaces behind those figures that end nearer to their points."""
    behind = [behind_the_point(text) for text in texts]
    most = max((cells for cells in behind if cells is not None), default=0)
    return [text if cells is None else text + " " * (most - cells) for text, cells in zip(texts, behind, strict=True)]
