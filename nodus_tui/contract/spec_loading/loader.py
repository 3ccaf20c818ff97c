"""From the text of spec files to resources, or to every fault of all of them at once. Reads no files itself.

`load_specs` is for who needs nothing but the texts; `read_specs` also gives what can be checked further although something is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from msgspec import Struct

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.errors import Fault, NodusError
from nodus_tui.contract.resources.meta import Metadata, Resource
from nodus_tui.contract.resources.registry import API_VERSIONS, KINDS
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, SpecBundle
from nodus_tui.contract.spec_loading.fault_order import in_file_order, listed
from nodus_tui.contract.spec_loading.finding import Finding
from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.spec_loading.paths import Path
from nodus_tui.contract.spec_loading.placing import placed, validated
from nodus_tui.contract.spec_loading.plain_documents import plain_document
from nodus_tui.contract.spec_loading.sentences import shown, without_consequences
from nodus_tui.contract.spec_loading.single_document import load_single, no_more
from nodus_tui.contract.spec_loading.yaml_reader import SourceDocument, read_documents
from nodus_tui.contract.wording import alternatives, escaped, quoted

if TYPE_CHECKING:
    from nodus_tui.contract.configuration import Configuration
    from nodus_tui.contract.spec_loading.mending import Mended


_OF_DOCUMENTS = frozenset({"apiVersion", "kind", "metadata", "spec"})


class _UnknownKind(ContractModel):
    """What can be checked of a document whose kind is not known."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: object
    status: object = None


class SpecSource(Struct, frozen=True):
    """The text of one file, or why there is none."""

    file: str
    """As it was given; `<stdin>` for standard input."""
    text: bytes = b""
    folder: FilePath | None = None
    """Where relative paths in it start."""
    problem: str = ""
    """Why it could not be read: a sentence that becomes a fault beside those of the other files."""


class ReadSpecs(Struct, frozen=True):
    """What reading spec files gave."""

    bundle: SpecBundle
    """Every document, when there is no fault. Else, for checking only, those that are valid and those that could be mended."""
    faults: tuple[Fault, ...]
    """All faults of the texts, by file and place."""
    files: tuple[str, ...]

    def refusal(self, more: Sequence[Fault] = ()) -> NodusError:
        """The InvalidSpec that tells these faults and others that were found about the same files."""
        return NodusError.invalid_spec(listed(in_file_order((*self.faults, *more), self.files)))


class _Candidate(Struct, frozen=True):
    """A document on its way to a resource."""

    source: SourceDocument
    file: str
    folder: FilePath | None
    resource: Resource | None
    faults: tuple[Fault, ...]

    @property
    def loaded(self) -> LoadedDocument | None:
        """The document, if it has no fault of its own."""
        if self.resource is None:
            return None
        return LoadedDocument(self.resource, self.file, self.source.index, self.folder, self.source.positions)

    @property
    def mended(self) -> LoadedDocument | None:
        """The document with its faulty values replaced, or None where that is not possible."""
        source = self.source
        if not (source.spoiled or source.incomplete or source.twice) and self.loaded:
            return self.loaded
        made = _mended(source)
        if made is None:
            return None
        return LoadedDocument(made.resource, self.file, source.index, self.folder, source.positions, made.stand_ins)

    @property
    def identity(self) -> tuple[str, str]:
        """Its kind, as far as that can be told, and its name as it is written; each empty where there is none."""
        source = self.source
        value = source.value if isinstance(source.value, dict) else source.beginning
        metadata = value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return _kind(value, source)[0], name if isinstance(name, str) else ""


class _Readings(Struct, frozen=True):
    """What the texts of all files gave, before anything is made of it."""

    candidates: tuple[_Candidate, ...]
    faults: tuple[Fault, ...]
    files: tuple[str, ...]
    whole: bool
    """Every file was read to its end."""
    twice: frozenset[tuple[str, str]]
    """Kind and name of documents that stand twice."""


def load_specs(sources: Sequence[SpecSource]) -> SpecBundle:
    """All documents of all files, in order.

    Raises NodusError InvalidSpec with every fault of every file: syntax, fields, values, and two documents of one kind and name.
    """
    readings = _readings(sources)
    if readings.faults:
        raise NodusError.invalid_spec(listed(readings.faults))
    return _bundle(readings.candidates)


