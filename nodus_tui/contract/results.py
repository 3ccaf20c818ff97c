"""Results: the documented interface of `results -o json` and `run -o json`. Its names are fixed (docs/results.md)."""

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.money import USD
from nodus_tui.contract.phases import CaseState, GroupPhase, Reason, Verdict
from nodus_tui.contract.resources.agent_group import Coverage, Shard


class CaseResult(ContractModel):
    """One case: a task and a repetition, told by its current run."""

    task_id: str
    repetition: int
    run: str
    state: CaseState
    verdict: Verdict | None
    """Correct, Incorrect or InvalidOutput; null when unscored, and then `reason` says why."""
    reward: float | None
    reason: Reason | None
    message: str
    cost_usd: USD
    """What counts against `capUSD`: earlier attempts that this run did not go on from are in the group's cost only."""
    cap_usd: USD
    input_tokens: int
    output_tokens: int
    queued_seconds: float
    duration_seconds: float | None


class ResultCost(ContractModel):
    """What the group cost, and its cap on model spend."""

    model_usd: USD
    sandbox_usd: USD
    unconfirmed_usd: USD
    cap_usd: USD


class ResultEnvironment(ContractModel):
    """What was scored: enough to run the same eval again."""

    name: str
    version: str
    digest: str
    split: str
    seed: int
    shard: Shard | None = None
    """The slice of the seed's task order that was scored; null where it is the order's beginning."""
    images: tuple[str, ...] = ()
    """The images of the sandboxes that agents worked and answers were graded in, with their digests."""
    weaker_grader: str = ""
    """Why its grader can be trusted less than a grader of our own, as a sentence; empty where it cannot."""


class ResultAgent(ContractModel):
    """Who was scored."""

    name: str
    revision: int


class GroupResults(ContractModel):
    """The results of one group. A pass rate is never given without its coverage and its error."""

    group: str
    phase: GroupPhase
    pass_rate: float | None
    """0 to 1; null while nothing is scored."""
    standard_error: float | None
    """Of the pass rate, clustered by task; null with fewer than two tasks scored."""
    standard_error_method: str
    ci95: tuple[float, float] | None
    ci_method: str
    mean_reward: float | None
    coverage: Coverage
    pending: int
    cost: ResultCost
    environment: ResultEnvironment | None
    agent: ResultAgent
    model: str
    simulated: bool
    notional_price: bool
    results: tuple[CaseResult, ...]


class SolvedTasks(ContractModel):
    """Tasks that both answered, by who solved them: a task is solved where more than half of its scored answers are correct."""

    both: int
    first_only: int
    second_only: int
    neither: int


class PairedDifference(ContractModel):
    """How one set of answers differs from another on the tasks that both answered, task by task. Figures are fractions; first − second."""

    first: str
    second: str
    tasks: int
    """Tasks with scored answers in both."""
    difference: float | None
    """The mean of the tasks' differences; null with fewer than two tasks in common."""
    standard_error: float | None
    """Of that mean: the tasks' own difficulty cancels out."""
    ci95: tuple[float, float] | None
    unpaired_standard_error: float | None
    """What two separate pass rates would give."""
    correlation: float | None
    only_first: int
    """Tasks with scored answers in the first alone, which are left out."""
    only_second: int
    solved: SolvedTasks
    notes: tuple[str, ...] = ()
    """What a reader should know before they trust the figures, as sentences."""
