"""The order in which faults are told, and how many. Pure."""

from collections.abc import Iterable, Sequence

from nodus_tui.contract.errors import Fault

MAX_FAULTS = 200
"""Faults that one answer lists; more help nobody, and the last one says how many are left out."""


def in_file_order(faults: Iterable[Fault], files: Sequence[str]) -> tuple[Fault, ...]:
    """Faults by file as the files were given, document and place, those that read alike told once.

    Faults of other files (task files) come behind, and those without any file last.
    """
    order = {file: number for number, file in reversed(list(enumerate(files)))}

    def place(fault: Fault) -> tuple[int, int, int, int]:
        return order.get(fault.file, len(files) + (not fault.file)), fault.document, fault.line, fault.column

    return tuple(dict.fromkeys(sorted(faults, key=place)))


def listed(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Not more faults than anybody reads."""
    if len(faults) <= MAX_FAULTS:
        return tuple(faults)
    rest = len(faults) - MAX_FAULTS
    message = f"{rest:,} more fault{'s are' if rest > 1 else ' is'} not listed here"
    return (*faults[:MAX_FAULTS], Fault(message=message, file=faults[MAX_FAULTS].file))
