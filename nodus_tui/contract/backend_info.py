"""What a backend says of itself: who does the work, its models, its environments, and what it found out about its machine."""

from typing import Literal

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.environment_check import GoldRecord
from nodus_tui.contract.evaluation import EvaluationFact
from nodus_tui.contract.sandboxes import SandboxEngineFact


class ModelFact(ContractModel):
    """One family of the model catalogue, as people need to see it. No key is in it."""

    family: str
    provider: str
    name: str
    base_url: str = ""
    price: str
    """In words: `$0.80 in, $4.00 out a million tokens`, `free`, or why it is unknown."""
    price_source: str = ""
    usable: bool
    problem: str = ""
    """Why it cannot be used, and what to do; empty when it can."""
    missing_key: str = ""
    """The environment variable that lacks for it, where that is the problem: the same one may lack for several families."""
    simulated: bool = False


class EnvironmentFact(ContractModel):
    """One environment that comes with the backend."""

    name: str
    version: str
    description: str
    splits: tuple[str, ...]
    tasks: int | None
    """Tasks of one seed in each split; null where there is no end."""
    source: str
    problem: str = ""
    """Why it cannot be used here, and what to do; empty when it can."""
    grader: str = ""
    """How answers are judged, in a few words."""
    in_sandbox: bool = False
    """Whether judging needs sandboxes."""


class BackendInfo(ContractModel):
    """What a backend says of itself."""

    name: str
    version: str
    workspace: str
    scheduling: bool
    """Whether this process runs the workspace's scheduler."""
    scheduler_elsewhere: bool
    """Whether another process does."""
    can_stop_groups: bool = False
    """Whether `stop_work` with groups reaches whoever works on them, so that what one command launched can be stopped by it alone."""
    models: tuple[ModelFact, ...] = ()
    environments: tuple[EnvironmentFact, ...] = ()
    """The catalogue's; those that users applied are listed as resources."""
    gold_checks: tuple[GoldRecord, ...] = ()
    """The last check of each environment that was checked here."""
    sandbox: SandboxEngineFact | None = None
    """Which engine makes sandboxes; null where nobody has looked yet."""
    sandboxes_running: int = 0
    """Those of this workspace that run now."""
    evaluation: EvaluationFact | None = None
    """What TrainingJobs run with; null where nobody has looked."""
    notes: tuple[str, ...] = ()
    role: Literal["viewer", "operator"] = "operator"
    """What the one who asks may do: a viewer looks, checks and estimates; an operator acts."""