def read_specs(sources: Sequence[SpecSource]) -> ReadSpecs:
    """The faults with which `load_specs` refuses, and every document that can be checked against a workspace all the same.

    It raises nothing.
    """
    readings = _readings(sources)
    if not readings.faults:
        return ReadSpecs(_bundle(readings.candidates), (), readings.files)
    documents = []
    unread = set(readings.twice) if readings.whole else {*readings.twice, ("", "")}
    for candidate in readings.candidates:
        document = candidate.mended
        kind, name = candidate.identity
        if document is None:
            unread.add((kind, name))
        else:
            documents.append(document)
            if document.in_doubt("metadata", "name"):
                unread.add((kind, ""))
    return ReadSpecs(SpecBundle(tuple(documents), checking_only=True, unread=frozenset(unread)), readings.faults, readings.files)


def _readings(sources: Sequence[SpecSource]) -> _Readings:
    faults: list[Fault] = []
    candidates: list[_Candidate] = []
    whole = True
    for source in sources:
        if source.problem:
            faults.append(Fault(message=source.problem, file=source.file))
            whole = False
            continue
        read = read_documents(source.text, source.file)
        faults.extend(read.faults)
        whole = whole and read.whole
        if not read.documents and not read.faults:
            faults.append(Fault(message="the file holds no document", file=source.file, line=1, column=1))
        candidates.extend(_candidate(document, source.file, source.folder) for document in read.documents)
    return _all_faults(candidates, faults, tuple(source.file for source in sources), whole=whole)


def _all_faults(candidates: Sequence[_Candidate], faults: Sequence[Fault], files: tuple[str, ...], *, whole: bool = True) -> _Readings:
    twice = _named_twice(candidates)
    found = [*faults, *(fault for candidate in candidates for fault in candidate.faults), *(fault for _, fault in twice)]
    return _Readings(tuple(candidates), in_file_order(found, files), files, whole, frozenset(identity for identity, _ in twice))


def bundle_from_documents(documents: Sequence[Mapping[str, object]], file: str = "<sdk>") -> SpecBundle:
    """The bundle of documents that a program made: the same rules and faults, without lines.

    Money may be a Decimal and a duration a timedelta. Raises NodusError InvalidSpec.
    """
    faults: list[Fault] = []
    candidates: list[_Candidate] = []
    for index, document in enumerate(documents):
        source, found = plain_document(document, index)
        faults.extend(placed(finding, source, file) for finding in found)
        candidates.append(_candidate(source, file, None))
    readings = _all_faults(candidates, faults, (file,))
    if readings.faults:
        raise NodusError.invalid_spec(listed(readings.faults))
    return _bundle(readings.candidates)


def load_configuration(file: str, text: bytes, *, also: Callable[[Mapping[str, object]], Iterable[Finding]] = no_more) -> Configuration:
    """The configuration that a file's text says; without any document, the defaults.

    `also` finds what is wrong with what was written and no model knows of. Raises NodusError Configuration with every fault of the file.
    """
    from nodus_tui.contract.configuration import Configuration  # noqa: PLC0415 - specs are read without it

    return load_single(Configuration, file, text, what="configuration", empty=Configuration(), also=also)


def _candidate(source: SourceDocument, file: str, folder: FilePath | None) -> _Candidate:
    resource: Resource | None = None
    found: list[Finding] = []
    if not source.broken and () not in source.spoiled:
        if isinstance(source.value, dict):
            resource, found = _checked(source.value, source)
        else:
            found = [Finding((), f"a document is a mapping with apiVersion, kind, metadata and spec, not {shown(source.value)}")]
    return _Candidate(source, file, folder, resource, tuple(placed(finding, source, file) for finding in found))


