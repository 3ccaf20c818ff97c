"""The state that a recording has told of up to a place: documents, as a snapshot and the batches after it give them. Pure."""

from collections.abc import Iterable
from typing import get_args

from pydantic import JsonValue, ValidationError

from nodus_tui.contract.base import camel_case
from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.registry import API_VERSIONS, KINDS
from nodus_tui.contract.sweep_results import SweepCell, SweepResults

Document = dict[str, JsonValue]


def _snapshot_fields() -> dict[str, str]:
    """Each kind that a snapshot holds, with the field that holds it."""
    fields: dict[str, str] = {}
    for name, field in Snapshot.model_fields.items():
        for part in get_args(field.annotation):
            if isinstance(part, type) and issubclass(part, Resource):
                fields[part.__name__] = name
    return fields


FIELDS = _snapshot_fields()


CELL = "SweepCell"
"""The kind under which the stream tells of a sweep's cells, which are in no snapshot."""

_SOME_CELL: Document = {
    "name": "some",
    "kind": "AgentGroup",
    "launched": False,
    "axes": {},
    "phase": "Pending",
    "capUSD": "0",
    "costUSD": "0",
    "sandboxUSD": "0",
}


class RecordedState:
    """Documents by kind and name, in the order in which they came."""

    def __init__(self) -> None:
        self.cursor = 0
        self.left_out = 0
        """How many objects the last snapshot had to leave out."""
        self._documents: dict[str, dict[str, Document]] = {kind: {} for kind in FIELDS}

    def load(self, snapshot: JsonValue) -> None:
        """Take a snapshot's document instead of what was known."""
        if not isinstance(snapshot, dict):
            return
        for kind, field in FIELDS.items():
            items = snapshot.get(camel_case(field))
            found = items if isinstance(items, list) else []
            self._documents[kind] = {name: item for item in found if isinstance(item, dict) and (name := _name_of(item))}
        cursor = snapshot.get("cursor")
        self.cursor = cursor if isinstance(cursor, int) else 0

    def fold(self, event: Event, *, check: bool = True) -> bool:
        """Take one event; says whether the object that it tells of stays as its kind says. One that would not is as it was before.

        Without `check` it is not looked at, which is many times as fast; then `snapshot` leaves out what is not as it should be.
        """
        if event.kind == CELL:
            return _fits_a_cell(event.status)
        known = self._documents.get(event.kind)
        if known is None:
            return True
        if event.change == "Deleted":
            known.pop(event.name, None)
            return True
        before = known.get(event.name)
        if event.metadata:
            after: Document = {
                "apiVersion": API_VERSIONS[event.kind],
                "kind": event.kind,
                "metadata": event.metadata,
                "spec": event.spec,
                "status": event.status,
            }
        elif before is not None:
            after = {**before, "spec": _merged(before, "spec", event.spec), "status": _merged(before, "status", event.status)}
        else:
            return True
        if check and resource_of(event.kind, after) is None:
            return False
        known[event.name] = after
        return True

    def snapshot(self, runs_of: str | None) -> Snapshot:
        """The state as a snapshot, with the runs that were asked for; what is not as its kind says is left out."""
        parts: dict[str, tuple[Resource, ...]] = {}
        self.left_out = 0
        for kind, field in FIELDS.items():
            documents = list(self._documents[kind].values())
            if kind == "AgentRun":
                documents = [each for each in documents if runs_of is not None and runs_of in ("", _group_of(each))]
            parts[field] = _in_turn(documents, kind)
            self.left_out += len(documents) - len(parts[field])
        return Snapshot.model_validate({"cursor": self.cursor, **parts})

    def get(self, kind: str, name: str) -> Resource | None:
        """One resource; None where it is not known."""
        document = self._documents.get(kind, {}).get(name)
        return None if document is None else resource_of(kind, document)

    def knows(self, kind: str) -> bool:
        """Whether a recording tells of all resources of a kind."""
        return kind in self._documents

    def all(self, kind: str) -> tuple[Resource, ...]:
        """All of a kind."""
        return _in_turn(self._documents[kind].values(), kind)


def _in_turn(documents: Iterable[Document], kind: str) -> tuple[Resource, ...]:
    """What the documents describe, in order of creation: the stream may tell first of what was made later."""
    return tuple(sorted((found for each in documents if (found := resource_of(kind, each)) is not None), key=_turn))


def _turn(resource: Resource) -> tuple[bool, float, str, int, int]:
    created = getattr(resource.status, "created_at", None)
    known = (created is not None, created.timestamp() if created is not None else 0.0)
    # A group's first runs are made together.
    return (
        (*known, resource.spec.group or "", resource.spec.case, resource.spec.attempt)
        if isinstance(resource, AgentRun)
        else (*known, "", 0, 0)
    )


def resource_of(kind: str, document: Document) -> Resource | None:
    """The resource that a document describes; None where it describes none, or one without a status, which every backend gives."""
    try:
        found = KINDS[kind].model_validate(document)
    except (ValidationError, RecursionError, KeyError):
        return None
    return found if found.status is not None else None


def cells_after(results: SweepResults, changes: Iterable[Event]) -> SweepResults:
    """The results with what the stream told of the cells since."""
    cells = {cell.name: cell for cell in results.cells}
    for event in changes:
        known = cells.get(event.name)
        if known is not None:
            cells[event.name] = SweepCell.model_validate({**known.to_document(), **event.status})
    return results.model_copy(update={"cells": tuple(cells.values())})


def _fits_a_cell(status: Document) -> bool:
    try:
        SweepCell.model_validate({**_SOME_CELL, **status})
    except (ValidationError, RecursionError):
        return False
    return True


def _merged(document: Document, part: str, changed: Document) -> JsonValue:
    known = document.get(part)
    return {**known, **changed} if isinstance(known, dict) else changed


def _name_of(document: Document) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _group_of(document: Document) -> str:
    spec = document.get("spec")
    group = spec.get("group") if isinstance(spec, dict) else None
    return group if isinstance(group, str) else ""
