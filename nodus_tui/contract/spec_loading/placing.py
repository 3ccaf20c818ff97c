"""A document's value against a model, and each fault with the place in the file where it stands."""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from nodus_tui.contract.errors import Fault
from nodus_tui.contract.spec_loading.bundle import Position, path_text
from nodus_tui.contract.spec_loading.finding import Finding
from nodus_tui.contract.spec_loading.sentences import findings
from nodus_tui.contract.spec_loading.yaml_reader import SourceDocument

Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], value: Mapping[str, object], source: SourceDocument) -> tuple[Model | None, list[Finding]]:
    """The model's instance, or the faults of the value that the reader has not told already."""
    try:
        return model.model_validate(value, strict=True, by_alias=True, by_name=False), []
    except ValidationError as error:
        return None, [finding for finding in findings(error, model) if not _told(finding, source)]


def _told(finding: Finding, source: SourceDocument) -> bool:
    """Whether the reader has told a fault of which this one is only a consequence."""
    ancestors = {finding.path[:length] for length in range(len(finding.path) + 1)}
    return bool(ancestors & source.spoiled) or (finding.missing and finding.path[:-1] in source.incomplete)


def placed(finding: Finding, source: SourceDocument, file: str) -> Fault:
    """A finding with the place where its value or key stands, or the nearest parent that does."""
    at = finding.path
    place: Position | None = source.key_positions.get(at) if finding.at_key else None
    while place is None:
        place = source.positions.get(at)
        if not at:
            break
        at = at[:-1]
    return Fault(
        message=finding.message,
        file=file,
        document=source.index,
        line=place.line if place else 0,
        column=place.column if place else 0,
        path=path_text(finding.path),
        suggestion=finding.suggestion,
    )
