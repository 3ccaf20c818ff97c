"""Whether a name of the price list means a device, by the name that the device's driver gives it. Pure text.

`H100` means every H100, `H100 SXM` one of that form, `A100-80G` one with that much memory; `L4` is no L40S, `RTX-4070` no RTX 4070 Ti.
A slice that MIG makes of a device is another thing than the device: it is named with its profile, as `H100 MIG 1g.10gb`.
"""

import re
from functools import lru_cache

from msgspec import Struct

ANY_DEVICE = "GPU"
"""The name under which any whole device may be asked for, whatever its maker calls it."""

_PROFILE = re.compile(r"\bmig[ -]?((?:\d+c\.)?\d+g\.\d+gb(?:\+[a-z0-9.]+)*)(?![\w.])")
_WORD = re.compile(r"[a-z0-9]+")
_MEMORY = re.compile(r"(\d+)gb?")
_FORM = re.compile(r"(sxm|pcie|nvl)\d*")
_SAYS_NOTHING = re.compile(r"nvidia|geforce|tesla|quadro|gpu|graphics|generation|edition|blackwell|hbm\d*e?|g?ddr\d*x?")
_VARIANTS = frozenset({"ti", "super", "laptop", "mobile", "max", "q", "d", "ada", "sff", "pro", "embedded", "workstation", "server"})
"""Words that make another device of one with the same number."""
_NEVER_ASKED = frozenset({"workstation", "server"})
"""The driver tells them, and nobody who asks for the device has to."""
_SXM = frozenset({"h100", "h200", "h800", "h20", "b100", "b200", "b300"})
"""Whose driver name has no word for that form."""


class _Parts(Struct, frozen=True):
    words: frozenset[str]
    """What makes the model: `rtx` and `4090`."""
    variants: frozenset[str]
    form: str
    memory_gb: int | None
    profile: str
    """Of a slice; empty for a whole device."""

    @property
    def numbers(self) -> frozenset[str]:
        """The words by which models are told apart."""
        return frozenset(word for word in self.words if any(letter.isdigit() for letter in word))


def means(name: str, device: str, memory_bytes: int | None = None) -> bool:
    """Whether a name that somebody asks for means a device of this driver's name, which may not tell the memory itself."""
    asked, found = _parts(name), _parts(device)
    if asked.profile != found.profile:
        return False
    if not found.profile and name.casefold().strip() == ANY_DEVICE.casefold():
        return True
    if not asked.words:
        # `MIG 1g.10gb` is such a slice of whatever device.
        return bool(asked.profile)
    return (
        asked.words <= found.words
        and bool(asked.numbers)
        and asked.numbers == found.numbers
        and asked.variants - _NEVER_ASKED == found.variants - _NEVER_ASKED
        and asked.form in {"", found.form or _form_of(found)}
        and (asked.memory_gb is None or _has_memory(asked.memory_gb, found, memory_bytes))
    )


def narrower(name: str, other: str) -> bool:
    """Whether whatever the first name means, the second means too: `H100 SXM` is narrower than `H100`."""
    one, wide = _parts(name), _parts(other)
    return (
        bool(wide.words)
        and wide.words <= one.words
        and wide.numbers == one.numbers
        and one.profile == wide.profile
        and one.variants - _NEVER_ASKED == wide.variants - _NEVER_ASKED
        and wide.form in {"", one.form}
        and wide.memory_gb in {None, one.memory_gb}
    )


@lru_cache(maxsize=1024)
def _parts(name: str) -> _Parts:
    text = name.casefold()
    sliced = _PROFILE.search(text)
    profile = ""
    if sliced is not None:
        profile, text = sliced[1], text[: sliced.start()] + " " + text[sliced.end() :]
    words, variants, form, memory = set[str](), set[str](), "", None
    for word in _WORD.findall(text):
        if (found := _FORM.fullmatch(word)) is not None:
            form = found[1]
        elif (told := _MEMORY.fullmatch(word)) is not None:
            memory = int(told[1])
        elif word in _VARIANTS:
            variants.add(word)
        elif not _SAYS_NOTHING.fullmatch(word):
            words.add(word)
    return _Parts(frozenset(words), frozenset(variants), form, memory, profile)


def _form_of(device: _Parts) -> str:
    return "sxm" if device.words & _SXM else ""


def _has_memory(asked_gb: int, device: _Parts, memory_bytes: int | None) -> bool:
    if device.memory_gb is not None:
        return device.memory_gb == asked_gb
    # What the driver counts is a little less than what the maker writes on it, and GB stands for GiB in these names.
    return memory_bytes is not None and abs(memory_bytes / (1 << 30) - asked_gb) <= asked_gb / 10
