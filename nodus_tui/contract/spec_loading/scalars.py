"""Scalars that remember how they were written, so that a decimal number never passes through a binary float."""

from typing import Self


class SourceFloat(float):
    """A YAML float that keeps its text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        """The float of a plain decimal text, underscores allowed as YAML allows them."""
        made = super().__new__(cls, text.replace("_", ""))
        made.text = text
        return made
