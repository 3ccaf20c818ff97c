"""What values need beside msgspec's Struct: one with some fields changed, its fields as JSON types, and one that tells nothing of itself.

Values are Structs, and not dataclasses: a class of one is made in a fortieth of the time, and a verb, which is a process, loads some
hundred of them before it answers.
"""

from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

if TYPE_CHECKING:
    # Type checkers know what this one takes of each class; it is the same for Structs.
    from dataclasses import replace
else:
    from msgspec.structs import replace

__all__ = ["Quiet", "fields_of", "replace"]


class Quiet(Struct, frozen=True):
    """A value that holds answers, or what is long: its text has none of them, so that no log and no error has."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


def fields_of(value: Struct) -> dict[str, Any]:
    """Its fields by name, as JSON has them, and theirs in turn."""
    fields: dict[str, Any] = to_builtins(value)
    return fields
