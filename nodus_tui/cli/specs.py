"""Spec files as the verbs take them: paths, directories, and standard input."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodus_tui.contract.outcomes import ApplyOutcome
    from nodus_tui.contract.spec_loading.bundle import SpecBundle
    from nodus_tui.contract.spec_loading.loader import ReadSpecs


def load_files(files: tuple[str, ...], *, groups_renamed: bool = False) -> SpecBundle:
    """Every document of the files; reads standard input only for `-`.

    With `groups_renamed` the names of groups are not those that they will have, so that nothing is told of groups that have them.
    Raises NodusError InvalidSpec with every fault at once, those that only the workspace knows of included.
    """
    from nodus_tui.contract.spec_loading.files import read_sources  # noqa: PLC0415 - YAML is loaded when a file is read
    from nodus_tui.contract.spec_loading.loader import read_specs  # noqa: PLC0415 - see above

    read = read_specs(read_sources(files, sys.stdin.buffer))
    if not read.faults:
        return read.bundle  # What the workspace has against it, the verb's own question to the backend tells.
    if not read.bundle.documents:
        raise read.refusal()
    if groups_renamed:
        read = replace(read, bundle=_with_names_in_doubt(read.bundle))
    return _told_with_the_workspace(read)


def load_files_alone(files: tuple[str, ...]) -> SpecBundle:
    """Every document of the files, without a look at any workspace. Raises NodusError InvalidSpec with every fault of the texts."""
    from nodus_tui.contract.spec_loading.files import read_sources  # noqa: PLC0415 - YAML is loaded when a file is read
    from nodus_tui.contract.spec_loading.loader import load_specs  # noqa: PLC0415 - see above

    return load_specs(read_sources(files, sys.stdin.buffer))


def _with_names_in_doubt(bundle: SpecBundle) -> SpecBundle:
    documents = (
        replace(each, stand_ins=each.stand_ins | {("metadata", "name")}) if each.resource.kind == "AgentGroup" else each for each in bundle
    )
    return replace(bundle, documents=tuple(documents))


def _told_with_the_workspace(read: ReadSpecs) -> SpecBundle:
    # Imported here: a look at the files alone needs no backend.
    from nodus_tui.cli.session import with_backend  # noqa: PLC0415
    from nodus_tui.contract.spec_loading.checking import check_specs, unchecked  # noqa: PLC0415

    try:
        return with_backend("look", lambda backend: check_specs(backend, read))
    except NodusError as error:
        if error.code is ErrorCode.INVALID_SPEC:
            raise
        raise read.refusal((unchecked(error),)) from error


@contextmanager
def only_asking() -> Iterator[None]:
    """For verbs that change nothing anyway: what is wrong with a spec is told without the assurance that nothing was changed."""
    try:
        yield
    except NodusError as error:
        raise NodusError(error.code, error.detail.removesuffix("; nothing was changed"), error.faults) from error


def refused_sentences(outcome: ApplyOutcome) -> list[str]:
    """Why an apply would refuse documents that are valid, as a dry run told it."""
    return [each.message for each in outcome.documents if each.outcome == "refused"]
