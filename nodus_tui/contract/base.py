"""The base of every contract type: frozen, strict about unknown fields, camelCase outside and snake_case inside."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue

_ACRONYMS = {"usd": "USD", "url": "URL", "uri": "URI"}


def camel_case(name: str) -> str:
    """The documents' spelling of a field: `per_run_max_cost_usd` is `perRunMaxCostUSD`."""
    first, *rest = name.split("_")
    return first + "".join(_ACRONYMS.get(word, word[:1].upper() + word[1:]) for word in rest)


class ContractModel(BaseModel):
    """A value that crosses the contract."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=camel_case,
        populate_by_name=True,
        ser_json_inf_nan="null",
        protected_namespaces=(),
        # A kind that a process never meets costs it nothing at start; so defaults that are models are made by model_construct.
        defer_build=True,
    )

    def to_document(self) -> dict[str, JsonValue]:
        """This value as JSON types under its camelCase names: money as strings, times in UTC."""
        return self.model_dump(mode="json", by_alias=True)


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs its zone")
    return moment.astimezone(UTC)


UTCTime = Annotated[datetime, AfterValidator(_in_utc)]
"""A moment, always aware and always in UTC."""
