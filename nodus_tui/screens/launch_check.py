"""What a launch would meet in the workspace: what exists already with the same spec, and what this backend would refuse."""

from typing import NamedTuple

from msgspec import Struct

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.spec_loading.bundle import SpecBundle


class Target(NamedTuple):
    """What a launch makes, and a view shows."""

    kind: str
    """AgentGroup, Sweep, Sandbox, Job or TrainingJob."""
    name: str


class Standing(Struct, frozen=True):
    """What a bundle has that a view shows: groups, sweeps and Sandboxes first, for jobs beside them serve them."""

    new: tuple[Target, ...] = ()
    """Those that a launch makes or changes."""
    existing: tuple[Target, ...] = ()
    """Those that exist as the file has them: a launch would change nothing."""
    older: tuple[str, ...] = ()
    """Existing groups that were launched with another revision of their agent than the file's, or the newest."""
    refused: tuple[str, ...] = ()
    """Why this backend would refuse the launch, a sentence for each document that is valid but cannot run here."""

    @property
    def opens(self) -> Target | None:
        """What to open instead of a launch, where the launch would make nothing; None where it makes something."""
        return self.existing[0] if self.existing and not self.new else None


async def standing_of(backend: Backend, bundle: SpecBundle) -> Standing:
    """Ask the backend by a dry run. Raises NodusError, with every fault, where it would refuse the bundle."""
    found = {Target(each.resource.kind, each.resource.name): each.resource for each in bundle}
    targets = [target for target, resource in found.items() if isinstance(resource, AgentGroup | Sweep | Sandbox)]
    targets += [target for target, resource in found.items() if isinstance(resource, Job | TrainingJob)]
    outcome = await backend.apply(bundle, dry_run=True)
    unchanged = {Target(each.kind, each.name) for each in outcome.documents if each.outcome == "unchanged"}
    changed_agents = {each.name for each in outcome.documents if each.kind == "Agent" and each.outcome != "unchanged"}
    existing = tuple(target for target in targets if target in unchanged)
    groups = [resource for target in existing if isinstance(resource := found[target], AgentGroup)]
    older = [each.name for each in groups if each.spec.agent in changed_agents or await _revised_since(backend, each.name)]
    new = tuple(target for target in targets if target not in unchanged)
    return Standing(new, existing, tuple(older), tuple(each.message for each in outcome.documents if each.outcome == "refused"))


async def _revised_since(backend: Backend, name: str) -> bool:
    """Whether the agent of an existing group has a newer revision than the one that the group has pinned."""
    try:
        group = await backend.get("AgentGroup", name)
        agent = await backend.get("Agent", group.spec.agent) if isinstance(group, AgentGroup) else None
    except NodusError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return False  # Deleted meanwhile: then there is nothing to compare.
        raise
    if not isinstance(group, AgentGroup) or not isinstance(agent, Agent) or group.status is None or agent.status is None:
        return False
    return agent.status.revision > group.status.agent_revision
