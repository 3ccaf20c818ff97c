"""A value of the contract after some of its fields were told anew: those are checked, all others stay the objects that they are. Pure.

Of thousands of runs a few fields change, thousands of times a second. To write a whole status down and read it again for each change takes
almost three times as long, and leaves each run with amounts and times of its own in twice the memory.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from nodus_tui.contract.base import ContractModel

Value = TypeVar("Value", bound=ContractModel)


def merged(known: Value, changes: Mapping[str, JsonValue]) -> Value:
    """`known` with these fields changed, which stand under their camelCase names; raises ValidationError as reading all of it would."""
    checks = _checks(type(known))
    try:
        taken = {field: adapter.validate_python(value) for name, value in changes.items() for field, adapter in (checks[name],)}
    except (KeyError, ValidationError):
        # What is wrong is told by the whole value: where, and of what.
        return type(known).model_validate({**known.to_document(), **changes})
    return known.model_copy(update=taken)


@lru_cache(maxsize=64)
def _checks(kind: type[ContractModel]) -> Mapping[str, tuple[str, TypeAdapter[Any]]]:
    """What checks each field, by its name in documents; nothing for a kind whose fields are checked together."""
    decorated = kind.__pydantic_decorators__
    if decorated.field_validators or decorated.model_validators:
        return {}
    return {field.alias or name: (name, TypeAdapter(field.rebuild_annotation())) for name, field in kind.model_fields.items()}
