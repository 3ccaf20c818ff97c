"""Tests of served models use the places of jobs, of groups and of Docker engines."""

import sys
from pathlib import Path

for neighbour in ("jobs", "backend", "sandboxes"):
    sys.path.append(str(Path(__file__).parent.parent / neighbour))
