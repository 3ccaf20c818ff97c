"""The NVML library of the hardware tests, and the workspaces of the jobs' and the backend's, serve here too."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent.parent / folder) for folder in ("hardware", "jobs", "backend")]
