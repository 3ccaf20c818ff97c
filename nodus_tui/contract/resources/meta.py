"""What every resource has: apiVersion, kind, metadata, spec, and a status that only the backend writes."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.wording import quoted

NAME_PATTERN = r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$"
_NAME = re.compile(NAME_PATTERN)
_NAME_RULE = "a name has 1 to 63 small letters, digits, dots and hyphens, and starts and ends with a letter or digit"


_VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,254}$"
_VARIABLE = re.compile(_VARIABLE_PATTERN)


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{quoted(name)} is no name: {_NAME_RULE}")
    return name


def _checked_variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError(f"{quoted(name)} is no environment variable's name: letters, digits and underscores, no digit first")
    return name


Name = Annotated[str, AfterValidator(_checked_name), Field(json_schema_extra={"pattern": NAME_PATTERN})]
"""The name of a resource, unique within its kind."""

EnvironmentVariable = Annotated[str, AfterValidator(_checked_variable), Field(json_schema_extra={"pattern": _VARIABLE_PATTERN})]
"""The name of an environment variable."""


class Metadata(ContractModel):
    """What a resource is called and how it is found."""

    name: Name
    project: Name | None = None
    """The project it belongs to; budgets are scoped by it."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Free pairs by which selectors find it."""


class Resource(ContractModel):
    """The common shape. Subclasses fix `api_version` and `kind` as literals and give `spec` and `status` their types."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: ContractModel
    status: ContractModel | None = None
    """Written by the backend. A spec file may carry it (as `get -o yaml` prints it); it is then ignored."""

    @property
    def name(self) -> str:
        """The name in the metadata."""
        return self.metadata.name
