"""The known name that a wrong one most likely means."""

from collections.abc import Sequence

_ALIKE = 70
"""How alike two names must be, of 100, to suggest one for the other."""
_LONGEST = 100
"""Characters of a name for which a suggestion is sought; comparing longer ones would cost and help nobody."""


def nearest(name: str, known: Sequence[str]) -> str:
    """The known name that is alike in all but case, hyphens and underscores, or else the most alike; empty when none is alike."""
    if len(name) > _LONGEST:
        return ""
    plain = {_plain(each): each for each in known}
    wanted = _plain(name)
    if wanted in plain:
        return plain[wanted]
    # Loaded only here: a spec without faults never needs it.
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - see above

    found = process.extractOne(wanted, list(plain), scorer=fuzz.ratio, score_cutoff=_ALIKE)
    return plain[found[0]] if found else ""


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").casefold()
