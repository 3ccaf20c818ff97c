"""Documents that a program made, brought to the form in which the reader gives those of a file."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from math import isfinite

from nodus_tui.contract.spec_loading.finding import Finding
from nodus_tui.contract.spec_loading.paths import Path
from nodus_tui.contract.spec_loading.yaml_reader import MAX_DEPTH, MAX_VALUES, SourceDocument
from nodus_tui.contract.wording import escaped

_LEAVES = (str, int, Decimal, timedelta, type(None))


class _Plainer:
    def __init__(self, source: SourceDocument) -> None:
        self._source = source
        self._values = 0
        self.found: list[Finding] = []

    def plain(self, value: object, path: Path) -> object:
        """The value with dicts for mappings and tuples for sequences; what cannot be in a document is told and left out."""
        self._values += 1
        if self._values > MAX_VALUES or len(path) > MAX_DEPTH:
            self._refuse(path, f"the document is deeper than {MAX_DEPTH} levels or has more than {MAX_VALUES:,} values")
            return None
        if isinstance(value, Mapping):
            return self._mapping(value, path)
        if isinstance(value, list | tuple):
            return tuple(self.plain(each, (*path, index)) for index, each in enumerate(value))
        if isinstance(value, _LEAVES) or (isinstance(value, float) and isfinite(value)):
            return value
        what = str(value) if isinstance(value, float) else f"a value of type {escaped(type(value).__name__)}"
        self._refuse(path, f"{what} cannot stand in a document")
        return None

    def _mapping(self, value: Mapping[object, object], path: Path) -> dict[str, object]:
        content: dict[str, object] = {}
        for key, part in value.items():
            if isinstance(key, str):
                content[key] = self.plain(part, (*path, key))
            else:
                self.found.append(Finding(path, f"a key is text, not a value of type {escaped(type(key).__name__)}"))
        return content

    def _refuse(self, path: Path, message: str) -> None:
        # Beyond the limits every value would be refused: one fault says it.
        if self._values <= MAX_VALUES + 1:
            self.found.append(Finding(path, message))
        self._source.spoiled.add(path)


def plain_document(document: Mapping[str, object], index: int) -> tuple[SourceDocument, list[Finding]]:
    """The document as the reader would give it, without positions, and what cannot be in a document."""
    source = SourceDocument(index)
    plainer = _Plainer(source)
    source.value = plainer.plain(document, ())
    return source, plainer.found
