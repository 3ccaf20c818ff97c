"""Plans an apply: every document in turn, what others name first."""

from collections.abc import Mapping

from local_backend.applying.definitions import Planning
from local_backend.applying.groups import GroupPlanning
from local_backend.applying.jobs import JobPlanning
from local_backend.applying.lookups import Lookups
from local_backend.applying.plan import Plan
from local_backend.applying.sandboxes import SandboxPlanning
from local_backend.applying.sweeps import SweepPlanning
from local_backend.applying.training_jobs import TrainingJobPlanning
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, SpecBundle


class Applier(Lookups):
    """Plans applies for one workspace."""

    async def plan(self, bundle: SpecBundle, *, pins: Mapping[str, int] | None = None) -> Plan:
        """Check all documents and prepare what would be written. Reads only.

        With `pins` it is a cell of a sweep: its agents are taken at these revisions.
        """
        plan = Plan(files=tuple(document.file for document in bundle))
        planning = Planning(self, plan, bundle, await self.stored_environments(), served=await self.served_families())
        for name, revision in (pins or {}).items():
            planning.agents[name] = (await self.agent_at(name, revision), revision, None)
        for document in _in_order(bundle):
            if pins is None:
                await planning.refuse_names_of_cells(document)
            await _document(planning, document)
        place = {(each.resource.kind, each.resource.name): index for index, each in enumerate(bundle)}
        plan.applied.sort(key=lambda each: place[each.kind, each.name])
        return plan


async def _document(planning: Planning, document: LoadedDocument) -> None:
    """Plan one document of any kind."""
    match resource := document.resource:
        case Agent():
            await planning.agent(document, resource)
        case Environment():
            await planning.environment(document, resource)
        case Budget():
            await planning.budget(document, resource)
        case AgentGroup():
            await GroupPlanning(planning).group(document, resource)
        case Job():
            await JobPlanning(planning).job(document, resource)
        case TrainingJob():
            await TrainingJobPlanning(planning).training_job(document, resource)
        case Sandbox():
            await SandboxPlanning(planning).sandbox(document, resource)
        case Sweep():
            await SweepPlanning(planning, _document).sweep(document, resource)
        case _:
            planning.without_engine(document)


def _in_order(bundle: SpecBundle) -> list[LoadedDocument]:
    """What others name comes first, whatever its place in the files."""
    rank = {"Environment": 0, "Agent": 1, "Job": 2}
    return sorted(bundle, key=lambda each: rank.get(each.resource.kind, 3))
