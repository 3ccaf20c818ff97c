"""Another process that runs a place's scheduler."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from engine_place import Place


@asynccontextmanager
async def child(place: Place, *documents: dict[str, object]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process that runs the scheduler and has applied the documents."""
    config = place.folder / "config.yaml"
    config.write_text(place.configuration, encoding="utf-8")
    spec = place.folder / "spec.yaml"
    spec.write_text("\n---\n".join(json.dumps(document) for document in documents), encoding="utf-8")
    script = Path(__file__).with_name("campaign_child.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), str(place.home), str(config), str(spec), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"applied\n"
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
