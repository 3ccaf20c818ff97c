"""Words for messages about values that people wrote: quoted safely, cut when long, listed with `or`. Pure."""

from collections.abc import Iterable

_LONGEST = 60
"""Characters of a foreign text that a message repeats, at most."""


def escaped(text: str) -> str:
    """The text with everything that is not printable shown as an escape: control characters, surrogates, direction marks."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape", "surrogatepass").decode("ascii") for each in text)


def quoted(text: str) -> str:
    """The text in double quotes, safe to print and cut to a readable length."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f'"{escaped(cut)}"'


def alternatives(words: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *most, last = list(words)
    return f"{', '.join(most)} or {last}" if most else last
