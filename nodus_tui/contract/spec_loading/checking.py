"""One answer with every fault of a spec: those of its text beside those that the workspace knows of. For every front end."""

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import Fault, NodusError
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.loader import ReadSpecs


async def check_specs(backend: Backend, read: ReadSpecs) -> SpecBundle:
    """The bundle of texts without a fault. What else may stand against it, its apply or dry run tells.

    With a fault in any text, raises NodusError InvalidSpec with every fault of the texts and every one that a dry run of what can be
    mended finds, by file and place. Nothing is changed.
    """
    if not read.faults:
        return read.bundle
    found: tuple[Fault, ...] = ()
    if read.bundle.documents:
        try:
            await backend.apply(read.bundle, dry_run=True)
        except NodusError as error:
            found = error.faults or (unchecked(error),)
    raise read.refusal(found)


def unchecked(error: NodusError) -> Fault:
    """Beside the faults of the texts: why those that only the workspace knows of are not told."""
    return Fault(message=f"the rest could not be checked against the workspace: {error.detail}")
