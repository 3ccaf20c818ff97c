"""STAND-IN for torchrun: the module that is named, in so many processes."""

import os
import subprocess
import sys

count = int(sys.argv[sys.argv.index("--nproc-per-node") + 1])
module = sys.argv[sys.argv.index("-m") :]
started = [
    subprocess.Popen([sys.executable, *module], env={**os.environ, "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count)})
    for rank in range(count)
]
sys.exit(max(each.wait() for each in started))
