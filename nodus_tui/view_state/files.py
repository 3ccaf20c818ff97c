"""The files of a run as rows, and sizes in words. Their names came from a sandbox: cells make them safe."""

from collections.abc import Sequence
from datetime import datetime

from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.columns import Column


def size_text(count: int) -> str:
    """A size in at most nine cells: `812 B`, `1.4 KiB`, `3.0 MiB`."""
    if count < 1024:
        return f"{count} B"
    size = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        # What would be rounded up to a thousand of a unit is shown in the next.
        if size < 999.95:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"


def _size_cell(entry: FileEntry, _now: datetime) -> Line:
    return line(size_text(entry.size)) if entry.kind == "file" else line(muted(entry.kind))


def _path_cell(entry: FileEntry, _now: datetime) -> Line:
    if entry.kind == "folder":
        return line(muted(f"{entry.path}/"))
    if entry.kind == "link":
        return line(muted(f"{entry.path} → not followed"))
    return line(entry.path, Span(" *", Tone.GOOD) if entry.executable else "")


FILE_COLUMNS: tuple[Column[FileEntry], ...] = (
    Column("size", "SIZE", 10, _size_cell, lambda entry: entry.size, right=True),
    Column("path", "PATH", 20, _path_cell, lambda entry: entry.path, grow=400),
)


def copied_words(paths: Sequence[str], size: int, left_out: Sequence[str]) -> str:
    """What was saved where, and what was not."""
    if len(paths) == 1:
        saved = f"Saved {paths[0]} ({size_text(size)})."
    else:
        saved = f"Saved {len(paths):,} files ({size_text(size)})." if paths else "Nothing to save."
    more = f" (and {len(left_out) - 1} more)" if len(left_out) > 1 else ""
    return f"{saved} {left_out[0]}{more}." if left_out else saved
