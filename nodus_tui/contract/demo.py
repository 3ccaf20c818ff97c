"""The demonstration: what a backend prepares so that a newcomer sees two campaigns without writing anything."""

from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct, field

DEMO_ENTRY_POINT_GROUP = "nodus_tui.demos"
"""Where backends register a `DemoFactory` under their name."""


class DemoCampaign(Struct, frozen=True):
    """One campaign of the demonstration."""

    group: str
    """The AgentGroup's name."""
    spec: Path
    """The file that holds it and its agent."""
    simulated: bool


class DemoKit(Protocol):
    """A prepared demonstration. Its server, where it has one, runs until `aclose`."""

    home: Path
    """The demonstration's own state folder."""
    config: Path
    """Its own configuration file."""
    campaigns: tuple[DemoCampaign, ...]
    problem: str
    """Why the real campaign is missing and how to get it; empty when it is there."""

    async def aclose(self) -> None:
        """Stop what was started."""
        ...


class DemoRequest(Struct, frozen=True):
    """What to prepare."""

    home: Path
    """The user's state folder; the demonstration makes its own below it."""
    campaigns: frozenset[Literal["real", "simulated"]] = field(default_factory=lambda: frozenset({"real", "simulated"}))
    size: Literal["full", "small"] = "full"
    """`small`: fewer cases, for a machine that only checks that it works."""


class DemoFactory(Protocol):
    """What a backend registers."""

    async def __call__(self, request: DemoRequest) -> DemoKit:
        """Prepare it; raises NodusError when not even the simulated campaign can be."""
        ...
