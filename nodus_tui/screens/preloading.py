"""What is loaded behind the first paint, before it is asked for: so neither the first rows nor the first keys wait for much of it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module

WITH_DATA = (
    "nodus_tui.contract.events",
    "nodus_tui.view_state.jobs",
    "nodus_tui.screens.workspace_states",
    "nodus_tui.view_state.availability",
)
"""What the first snapshot and its first row need. A module stands behind what it needs, so that none takes long."""
LIKELY_NEXT = (
    "nodus_tui.view_state.run_columns",
    "nodus_tui.view_state.group",
    "nodus_tui.view_state.lazy_text",
    "nodus_tui.view_state.transcript_parts",
    "nodus_tui.widgets.dialogs",
    "nodus_tui.screens.leaving",
    "nodus_tui.screens.acting",
    "nodus_tui.screens.run_reading",
    "nodus_tui.screens.files",
    "nodus_tui.screens.run",
    "nodus_tui.screens.group",
    "nodus_tui.screens.acting_many",
    "nodus_tui.screens.palette",
    "nodus_tui.view_state.results",
    "nodus_tui.screens.results",
)
"""What a person goes to from the first view, and what acts on its rows."""


async def load(modules: Iterable[str], keys_first: Callable[[], Awaitable[None]]) -> None:
    """Load modules one after the other. Between two of them all goes on that is ready, and keys go before the next: `keys_first` waits
    while one is handled.
    """
    for module in modules:
        await asyncio.sleep(0)
        await keys_first()
        import_module(module)
