"""Make screenshots/ anew: `python scripts/screenshots.py [FOLDER]`. Look at each before you commit it.

They show the recorded worlds that the tests look at, at the same places as tests/app/pictures/. So they are the same on every machine, and
a test tells, without drawing anything, when the console shows something else than they do. tests/app/shots.py says which there are.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from nodus_tui.authoring import finding

_ROOT = Path(__file__).resolve().parent.parent


def main(folder: Path) -> None:
    """Take the pictures in a workspace that is the same everywhere: home, examples, hour."""
    sys.path += [str(_ROOT / "tests" / "app"), str(_ROOT / "tests" / "view_state")]
    from shots import shoot_all  # noqa: PLC0415 - known only now
    from spec_workspace import spec_workspace  # noqa: PLC0415 - see above

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        workspace = spec_workspace(Path(home))
        os.environ.update(HOME=home, TZ="UTC")
        time.tzset()
        finding.examples_folder = lambda: workspace.examples
        os.chdir(workspace.folder)
        asyncio.run(shoot_all(folder))


if __name__ == "__main__":
    main((Path(sys.argv[1]) if len(sys.argv) > 1 else _ROOT / "screenshots").resolve())
