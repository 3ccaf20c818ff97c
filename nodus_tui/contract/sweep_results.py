"""Results of a Sweep: the documented interface of `results sweep/NAME -o json` and of the console's grid (docs/results.md)."""

from pydantic import Field

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.money import USD
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent_group import Coverage
from nodus_tui.contract.resources.sweep import Scalar
from nodus_tui.contract.resources.training_job import TaskScore


class SweepAxis(ContractModel):
    """One way in which the cells differ."""

    name: str
    """`accelerator`, `agent`, `shard`, `repetition`, or the parameter's own name."""
    values: tuple[Scalar, ...]
    """In the order of the spec."""


class Rate(ContractModel):
    """A pass rate with what must stand beside it."""

    pass_rate: float | None
    """0 to 1; null while nothing is scored."""
    standard_error: float | None
    """Clustered by task: the answers to one task, in whichever cells, belong together."""
    standard_error_method: str
    ci95: tuple[float, float] | None
    ci_method: str
    mean_reward: float | None
    coverage: Coverage


class SweepCell(ContractModel):
    """One cell: where it stands on the axes, what runs there, and what came of it.

    In the event stream a cell is an object of kind `SweepCell` whose status carries the changed fields under these names.
    """

    name: str
    """Also that of its group or job."""
    kind: str
    """`AgentGroup`, `Job` or `TrainingJob`."""
    launched: bool
    """Whether its group or job was made."""
    axes: dict[str, Scalar]
    """Its value on each axis."""
    phase: GroupPhase
    """As an AgentGroup's; Completed for a job that succeeded. Stalled and Pending ones wait, and `message` says for what."""
    reason: str | None = None
    message: str = ""
    cap_usd: USD
    cost_usd: USD
    """Model spend of a group, cost of a job, earlier attempts included."""
    sandbox_usd: USD
    """What a group's sandboxes cost, which counts against no cap of the sweep."""
    rate: Rate | None = None
    """Of a group with evaluation that was launched."""
    scores: tuple[TaskScore, ...] = ()
    """Of a TrainingJob."""
    exit_code: int | None = None
    """Of a job."""
    simulated: bool = False
    notional_price: bool = False
    started_at: UTCTime | None = None
    ended_at: UTCTime | None = None


class PooledTask(ContractModel):
    """The scored answers to one task."""

    task_id: str
    answers: int
    correct: int


class PooledCells(ContractModel):
    """Cells that differ by shard and repetition only, taken together: their tasks are disjoint, or the same tasks answered again."""

    axes: dict[str, Scalar]
    """What they have in common; nothing where shard and repetition are the only axes."""
    cells: tuple[str, ...]
    rate: Rate
    cost_usd: USD
    tasks: tuple[PooledTask, ...]
    """By which pools are compared: tasks with at least one scored answer, in order of their names."""


class SweepCost(ContractModel):
    """What a sweep cost, and its cap. spent + reserved + left = cap."""

    cost_usd: USD
    """Everything so far."""
    spent_usd: USD
    """By cells that are not going."""
    reserved_usd: USD
    """The caps of the cells that are going."""
    left_usd: USD
    cap_usd: USD
    sandbox_usd: USD
    """Of the cells' groups; no part of the above."""


class SweepResults(ContractModel):
    """The results of one sweep as they stand."""

    sweep: str
    phase: GroupPhase
    message: str = ""
    axes: tuple[SweepAxis, ...]
    cost: SweepCost
    cells: tuple[SweepCell, ...]
    """In the order in which they start."""
    pooled: tuple[PooledCells, ...] = Field(default=())
    """Of a sweep over AgentGroups with evaluation: one for each combination of the other axes' values."""
    simulated: bool = False
    notional_price: bool = False
