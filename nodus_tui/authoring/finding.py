"""The spec files of a folder and the shipped examples: found by their first bytes, read one by one."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

import nodus_tui
from nodus_tui.contract.regular_files import read_regular

_MAX_FILES = 500
_MAX_DEPTH = 4
_HEAD_BYTES = 65_536
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})
_ENDINGS = frozenset({".yaml", ".yml"})
_WORDS = (b"apiVersion", b"nodus.dev/", b"kind")
"""Each stands in the first bytes of a spec."""


class FoundFile(Struct, frozen=True):
    """A file that looks like a spec."""

    path: Path
    shown: str
    """How it is called in the list: from its folder on."""
    example: bool = False
    """It came with the program: an edited copy is saved elsewhere."""


def examples_folder() -> Path | None:
    """Where the examples lie that came with the program; None where they were not installed."""
    folder = Path(nodus_tui.__file__).parent.parent / "examples"
    return folder if (folder / "README.md").is_file() else None


def is_example(path: Path) -> bool:
    """Whether a file came with the program."""
    examples = examples_folder()
    return examples is not None and path.is_relative_to(examples)


def example_words(path: Path) -> str | None:
    """How an example is called in the list; None for what is none."""
    examples = examples_folder()
    if examples is None or path == examples or not path.is_relative_to(examples):
        return None
    return f"examples/{path.relative_to(examples)}"


def found_files(folder: Path) -> list[FoundFile]:
    """The spec files below a folder, near ones first, then the examples; what cannot be read is left out."""
    found = [FoundFile(path, str(path.relative_to(folder))) for path in spec_paths(folder)]
    examples = examples_folder()
    known = {each.path.resolve() for each in found}
    if examples is not None:
        shipped = (path for path in spec_paths(examples) if path.resolve() not in known)
        found += [FoundFile(path, example_words(path) or str(path), example=True) for path in shipped]
    return found


def spec_paths(folder: Path) -> Iterator[Path]:
    """The files below a folder that look like specs, of whatever kind, near ones first, without unreadable ones."""
    return islice(_spec_paths(folder), _MAX_FILES)


def _spec_paths(folder: Path) -> Iterator[Path]:
    level = [folder]
    for _ in range(_MAX_DEPTH):
        below: list[Path] = []
        for place in level:
            try:
                entries = sorted(place.iterdir())
            except OSError:
                continue
            for entry in entries:
                if entry.name.startswith(".") or entry.name in _SKIPPED:
                    continue
                if entry.is_dir():
                    below.append(entry)
                elif entry.suffix.lower() in _ENDINGS and _looks_like_one(entry):
                    yield entry
        level = below


def _looks_like_one(path: Path) -> bool:
    try:
        head = read_regular(path, _HEAD_BYTES)
    except OSError:
        return False
    return all(word in head for word in _WORDS)
