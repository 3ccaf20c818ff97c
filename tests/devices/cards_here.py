"""Cards of the tests' NVML that no other test on this machine knows: what is claimed of a device is claimed before the whole machine."""

import uuid
from typing import Any

from nvml_here import Card, card


def own_card(number: int, name: str = "NVIDIA H100 80GB HBM3", **changes: Any) -> Card:
    """An idle device of this test's own."""
    made = card(number, **{"utilization": 0, "memory_used": 0, **changes})
    made.uuid, made.name = f"GPU-{uuid.uuid4()}", name
    return made
