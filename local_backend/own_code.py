"""Where a process that we start finds the code that runs here: it must be the same, wherever this one was imported from."""

import os
from collections.abc import Mapping
from pathlib import Path


def own_code(environ: Mapping[str, str]) -> str:
    """The PYTHONPATH of a process of ours, from the environment that this one was started with; it may be empty."""
    # Site-packages must not come before the standard library.
    root = Path(__file__).resolve().parents[1]
    paths = [] if root.name in {"site-packages", "dist-packages"} else [str(root)]
    paths += [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return os.pathsep.join(dict.fromkeys(paths))
