"""What a launch would meet in the workspace: groups of the file that exist already with the same spec."""

from dataclasses import dataclass

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.spec_loading.bundle import SpecBundle


@dataclass(frozen=True)
class Standing:
    """The groups of a bundle, by name."""

    new: tuple[str, ...] = ()
    """Those that a launch makes or changes."""
    existing: tuple[str, ...] = ()
    """Those that exist as the file has them: a launch would change nothing."""
    older: tuple[str, ...] = ()
    """Those of the existing ones that were launched with another revision of their agent than the file's, or the newest."""

    @property
    def opens(self) -> str:
        """The group to open instead of a launch, where the launch would make none; empty where it makes some."""
        return self.existing[0] if self.existing and not self.new else ""


async def standing_of(backend: Backend, bundle: SpecBundle) -> Standing:
    """Ask the backend by a dry run. Raises NodusError, with every fault, where it would refuse the bundle."""
    groups = {each.resource.name: each.resource for each in bundle if isinstance(each.resource, AgentGroup)}
    if not groups:
        return Standing()
    outcome = await backend.apply(bundle, dry_run=True)
    unchanged = {each.name for each in outcome.documents if each.kind == "AgentGroup" and each.outcome == "unchanged"}
    changed_agents = {each.name for each in outcome.documents if each.kind == "Agent" and each.outcome != "unchanged"}
    existing = tuple(name for name in groups if name in unchanged)
    older = [name for name in existing if groups[name].spec.agent in changed_agents or await _revised_since(backend, name)]
    return Standing(tuple(name for name in groups if name not in unchanged), existing, tuple(older))


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
