"""Budget: one ceiling over compute and model spend together, for everything, a project, or what a selector finds."""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.addresses import EmailAddress
from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.money import USD, PositiveUSD
from nodus_tui.contract.resources.hardware import Command
from nodus_tui.contract.resources.meta import Metadata, Name, Resource

Percent = Annotated[int, Field(ge=1, le=1000)]
"""Percent of the limit; above 100 is for budgets that only notify."""


class Selector(ContractModel):
    """Finds resources by their labels."""

    match_labels: dict[str, str] = Field(min_length=1, max_length=64)
    """All of these pairs must be among a resource's labels."""


class BudgetScope(ContractModel):
    """What counts. With both a project and a selector, only what fits both."""

    project: Name | None = None
    """Absent means every project."""
    selector: Selector | None = None

    def covers(self, metadata: Metadata) -> bool:
        """Whether what has this project and these labels counts under it."""
        wanted = self.selector.match_labels if self.selector is not None else {}
        return (self.project is None or self.project == metadata.project) and wanted.items() <= metadata.labels.items()


class BudgetNotify(ContractModel):
    """Who is told beside the console and the log, where every notice stands."""

    emails: tuple[EmailAddress, ...] = Field(default=(), max_length=32)
    """Sent through the SMTP server of the configuration."""
    command: Command = ()
    """Run on the backend's machine, with the notice as JSON on its standard input."""


class BudgetSpec(ContractModel):
    """The ceiling and what happens at it. It counts sandbox time and model spend together."""

    limit_usd: PositiveUSD
    period: Literal["Monthly", "Total"] = "Total"
    """`Monthly` is a UTC calendar month; `Total` counts from creation."""
    scope: BudgetScope = BudgetScope.model_construct()
    """Absent means everything."""
    action: Literal["Block", "Notify"] = "Block"
    """`Block` refuses new work and stops running work gracefully; `Notify` only sends notices."""
    thresholds: tuple[Percent, ...] = Field(default=(50, 80, 100), max_length=16)
    """Percent of the limit at which a notice is sent, each once per period."""
    notify: BudgetNotify = BudgetNotify.model_construct()

    @field_validator("thresholds")
    @classmethod
    def _rising(cls, thresholds: tuple[int, ...]) -> tuple[int, ...]:
        if any(low >= high for low, high in pairwise(thresholds)):
            raise PydanticCustomError("thresholds_order", "thresholds must rise, each named once, such as [50, 80, 100]")
        return thresholds


class BudgetStatus(ContractModel):
    """What the backend knows of a Budget in its present period."""

    spent_usd: USD
    left_usd: USD
    blocking: bool = False
    """Whether new work in scope is refused now."""
    message: str = ""
    thresholds_told: tuple[int, ...] = ()
    period_started_at: UTCTime
    period_ends_at: UTCTime | None = None
    """Null for `Total`."""
    updated_at: UTCTime


class Budget(Resource):
    """One ceiling over compute and model spend together."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["Budget"] = "Budget"
    spec: BudgetSpec
    status: BudgetStatus | None = None
