"""What both sides know of the environment in which lm-evaluation-harness runs: its versions, its place, what is installed. Pure."""

from pathlib import Path
from typing import Literal

from nodus_tui.contract.base import ContractModel

HARNESS = "lm-evaluation-harness"
HARNESS_VERSION = "0.4.13"
TORCH = "torch==2.13.0"

Purpose = Literal["gpu", "cpu", "api"]
"""With torch for accelerators, with torch for processors only, or without torch, for models that a server serves."""

CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
"""Where torch is found without the libraries for accelerators, which are larger than all the rest."""


def managed_folder(cache: Path) -> Path:
    """The virtual environment that `nodus-tui evaluate setup` makes, below the folder of things that can be made again."""
    return cache / "evaluate" / f"lm-eval-{HARNESS_VERSION}"


def managed_python(cache: Path) -> Path:
    """Its Python."""
    return managed_folder(cache) / "bin" / "python"


def requirements(purpose: Purpose) -> tuple[str, ...]:
    """What is installed there."""
    if purpose == "api":
        return (f"lm-eval[api]=={HARNESS_VERSION}",)
    return (f"lm-eval[hf,api]=={HARNESS_VERSION}", TORCH, "gguf")


class EvaluationFact(ContractModel):
    """What a backend's machine has for TrainingJobs."""

    python: str = ""
    """The Python that has the harness; empty where there is none."""
    source: str = ""
    """Why that one."""
    harness: str = ""
    """Its version."""
    torch: str = ""
    """Torch's; empty where only served models can be scored."""
    image: str = ""
    """The image that the harness runs in; empty where it runs on the machine itself. Without a version it was not fetched yet."""
    problem: str = ""
    """Why no TrainingJob can run, and what to do; empty where one can."""
