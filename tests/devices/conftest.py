"""The NVML library of the hardware tests, and the workspaces of the job tests, serve here too."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent.parent / "hardware"), str(Path(__file__).parent.parent / "jobs")]
