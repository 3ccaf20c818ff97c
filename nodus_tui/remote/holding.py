"""What keeps a scheduler from making room for another one: unfinished groups, stalled ones among them, and Sandboxes."""

from msgspec import Struct

from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.sandbox import Sandbox

_NAMED = 3


class Held(Struct, frozen=True):
    """What a scheduler has that would not go on without one. Jobs are not among it: they outlive one."""

    groups: tuple[AgentGroup, ...] = ()
    """All of the workspace, those at rest included."""
    sandboxes: tuple[Sandbox, ...] = ()
    """The same."""

    @property
    def names(self) -> list[str]:
        """What would not go on, each with its phase."""
        groups = [f"group {each.name} ({each.status.phase.value})" for each in self.groups if each.status and not each.status.phase.at_rest]
        boxes = [f"sandbox {each.name} ({each.status.phase})" for each in self.sandboxes if each.status and not each.status.ended]
        return [*groups, *boxes]


async def held_at(backend: Backend) -> Held:
    """What the scheduler behind a backend has. Raises NodusError."""
    groups: list[AgentGroup] = []
    boxes: list[Sandbox] = []
    for kind in ("AgentGroup", "Sandbox"):
        query, more = Query(), True
        while more:
            page = await backend.list(kind, query)
            groups += [each for each in page.items if isinstance(each, AgentGroup)]
            boxes += [each for each in page.items if isinstance(each, Sandbox)]
            query, more = query.model_copy(update={"after": page.next_after}), bool(page.next_after)
    return Held(tuple(groups), tuple(boxes))


def held_words(held: list[str]) -> str:
    """The first of them, and how many more there are."""
    return ", ".join(held[:_NAMED]) + (f" and {len(held) - _NAMED} more" if len(held) > _NAMED else "")
