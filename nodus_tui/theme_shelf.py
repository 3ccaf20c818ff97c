"""The themes that can be chosen: those that come with the console, and the user's own files, which are read again when they change."""

from collections.abc import Collection, Iterable
from pathlib import Path

from msgspec import Struct, field

from nodus_tui.contract.errors import Fault, NodusError
from nodus_tui.contract.regular_files import read_regular
from nodus_tui.ready_themes import ready_theme
from nodus_tui.theming import ThemeFile, load_theme

_SUFFIXES = (".yaml", ".yml")
_MOST_BYTES = 1024 * 1024
"""A theme has a few kilobytes."""
_MOST_FILES = 200
"""Theme files of one folder that are looked at: more is a folder of something else."""

Mark = tuple[int, int, int]
"""By which a file is known to be the same: its inode, its time of change, its size."""


def packaged_folder() -> Path:
    """Where the themes lie that come with the console: inside the installed package, or beside it in a checkout."""
    installed = Path(__file__).parent / "themes"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "themes"


class ThemeNews(Struct, frozen=True):
    """What reading the folders anew gave."""

    read: tuple[str, ...] = ()
    """Names of themes that are new or look otherwise, or are gone."""
    broken: tuple[Path, ...] = ()
    """Files that have faults since they changed."""
    mended: tuple[Path, ...] = ()
    """Files that had faults, and have none now, or are gone."""


class _Entry(Struct):
    """One file."""

    mark: Mark
    theme: ThemeFile | None = None
    """As it was when it was last whole."""
    faults: tuple[Fault, ...] = ()


class ThemeShelf(Struct):
    """All themes, by name. One of a later folder goes before one of the same name in an earlier folder."""

    folders: tuple[Path, ...]
    _entries: dict[Path, _Entry] = field(default_factory=dict)

    @property
    def themes(self) -> dict[str, ThemeFile]:
        """The themes that are fit to use. A file that has faults now still gives what it was before."""
        found = (entry.theme for folder in self.folders for _, entry in self._of(folder) if entry.theme is not None)
        return {theme.name: theme for theme in found}

    def file_of(self, name: str) -> Path | None:
        """Where a theme comes from."""
        files = (
            path for folder in self.folders for path, entry in self._of(folder) if entry.theme is not None and entry.theme.name == name
        )
        return next(reversed(tuple(files)), None)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Everything that is wrong in any file, by file and place."""
        return tuple(fault for folder in self.folders for _, entry in self._of(folder) for fault in entry.faults)

    def _of(self, folder: Path) -> list[tuple[Path, _Entry]]:
        return sorted((path, entry) for path, entry in self._entries.items() if path.parent == folder)

    def marks(self) -> dict[Path, Mark]:
        """The files as they lie there now. It asks the file system, which may take its time."""
        return {path: mark for folder in self.folders for path in _files(folder) if (mark := _mark(path)) is not None}

    def read_first(self, names: Collection[str]) -> None:
        """Read all but those files of the first folder that are called otherwise: a start waits for no theme that it does not show."""
        self.read({path: mark for path, mark in self.marks().items() if path.parent != self.folders[0] or path.stem in names})

    def read(self, marks: dict[Path, Mark] | None = None) -> ThemeNews:
        """Read the files that changed; the others are left alone."""
        now = self.marks() if marks is None else marks
        before, faulty = self.themes, {path for path, entry in self._entries.items() if entry.faults}
        for path in [path for path in self._entries if path not in now]:
            del self._entries[path]
        changed = [path for path, mark in now.items() if path not in self._entries or self._entries[path].mark != mark]
        for path in changed:
            known = self._entries.get(path)
            self._entries[path] = _read(path, now[path], known.theme if known is not None else None)
        after = self.themes
        still = {path for path, entry in self._entries.items() if entry.faults}
        return ThemeNews(
            read=tuple(name for name in {**before, **after} if before.get(name) != after.get(name)),
            broken=tuple(path for path in changed if path in still),
            mended=tuple(sorted(faulty - still)),
        )


def _files(folder: Path) -> Iterable[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES)[:_MOST_FILES]
    except OSError:
        # A folder that is not there holds no themes.
        return ()


def _mark(path: Path) -> Mark | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(path: Path, mark: Mark, before: ThemeFile | None) -> _Entry:
    if mark[2] > _MOST_BYTES:
        return _Entry(mark, before, (Fault(message="the file is too large for a theme", file=str(path)),))
    try:
        text = read_regular(path)
        ready = ready_theme(path, text) if path.parent == packaged_folder() else None
        return _Entry(mark, ready or load_theme(str(path), text))
    except NodusError as error:
        return _Entry(mark, before, error.faults)
    except OSError as error:
        return _Entry(mark, before, (Fault(message=f"it cannot be read: {error.strerror or error}", file=str(path)),))
