"""What the command line says of the console's looks. It is told here and asked for where a console opens; it loads no screen."""

from contextvars import ContextVar

from msgspec import Struct


class Wishes(Struct, frozen=True):
    """Nothing where the command line says nothing."""

    theme: str = ""
    mouse: bool = True
    """False: the terminal keeps clicks and the wheel."""
    ascii: bool = False

    def __bool__(self) -> bool:
        """Whether anything was said."""
        return self != NO_WISHES


NO_WISHES = Wishes()
_WISHES: ContextVar[Wishes] = ContextVar("wishes", default=NO_WISHES)


def wish(wishes: Wishes) -> None:
    """What the command line says; the console of this run looks so."""
    _WISHES.set(wishes)


def wished() -> Wishes:
    """What was said."""
    return _WISHES.get()
