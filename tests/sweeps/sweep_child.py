"""A child process for tests: it opens a workspace as its scheduler, applies a spec, and works until it is killed.

usage: sweep_child.py HOME CONFIG SPEC
"""

import asyncio
import sys
from pathlib import Path

from local_backend.backend import open_backend
from nodus_tui.contract.backend import BackendOptions
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs


async def main() -> None:
    """Work."""
    home, config, spec = map(Path, sys.argv[1:])
    async with await open_backend(BackendOptions(home, config, "work")) as backend:
        await backend.apply(load_specs([SpecSource(spec.name, spec.read_bytes(), spec.parent)]))
        print("applied", flush=True)
        await asyncio.Event().wait()


asyncio.run(main())
