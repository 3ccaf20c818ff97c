"""What views of one group share that stand beside the group's own: its state is asked for, and let go of when no view shows it."""

from typing import Any

from nodus_tui.contract.errors import NodusError
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.group import GroupState


def open_state(screen: ViewScreen, name: str) -> GroupState:
    """The state of a group, the same for all views of it."""
    groups = screen.services.feed.groups
    return groups.setdefault(name, GroupState(name))


async def load_state(screen: ViewScreen, name: str) -> str:
    """Ask for the group's runs, unless another view has; gives why they cannot be read, empty where they can."""
    feed = screen.services.feed
    known = feed.groups.get(name)
    if known is not None and known.loaded:
        return ""
    try:
        await feed.open_group(name)
    except NodusError as error:
        return error.detail
    return ""


def close_state(screen: ViewScreen, name: str) -> None:
    """This view is gone; the state stays while another one shows the group."""
    others: list[Any] = [each for each in screen.app.screen_stack if each is not screen]
    if not any(getattr(each, "group_name", "") == name for each in others):
        screen.services.feed.close_group(name)
