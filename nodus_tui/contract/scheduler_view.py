"""The scheduler as an operator looks into it: the process that does the work, how well it keeps up, and the end of its log."""

from pydantic import Field

from nodus_tui.contract.base import ContractModel, UTCTime

LARGEST_LOG_BYTES = 1 << 20
SMALLEST_LOG_BYTES = 4


class LoopLag(ContractModel):
    """By how much the process was late for what it had planned: what it was too busy to do in time."""

    median_ms: float
    p99_ms: float
    most_ms: float
    seconds: float
    """The time that these figures are of, up to now."""


class SchedulerFacts(ContractModel):
    """Who does a workspace's work, in figures. What is not known is null."""

    pid: int | None = None
    """Of the process that works; null where none does."""
    started_at: UTCTime | None = None
    version: str = ""
    socket: str = ""
    """Where it answers on its machine; empty where it is no detached scheduler."""
    home: str = ""
    """The state folder there."""
    loop_lag: LoopLag | None = None
    """Null where another process than the one that answers does the work, and before the first second."""
    clients: int | None = None
    """Event streams that are open at the one who answers: consoles, and verbs that wait."""
    last_event: int = 0
    """The cursor of the newest event: two answers tell how many there were in between."""
    store_bytes: int | None = None
    """The database with what is not yet moved into it."""
    memory_bytes: int | None = None
    free_disk_bytes: int | None = None
    """Where the state folder lies."""


class SchedulerLog(ContractModel):
    """A part of the scheduler's log. Foreign text: libraries write there too."""

    text: str = ""
    offset: int = 0
    """Where the text begins, in bytes. Not where was asked for: the log began anew since, or something in between is skipped."""
    next_offset: int = 0
    size: int = 0
    path: str = ""
    problem: str = ""
    """Why there is no log, and what to do; empty where there is one."""


class SchedulerView(ContractModel):
    """Both, of one moment."""

    at: UTCTime
    facts: SchedulerFacts = Field(default_factory=SchedulerFacts)
    log: SchedulerLog = Field(default_factory=SchedulerLog)
