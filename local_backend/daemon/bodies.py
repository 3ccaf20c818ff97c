"""The specs in a request's body: YAML as a file holds it, or a bundle that a client has packed. Every fault is told in one answer.

Reading runs in a thread: a large YAML text takes seconds, and the event loop belongs to the runs.
"""

import asyncio
from collections import Counter
from http import HTTPStatus
from pathlib import Path

from local_backend.daemon.problems import refusal
from nodus_tui.contract.errors import ErrorCode, Fault
from nodus_tui.contract.http import BUNDLE_TYPE, YAML_TYPE
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.registry import KINDS
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, SpecBundle
from nodus_tui.contract.spec_loading.loader import ReadSpecs, SpecSource, read_specs
from nodus_tui.contract.spec_loading.packing import unpack_bundle
from nodus_tui.contract.wording import quoted
from nodus_tui.values import replace

REQUEST = "<request>"
"""What stands for the file's name in the faults of a YAML body."""

_AT_ONCE = 2
"""Bodies that are read at the same time; more wait for their turn."""

_FROM_AFAR = "task files are read on the server's machine, so a request over the network may not name one: apply this Environment there"
_NOT_FROM_AFAR = "this reaches for the server's machine itself, so a request over the network may not ask for it: apply this {kind} there"
_NO_FOLDER = "a YAML body has no folder in which a relative path could start: give an absolute one, or send a packed bundle"


class BodyReader:
    """Reads bodies for one application."""

    def __init__(self, *, reads_files: bool) -> None:
        self._reads_files = reads_files
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def to_apply(self, body: bytes, content_type: str) -> ReadSpecs:
        """What an apply has asked for. Raises NodusError InvalidSpec for a body that is no bundle, RefusalError for an unknown type."""
        read = await self._read(body, content_type)
        refused = tuple(fault for document in read.bundle for fault in self._file_faults(document))
        if not refused:
            return read
        return replace(_without_task_files(read), faults=(*read.faults, *refused))

    async def to_estimate(self, body: bytes, content_type: str) -> ReadSpecs:
        """What an estimate has asked for: without the Environments, which cost nothing and are not read for it."""
        return _without_task_files(await self._read(body, content_type))

    async def _read(self, body: bytes, content_type: str) -> ReadSpecs:
        kind = content_type.partition(";")[0].strip().lower()
        if kind not in {YAML_TYPE, BUNDLE_TYPE}:
            said = quoted(kind) if kind else "missing"
            raise refusal(
                ErrorCode.INVALID_REQUEST,
                f"the Content-Type is {said}; specs are sent as {YAML_TYPE}, or packed as {BUNDLE_TYPE}",
                status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            )
        async with self._turns:
            return await asyncio.to_thread(_read_yaml if kind == YAML_TYPE else _read_bundle, body)

    def _file_faults(self, document: LoadedDocument) -> tuple[Fault, ...]:
        resource = document.resource
        if isinstance(resource, Sweep):
            return self._template_faults(document, resource)
        if isinstance(resource, Job | Sandbox | TrainingJob):
            said = _NOT_FROM_AFAR.format(kind=resource.kind)
            return () if self._reads_files else tuple(document.fault(("spec", *path), said) for path in _of_this_machine(resource))
        if not isinstance(resource, Environment):
            return ()
        paths = {("spec", *path): value for path, value in resource.spec.local_paths().items()}
        if not self._reads_files:
            return tuple(document.fault(path, _FROM_AFAR) for path in paths)
        if document.folder is not None:
            return ()
        relative = [path for path, value in paths.items() if not Path(value).is_absolute() and not document.in_doubt(*path)]
        return tuple(document.fault(path, _NO_FOLDER) for path in relative)

    def _template_faults(self, document: LoadedDocument, sweep: Sweep) -> tuple[Fault, ...]:
        """A sweep's cells reach for the server's machine where their template does."""
        template = sweep.spec.template
        cell = KINDS[template.kind].model_validate({"metadata": sweep.metadata, "spec": template.spec})
        placed = _TemplateDocument(cell, document.file, document.index, document.folder, document.positions, document.stand_ins)
        return self._file_faults(placed)


class _TemplateDocument(LoadedDocument, frozen=True):
    """A sweep's template as a document of its own, whose faults stand in the sweep's."""

    def fault(self, path: tuple[str | int, ...], message: str, suggestion: str = "") -> Fault:
        """A fault at the field of the template."""
        return super().fault(("spec", "template", *path), message, suggestion)


def _of_this_machine(resource: Job | Sandbox | TrainingJob) -> tuple[tuple[str, ...], ...]:
    """What of it reaches for the server's machine itself: a command outside any container, folders, and variables, keys among them."""
    if isinstance(resource, TrainingJob):
        # Files of tasks may hold code.
        there = {("model", "uri"): resource.spec.model.uri.startswith("file:"), ("includePaths",): bool(resource.spec.include_paths)}
        return tuple(path for path, reaches in there.items() if reaches)
    if isinstance(resource, Sandbox):
        return (("envFrom",),) if resource.spec.env_from else ()
    spec = resource.spec
    local = {
        ("command",): spec.image is None,
        ("mounts",): bool(spec.mounts),
        ("envFrom",): bool(spec.env_from),
        ("serve", "apiKeyEnv"): spec.serve is not None and spec.serve.api_key_env is not None,
    }
    return tuple(path for path, reaches in local.items() if reaches)


def _read_yaml(body: bytes) -> ReadSpecs:
    return read_specs([SpecSource(REQUEST, body)])


def _read_bundle(body: bytes) -> ReadSpecs:
    bundle = unpack_bundle(body)
    names = Counter((document.resource.kind, document.resource.name) for document in bundle)
    twice = tuple(
        document.fault(("metadata", "name"), f"{document.resource.kind} {document.resource.name} stands in the bundle twice")
        for document in bundle
        if names[document.resource.kind, document.resource.name] > 1
    )
    files = tuple(dict.fromkeys(document.file for document in bundle))
    return ReadSpecs(SpecBundle(()) if twice else bundle, twice, files)


def _without_task_files(read: ReadSpecs) -> ReadSpecs:
    """The same without Environments: what names one of them is not told that it is missing, and no file is read."""
    bundle = read.bundle
    names = frozenset(("Environment", each.resource.name) for each in bundle if isinstance(each.resource, Environment))
    if not names:
        return read
    kept = tuple(each for each in bundle if not isinstance(each.resource, Environment))
    return replace(read, bundle=replace(bundle, documents=kept, checking_only=bundle.checking_only, unread=bundle.unread | names))
