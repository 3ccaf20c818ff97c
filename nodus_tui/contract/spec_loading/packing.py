"""A bundle as JSON, places and marks included, so that it can be checked or applied elsewhere and its faults still name their lines."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.registry import KINDS
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, Position, SpecBundle


def pack_bundle(bundle: SpecBundle) -> str:
    """The bundle as JSON text."""
    return json.dumps(
        {
            "documents": [_packed(each) for each in bundle],
            "checkingOnly": bundle.checking_only,
            "unread": sorted(list(pair) for pair in bundle.unread),
        }
    )


def _packed(document: LoadedDocument) -> dict[str, Any]:
    return {
        "document": document.resource.to_document(),
        "file": document.file,
        "index": document.index,
        "folder": _folder(document.folder),
        "positions": [[list(path), place.line, place.column] for path, place in document.positions.items()],
        "standIns": [list(path) for path in sorted(document.stand_ins, key=str)],
    }


def _folder(folder: Path | None) -> str | None:
    """Where relative paths start; nowhere where the folder's name is no UTF-8, which no text of JSON and of the database holds."""
    path = str(folder.absolute()) if folder else ""
    try:
        path.encode()
    except UnicodeEncodeError:
        return None
    return path or None


def unpack_bundle(text: str | bytes) -> SpecBundle:
    """The bundle of `pack_bundle`. Raises NodusError InvalidSpec when the text is no such thing, whoever sent it."""
    try:
        # Unlike the standard library's reader this one refuses halves of surrogate pairs, which no database or file can hold.
        packed = from_json(text, allow_inf_nan=False)
        return SpecBundle(
            tuple(_unpacked(each) for each in packed["documents"]),
            checking_only=bool(packed["checkingOnly"]),
            unread=frozenset((str(kind), str(name)) for kind, name in packed["unread"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise NodusError(ErrorCode.INVALID_SPEC, f"this is no bundle of documents ({type(error).__name__}); nothing was changed") from error


def _unpacked(packed: Mapping[str, Any]) -> LoadedDocument:
    return LoadedDocument(
        resource=KINDS[packed["document"]["kind"]].model_validate(packed["document"]),
        file=str(packed["file"]),
        index=int(packed["index"]),
        folder=Path(packed["folder"]) if packed["folder"] else None,
        positions={_path(path): Position(int(line), int(column)) for path, line, column in packed["positions"]},
        stand_ins=frozenset(_path(path) for path in packed["standIns"]),
    )


def _path(parts: Sequence[Any]) -> tuple[str | int, ...]:
    return tuple(part if isinstance(part, int) else str(part) for part in parts)
