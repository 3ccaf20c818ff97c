"""From a group's record to the resource. Pure."""

from local_backend.reporting import group_spec_fields
from local_backend.storage.records import GroupRecord
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupSpec, AgentGroupStatus
from nodus_tui.contract.resources.meta import Metadata


def group_resource(group: GroupRecord) -> AgentGroup:
    """A group as `get` gives it: its spec with the cap and maxActive in force, its status as last told."""
    spec = {**group.spec, **group_spec_fields(group)}
    return AgentGroup(
        metadata=Metadata.model_validate(group.metadata),
        spec=AgentGroupSpec.model_validate(spec),
        status=AgentGroupStatus.model_validate(group.status) if group.status else None,
    )
