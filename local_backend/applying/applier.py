"""Plans an apply: every document in turn, what others name first."""

from local_backend.applying.definitions import Planning
from local_backend.applying.groups import GroupPlanning
from local_backend.applying.jobs import JobPlanning
from local_backend.applying.lookups import Lookups
from local_backend.applying.plan import Plan
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, SpecBundle


class Applier(Lookups):
    """Plans applies for one workspace."""

    async def plan(self, bundle: SpecBundle) -> Plan:
        """Check all documents and prepare what would be written. Reads only."""
        plan = Plan(files=tuple(document.file for document in bundle))
        planning = Planning(self, plan, bundle, await self.stored_environments(), served=await self.served_families())
        groups, jobs = GroupPlanning(planning), JobPlanning(planning)
        for document in _in_order(bundle):
            resource = document.resource
            if isinstance(resource, Agent):
                await planning.agent(document, resource)
            elif isinstance(resource, Environment):
                await planning.environment(document, resource)
            elif isinstance(resource, Budget):
                await planning.budget(document, resource)
            elif isinstance(resource, AgentGroup):
                await groups.group(document, resource)
            elif isinstance(resource, Job):
                await jobs.job(document, resource)
            else:
                planning.without_engine(document)
        place = {(each.resource.kind, each.resource.name): index for index, each in enumerate(bundle)}
        plan.applied.sort(key=lambda each: place[each.kind, each.name])
        return plan


def _in_order(bundle: SpecBundle) -> list[LoadedDocument]:
    """What others name comes first, whatever its place in the files."""
    rank = {"Environment": 0, "Agent": 1, "Job": 2}
    return sorted(bundle, key=lambda each: rank.get(each.resource.kind, 3))
