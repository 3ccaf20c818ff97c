"""Where a file is, in as few words as say it: from the folder that the console works in, the examples, the home folder, or the root."""

from pathlib import Path

from nodus_tui.authoring.finding import example_words


def place_words(path: Path, folder: Path | None = None) -> str:
    """A path for people: below `folder` without it, an example as the list calls it, below their home folder with `~`, else as it is."""
    if folder is not None and path != folder and path.is_relative_to(folder):
        return str(path.relative_to(folder))
    if (example := example_words(path)) is not None:
        return example
    home = _home()
    if home is not None and path.is_relative_to(home):
        return str("~" / path.relative_to(home))
    return str(path)


def _home() -> Path | None:
    """The home folder; None where there is none, or where it is the root, below which everything lies."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home if home != Path(home.anchor) else None
