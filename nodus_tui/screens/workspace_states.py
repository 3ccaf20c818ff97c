"""The states of everything in a workspace that the stream keeps true, whatever view is open."""

from typing import TYPE_CHECKING

from nodus_tui.view_state.boxes import BoxesState
from nodus_tui.view_state.budgets import BudgetsState
from nodus_tui.view_state.campaigns import CampaignsState
from nodus_tui.view_state.jobs import JobsState
from nodus_tui.view_state.notices import NoticesState
from nodus_tui.view_state.sweeps import SweepsState

if TYPE_CHECKING:
    from nodus_tui.screens.feed import FoldedState


class WorkspaceStates:
    """One of a feed; a state of a new view is one more."""

    def __init__(self, campaigns: CampaignsState) -> None:
        self.jobs = JobsState()
        self.budgets = BudgetsState()
        self.sweeps = SweepsState()
        self.boxes = BoxesState()
        self.notices = NoticesState(campaigns.rows, self.jobs.rows, self.sweeps.rows, self.budgets.rows)
        self.all: tuple[FoldedState, ...] = (campaigns, self.jobs, self.budgets, self.sweeps, self.boxes, self.notices)
        """Notices are last: they tell of what the others have become."""
