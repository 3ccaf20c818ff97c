"""From the paths of a command line to the text of spec files: files, directories, and `-` for standard input."""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from nodus_tui.contract.regular_files import read_regular
from nodus_tui.contract.spec_loading.loader import SpecSource
from nodus_tui.contract.spec_loading.yaml_text import MAX_BYTES

STDIN = "<stdin>"
_ENDINGS = frozenset({".yaml", ".yml"})


def read_sources(paths: Sequence[str], stdin: BinaryIO) -> list[SpecSource]:
    """The sources that the paths name, each file once. A directory stands for the specs directly in it, by name.

    It raises nothing: what cannot be read is a source with a problem, which `load_specs` tells beside all other faults.
    """
    sources: dict[object, SpecSource] = {}
    for path in paths:
        if path == "-":
            if STDIN not in sources:
                sources[STDIN] = _read_stdin(stdin)
            continue
        for source, identity in _read_path(Path(path), _printable(path)):
            sources.setdefault(identity, source)
    return list(sources.values())


def _printable(path: str) -> str:
    """The path as text that can be encoded: bytes of a file name that are not UTF-8 are shown as escapes."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _read_stdin(stdin: BinaryIO) -> SpecSource:
    try:
        text = stdin.read(MAX_BYTES + 1)
    except OSError as error:
        return SpecSource(STDIN, problem=f"standard input cannot be read: {error.strerror or error}")
    return SpecSource(STDIN, text, _current_folder())


def _current_folder() -> Path | None:
    """Where relative paths of a spec without a file start; None when the folder has been removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


def _read_path(path: Path, name: str) -> list[tuple[SpecSource, object]]:
    """The sources of a file or directory, each with what tells it from others."""
    try:
        if not path.is_dir():
            return [_read_file(path, name)]
        specs = sorted(each for each in path.iterdir() if each.suffix.lower() in _ENDINGS and not each.is_dir())
    except (OSError, ValueError) as error:
        return [(SpecSource(name, problem=_problem(error)), name)]
    if not specs:
        return [(SpecSource(name, problem="the directory holds no spec: no file in it ends in .yaml or .yml"), name)]
    return [_read_file(each, _printable(str(each))) for each in specs]


def _read_file(path: Path, name: str) -> tuple[SpecSource, object]:
    try:
        # One byte more than allowed, so that the reader can tell that there is more.
        text = read_regular(path, MAX_BYTES + 1)
        return SpecSource(name, text, path.resolve().parent), path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        return SpecSource(name, problem=_problem(error)), name


def _problem(error: Exception) -> str:
    """Why a path cannot be read, as a sentence."""
    match error:
        case FileNotFoundError():
            return "there is no such file or directory"
        case PermissionError():
            return "the file may not be read: permission is denied"
        case OSError(strerror=str(reason)):
            return f"the file cannot be read: {reason}"
        case _:
            return f"the file cannot be read: {error}"
