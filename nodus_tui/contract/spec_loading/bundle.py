"""What loading gives: resources, each with the places in its file at which its fields stand."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.wording import escaped

_LONGEST_NAME = 80
"""Characters of one name in a path that is shown, at most."""


class Position(Struct, frozen=True):
    """A place in a file; both count from 1."""

    line: int
    column: int


def path_text(path: tuple[str | int, ...]) -> str:
    """`("spec", "families", 0)` as people read it: `spec.families[0]`. Names that are not printable are escaped, long ones cut."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = escaped(part if len(part) <= _LONGEST_NAME else f"{part[:_LONGEST_NAME]}…")
            text += f".{name}" if text else name
    return text


class LoadedDocument(Struct, frozen=True):
    """One resource and where it came from."""

    resource: Resource
    file: str
    """As given; `<stdin>` for standard input, `<sdk>` where no file was read."""
    index: int
    """Its place in the file, from 0."""
    folder: Path | None = None
    """Where relative paths in it start; None when there is no such folder."""
    positions: Mapping[tuple[str | int, ...], Position] = field(default_factory=dict)
    """The place of each field's value, by path of camelCase names and list indices; `()` is the document itself."""
    stand_ins: frozenset[tuple[str | int, ...]] = frozenset()
    """Fields whose values are made up, because what is written has a fault; only in a bundle for checking."""

    def in_doubt(self, *path: str | int) -> bool:
        """Whether the value at a path, or anything around or in it, is made up: what follows from it is no fault of its own."""
        return any(made_up[: len(path)] == path[: len(made_up)] for made_up in self.stand_ins)

    def fault(self, path: tuple[str | int, ...], message: str, suggestion: str = "") -> Fault:
        """A fault at a field; where the field is not written, at the nearest parent that is."""
        at = path
        while at and at not in self.positions:
            at = at[:-1]
        place = self.positions.get(at)
        return Fault(
            message=message,
            file=self.file,
            document=self.index,
            line=place.line if place else 0,
            column=place.column if place else 0,
            path=path_text(path),
            suggestion=suggestion,
        )


class SpecBundle(Struct, frozen=True):
    """All documents of one apply, in order."""

    documents: tuple[LoadedDocument, ...]
    checking_only: bool = False
    """Some documents have faults and were mended to look for faults of other kinds: only a dry run may have it."""
    unread: frozenset[tuple[str, str]] = frozenset()
    """Kind and name of documents that the files may hold beside these; each is empty where it is not known."""

    def may_lack(self, kind: str, name: str) -> bool:
        """Whether a document of this kind that could not be read, or not be read wholly, may have this name."""
        return bool({(kind, name), (kind, "")} & self.unread)

    @property
    def has_gaps(self) -> bool:
        """Whether the files may hold documents of which not even the kind is known."""
        return any(not kind for kind, _ in self.unread)

    def refuse_mended(self) -> None:
        """Raise NodusError InvalidSpec when documents were mended: nothing is ever made of them."""
        if self.checking_only:
            raise NodusError(ErrorCode.INVALID_SPEC, "these documents have faults and were mended for checking only; nothing was changed")

    def __iter__(self) -> Iterator[LoadedDocument]:
        return iter(self.documents)
