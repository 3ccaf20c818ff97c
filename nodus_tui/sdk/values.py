"""What the Python interface gives: statuses and results whose fields are attributes, and readable by their documented names as well."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import overload

from msgspec import Struct
from pydantic import JsonValue

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.phases import CaseState, Reason
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupStatus, Coverage
from nodus_tui.contract.results import CaseResult, GroupResults


class Readable:
    """Fields by the names of the JSON documents (`passRate`), beside the attributes (`pass_rate`)."""

    def to_document(self) -> dict[str, JsonValue]:
        """All fields as JSON types: money as text, times in UTC."""
        raise NotImplementedError

    def get(self, name: str, default: JsonValue = None) -> JsonValue:
        """The field of a name, as a JSON type; the default where there is no such field. An unknown figure is None."""
        return self.to_document().get(name, default)

    def __getitem__(self, name: str) -> JsonValue:
        return self.to_document()[name]


class EvaluationStatus(ContractModel, Readable):
    """How an evaluation stands. A pass rate means nothing without its coverage."""

    cases: int
    pending: int
    """Cases that have not ended."""
    coverage: Coverage
    pass_rate: float | None
    """0 to 1; None while nothing is scored."""
    standard_error: float | None
    ci95: tuple[float, float] | None
    mean_reward: float | None
    verdicts: dict[str, int]
    """Cases by verdict, or by the reason for which they are unscored."""


class GroupStatus(AgentGroupStatus, Readable):
    """How a group stands."""

    @property
    def evaluation(self) -> EvaluationStatus:
        """The part of it that is about verdicts."""
        return EvaluationStatus(
            cases=self.coverage.total,
            pending=self.pending,
            coverage=self.coverage,
            pass_rate=self.pass_rate,
            standard_error=self.standard_error,
            ci95=self.ci95,
            mean_reward=self.mean_reward,
            verdicts=self.verdicts,
        )

    @property
    def cost(self) -> Decimal:
        """US dollars spent on models so far."""
        return self.money.model_usd

    @classmethod
    def of(cls, group: AgentGroup) -> "GroupStatus":
        """The status of a group that a backend gave."""
        if group.status is None:
            raise RuntimeError(f"the backend gave {group.name} without a status")
        return cls.model_validate(dict(group.status))


class Case(CaseResult, Readable):
    """The result of one case: a task and a repetition."""


class Results(Sequence[Case]):
    """The results of a group, one item a case, in order of tasks; `summary` has the figures over all of them."""

    def __init__(self, summary: GroupResults) -> None:
        self.summary = summary
        self._cases = tuple(Case.model_validate(dict(each)) for each in summary.results)

    @overload
    def __getitem__(self, place: int) -> Case: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Case]: ...

    def __getitem__(self, place: int | slice) -> Case | Sequence[Case]:
        return self._cases[place]

    def __len__(self) -> int:
        return len(self._cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self._cases)


class Answer(Struct, frozen=True):
    """What became of one input of a group without evaluation."""

    input_id: str
    text: str | None
    """The last reply; None where the run did not come to its answer, and then `reason` and `message` say why."""
    state: CaseState
    reason: Reason | None
    message: str
    cost_usd: Decimal
    run: str