def _checked(value: dict[str, object], source: SourceDocument) -> tuple[Resource | None, list[Finding]]:
    """The resource of a document, or its faults."""
    if fields := _configured(value):
        return None, [Finding((), f"this is no spec but a configuration (it has {fields}): leave it out here, and name it in NODUS_CONFIG")]
    kind, found = _kind(value, source)
    found += _api_version(value, kind, source)
    # Both are told by now; their right values keep the model from telling them in its own way.
    made, more = validated(KINDS.get(kind, _UnknownKind), _content(value, kind), source)
    found = without_consequences([*found, *more])
    return (made if isinstance(made, Resource) and not found else None), found


def _configured(value: Mapping[str, object]) -> str:
    """The fields by which what has none of a document's own is the program's configuration; empty where it is not."""
    if value.keys() & _OF_DOCUMENTS:
        return ""
    from nodus_tui.contract.configuration import Configuration  # noqa: PLC0415 - specs are read without it

    known = {field.alias or name for name, field in Configuration.model_fields.items()}
    return ", ".join(name for name in value if name in known)


def _content(value: Mapping[str, object], kind: str) -> dict[str, object]:
    """What the model of a kind is given: a status is ignored, and kind and apiVersion are right."""
    content = {name: part for name, part in value.items() if name != "status"}
    return content | {"kind": kind or "unknown", "apiVersion": API_VERSIONS.get(kind, "unknown")}


def _mended(source: SourceDocument) -> Mended | None:
    from nodus_tui.contract.spec_loading.mending import mend  # noqa: PLC0415 - what is right needs no mending

    if source.broken or () in source.spoiled or not isinstance(source.value, dict):
        return None
    kind, _ = _kind(source.value, source)
    return mend(KINDS[kind], _content(source.value, kind), source) if kind else None


def _kind(value: dict[str, object], source: SourceDocument) -> tuple[str, list[Finding]]:
    """The kind of a document; with a fault, the kind that it most likely means, or an empty text."""
    path: Path = ("kind",)
    kind = value.get("kind")
    if path in source.spoiled:
        return "", []
    if "kind" not in value:
        return "", [Finding(path, f"kind is missing; it must be {alternatives(KINDS)}", missing=True)]
    if isinstance(kind, str) and kind in KINDS:
        return kind, []
    suggestion = nearest(kind, list(KINDS)) if isinstance(kind, str) else ""
    return suggestion, [Finding(path, f"kind is {shown(kind)}; it must be {alternatives(KINDS)}", suggestion)]


def _api_version(value: dict[str, object], kind: str, source: SourceDocument) -> list[Finding]:
    path: Path = ("apiVersion",)
    version = value.get("apiVersion")
    known = [API_VERSIONS[kind]] if kind else sorted(set(API_VERSIONS.values()))
    if path in source.spoiled or version in known:
        return []
    rule = f"{kind or 'a document'} has {alternatives(known)}"
    if "apiVersion" not in value:
        return [Finding(path, f"apiVersion is missing; {rule}", missing=True)]
    return [Finding(path, f"apiVersion is {shown(version)}; {rule}", known[0])]


def _named_twice(candidates: Sequence[_Candidate]) -> list[tuple[tuple[str, str], Fault]]:
    """A fault for each document whose kind and name an earlier one has, whatever else is wrong with either."""
    first: dict[tuple[str, str], str] = {}
    faults: list[tuple[tuple[str, str], Fault]] = []
    for candidate in candidates:
        value = candidate.source.value
        metadata = value.get("metadata") if isinstance(value, dict) else None
        kind, name = (value.get("kind"), metadata.get("name")) if isinstance(value, dict) and isinstance(metadata, dict) else (None, None)
        if not isinstance(kind, str) or not isinstance(name, str):
            continue
        path: Path = ("metadata", "name")
        place = candidate.source.positions.get(path)
        here = f"{candidate.file}:{place.line}" if place else f"document {candidate.source.index + 1} of {candidate.file}"
        earlier = first.get((kind, name))
        first.setdefault((kind, name), here)
        if earlier:
            message = f"{escaped(kind[:60])} {quoted(name)} stands here ({here}) and in {earlier}; give one of them another name"
            faults.append(((kind, name), placed(Finding(path, message), candidate.source, candidate.file)))
    return faults


def _bundle(candidates: Sequence[_Candidate]) -> SpecBundle:
    return SpecBundle(tuple(loaded for each in candidates if (loaded := each.loaded) is not None))
