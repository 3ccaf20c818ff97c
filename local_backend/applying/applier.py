"""Plans an apply: every document in turn, what others name first. What plans a kind is loaded with the first document of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local_backend.applying.definitions import Planning
from local_backend.applying.lookups import Lookups
from local_backend.applying.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    resource: Any = document.resource
    # By name: to ask for the classes would load every kind.
    match document.resource.kind:
        case "Agent":
            await planning.agent(document, resource)
        case "Environment":
            await planning.environment(document, resource)
        case "Budget":
            await planning.budget(document, resource)
        case "AgentGroup":
            from local_backend.applying.groups import GroupPlanning  # noqa: PLC0415 - one kind of several

            await GroupPlanning(planning).group(document, resource)
        case "Job":
            from local_backend.applying.jobs import JobPlanning  # noqa: PLC0415 - see above

            await JobPlanning(planning).job(document, resource)
        case "TrainingJob":
            from local_backend.applying.training_jobs import TrainingJobPlanning  # noqa: PLC0415 - see above

            await TrainingJobPlanning(planning).training_job(document, resource)
        case "Sandbox":
            from local_backend.applying.sandboxes import SandboxPlanning  # noqa: PLC0415 - see above

            await SandboxPlanning(planning).sandbox(document, resource)
        case "Sweep":
            from local_backend.applying.sweeps import SweepPlanning  # noqa: PLC0415 - see above

            await SweepPlanning(planning, _document).sweep(document, resource)
        case _:
            planning.without_engine(document)


def _in_order(bundle: SpecBundle) -> list[LoadedDocument]:
    """What others name comes first, whatever its place in the files."""
    rank = {"Environment": 0, "Agent": 1, "Job": 2}
    return sorted(bundle, key=lambda each: rank.get(each.resource.kind, 3))
