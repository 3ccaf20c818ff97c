"""The process that holds a container of the harness: `python -m local_backend.training.container_client REQUEST PROBLEM`.

Its environment names the engine, and what of it is meant for the harness is the container's. It writes what the container writes, passes
SIGTERM on, and ends as the container's program did. A failure of the engine is a sentence in its output and in the file PROBLEM.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from local_backend.handed_over import OtherCodeError
from local_backend.jobs.process_tree import die_with_parent
from local_backend.sandboxes.interface import SandboxError
from local_backend.training.contained import container_environ
from local_backend.training.container import Container, ContainerRequest

_FAILED = 125
"""As of `docker run`: the engine failed, and not the program."""


def _take(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


async def _run(request: ContainerRequest) -> int:
    container = Container(request, container_environ(os.environ), _take)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, container.ask)
    return await container.run(os.environ)


def main() -> int:
    """Run it to its end."""
    die_with_parent()
    try:
        return asyncio.run(_run(ContainerRequest.from_text(Path(sys.argv[1]).read_text(encoding="utf-8"))))
    except (OtherCodeError, SandboxError) as error:
        _take(f"\n{error}\n".encode())
        Path(sys.argv[2]).write_text(json.dumps({"problem": str(error)}), encoding="utf-8")
        return _FAILED


if __name__ == "__main__":
    sys.exit(main())
