"""The tasks of an environment as an agent may see them: prompts, never answers."""

from nodus_tui.contract.base import ContractModel

MOST_TASKS = 200
"""In one page."""


class TaskView(ContractModel):
    """One task. Its prompts and names are foreign text."""

    id: str
    prompts: tuple[str, ...]
    """The user's messages: the first begins the conversation, each other one follows a reply."""
    files: tuple[str, ...] = ()
    """The names of what the agent finds in its work folder."""
    image: str = ""
    """The image that the task brings; empty where the agent's or the base image does."""


class TaskPage(ContractModel):
    """Some tasks of a split, in the order of a seed."""

    environment: str
    """`name@version`."""
    split: str
    seed: int
    total: int | None
    """How many there are of this seed; null where there is no end."""
    after: int
    """How many come before these."""
    tasks: tuple[TaskView, ...]
    more: bool
    """Whether others follow."""
