"""The themes that come with the console, read before: a start draws with one of them and reads no YAML for it.

What a file says is taken from here only while its text is the one that was read; so a file that somebody changes shows what it says.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from nodus_tui.theming import ThemeFile, load_theme

READY = "ready.json"
"""The file beside the themes in which they stand."""


def ready_theme(path: Path, text: bytes) -> ThemeFile | None:
    """The theme of a file with this text, if it was read before; None where it must be read."""
    known = _kept(path.parent / READY).get(path.name)
    if known is None or known["text"] != sha256(text).hexdigest():
        return None
    return ThemeFile.of_checked(known["theme"])


@lru_cache(maxsize=4)
def _kept(file: Path) -> Mapping[str, Mapping[str, Any]]:
    try:
        kept: dict[str, dict[str, Any]] = json.loads(file.read_bytes())
    except FileNotFoundError:
        # The user's own themes are read as they are.
        return {}
    return kept


def made_ready(files: Iterable[Path]) -> str:
    """What stands in the file beside these themes. Raises NodusError for a file that is no theme."""
    made: dict[str, object] = {}
    for path in sorted(files):
        text = path.read_bytes()
        made[path.name] = {"text": sha256(text).hexdigest(), "theme": load_theme(str(path), text).model_dump(mode="json")}
    return json.dumps(made, indent=1) + "\n"
