"""What keeps a scheduler from making room for another one: unfinished groups, stalled ones among them, and Sandboxes. Pure."""

from nodus_tui.contract.events import Snapshot

_NAMED = 3


def held_by(snapshot: Snapshot) -> list[str]:
    """What would not go on without a scheduler, each with its phase. Jobs are not among it: they outlive one."""
    groups = [f"group {each.name} ({each.status.phase.value})" for each in snapshot.groups if each.status and not each.status.phase.at_rest]
    boxes = [f"sandbox {each.name} ({each.status.phase})" for each in snapshot.sandboxes if each.status and not each.status.ended]
    return [*groups, *boxes]


def held_words(held: list[str]) -> str:
    """The first of them, and how many more there are."""
    return ", ".join(held[:_NAMED]) + (f" and {len(held) - _NAMED} more" if len(held) > _NAMED else "")
