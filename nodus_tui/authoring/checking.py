"""What can be said of a spec's text while it is written: its problems, what applying it would do, what it may cost."""

import asyncio
from pathlib import Path
from typing import Literal

from msgspec import Struct

from nodus_tui.authoring.completion import Names
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.outcomes import AppliedDocument
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.checking import check_specs
from nodus_tui.contract.spec_loading.loader import ReadSpecs, SpecSource, read_specs
from nodus_tui.statistics.case_pace import ASSUMED, CasePace, measured_pace


class Checked(Struct, frozen=True):
    """What was found out about one text."""

    faults: tuple[Fault, ...] = ()
    identities: tuple[tuple[str, str], ...] = ()
    """Kind and name of its documents, as far as they can be read."""
    outcomes: tuple[AppliedDocument, ...] = ()
    """What applying would do with each."""
    estimates: tuple[Estimate | KindEstimate, ...] = ()
    basis: Literal["assumed", "measured", "chosen"] = "assumed"
    """What the minutes of a case in the estimates rest on."""
    bundle: SpecBundle | None = None
    """What can be applied; None with a fault in the text."""
    problem: str = ""
    """Why the workspace could not be asked, as a sentence."""

    @property
    def valid(self) -> bool:
        """Whether it could be applied as it is."""
        return self.bundle is not None and not self.faults


async def read_alone(name: str, data: bytes, folder: Path | None) -> ReadSpecs:
    """What the text says by itself; read in a thread, for a long one takes its time."""
    # The bytes of a file's name may be no text.
    printable = name.encode("utf-8", "backslashreplace").decode("utf-8")
    return await asyncio.to_thread(read_specs, [SpecSource(printable, data, folder)])


async def check(backend: Backend, name: str, data: bytes, folder: Path | None, *, estimated: bool) -> Checked:
    """Read a text, then ask the workspace about it; `estimated` where it is wanted. Raises nothing that a text can cause."""
    read = await read_alone(name, data, folder)
    identities = tuple((each.resource.kind, each.resource.name) for each in read.bundle)
    try:
        bundle = await check_specs(backend, read)
        outcomes = (await backend.apply(bundle, dry_run=True)).documents
        pace = await pace_of(backend, bundle) if estimated else ASSUMED
        estimates = await backend.estimate(bundle, minutes_per_case=pace.minutes) if estimated else ()
    except NodusError as error:
        if error.code is ErrorCode.INVALID_SPEC and error.faults:
            return Checked(error.faults, identities)
        return Checked(read.faults, identities, problem=error.detail)
    return Checked((), identities, outcomes, estimates, pace.basis, bundle)


async def pace_of(backend: Backend, bundle: SpecBundle) -> CasePace:
    """How long a case of a bundle's groups takes, as far as the workspace knows. Raises NodusError."""
    wanted = [each.resource for each in bundle if isinstance(each.resource, AgentGroup)]
    if not wanted:
        return ASSUMED
    return measured_pace(wanted, (each for each in (await backend.list("AgentGroup")).items if isinstance(each, AgentGroup)))


async def known_names(backend: Backend) -> Names:
    """What a spec can name in this workspace; what cannot be asked for is left out."""
    agents: list[str] = []
    environments: list[str] = []
    try:
        info = await backend.info()
        environments += [f"{each.name}@{each.version}" for each in info.environments]
        models = tuple(each.family for each in info.models)
        agents += [each.name for each in (await backend.list("Agent")).items]
        own = (await backend.list("Environment")).items
        environments += [f"{each.name}@{each.spec.version}" for each in own if isinstance(each, Environment)]
    except NodusError:
        return Names(tuple(agents), tuple(environments))
    return Names(tuple(agents), tuple(dict.fromkeys(environments)), models)
