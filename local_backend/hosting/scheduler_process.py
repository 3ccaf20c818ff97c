"""The detached scheduler's entry: `python -m local_backend.hosting.scheduler_process --home FOLDER [--config FILE] [--detach]`.

With --detach it leaves its starter at once and tells on its standard output, in one line of JSON, what came of it: ready, held by another
process, or the problem. It imports nothing heavy before that leaving: a fork is cheap and safe only while there is one thread.
"""

import argparse
import os
import signal
from pathlib import Path


def main() -> None:
    """Run, detached where asked."""
    parser = argparse.ArgumentParser(description="The scheduler of a workspace.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--detach", action="store_true")
    options = parser.parse_args()
    if options.detach and os.fork() > 0:
        # Nobody's child any more: its starter need not wait for it, and no terminal's end reaches it.
        os._exit(0)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.umask(0o077)
    from local_backend.hosting.scheduler_service import run  # noqa: PLC0415 - after leaving the starter

    run(options.home, options.config, detached=options.detach)


if __name__ == "__main__":
    main()
