"""Job: an image or a command that runs to its end on given hardware under its own cap; or one that serves a model."""

from datetime import timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.durations import Duration, bounded_duration
from nodus_tui.contract.money import USD, PositiveUSD
from nodus_tui.contract.phases import UntilKind
from nodus_tui.contract.resources.hardware import Argument, Command, Mount, Surroundings
from nodus_tui.contract.resources.meta import EnvironmentVariable, Name, Resource
from nodus_tui.contract.wording import quoted

MODEL_SERVER_ENDED = "ModelServerEnded"
"""The reason of a job that waits for a model, when the job that serves it has ended and is not started again by itself."""


def _checked_inside(path: str) -> str:
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ValueError(f"{quoted(path)} leads out of the job's folder: write a path below it, without a leading / and without ..")
    return path


OutputPath = Annotated[Argument, Field(min_length=1, max_length=4096), AfterValidator(_checked_inside)]
"""A path below the job's working folder."""


class Serving(ContractModel):
    """A job that serves a model: groups name its family as their model, and calls go to it while its health check answers."""

    family: Name
    """The model family under which agents ask for it."""
    model: str | None = Field(default=None, min_length=1, max_length=200)
    """The model's name in requests; absent: the family."""
    port: int = Field(ge=1, le=65_535)
    """Where it listens: of this machine for a command, inside the container for an image."""
    health_path: str = Field(default="/health", pattern=r"^/", max_length=1000)
    """Asked with GET until it answers 200."""
    start_timeout: Annotated[Duration, bounded_duration(timedelta(seconds=1), timedelta(hours=24))] = timedelta(minutes=10)
    """How long it may take until it answers, and later how long it may stop answering."""
    stop_after: Annotated[Duration, bounded_duration(timedelta(), timedelta(days=7))] = timedelta(minutes=1)
    """How long it stays up after the last group that uses it has ended, for the next one."""
    keep: bool = False
    """Started at once and kept up whoever uses it, until it is killed, or its cap or timeout ends it."""
    restarts: int = Field(default=0, ge=0, le=100)
    """How often it is started again when it has served and ends by itself, or does not answer any more."""
    max_concurrency: int = Field(default=64, ge=1, le=1000)
    """Calls in flight at once, at most."""
    api_key_env: EnvironmentVariable | None = None
    """The variable of the backend's environment that holds the key which it asks for; never the key itself."""


class JobSpec(Surroundings):
    """What runs and what it may cost: time × the hourly rate of its hardware. It is ended gracefully before the cap is passed."""

    command: Command = Field(default=(), validate_default=True)
    """Absent means the image's own. Without an image it runs on the backend's machine itself."""
    working_dir: Argument | None = Field(default=None, min_length=1, max_length=4096)
    mounts: tuple[Mount, ...] = Field(default=(), max_length=64)
    outputs: tuple[OutputPath, ...] = Field(default=(), max_length=1000)
    """Files and folders that are kept, with their sha256, when it ends."""
    max_cost_usd: PositiveUSD
    timeout: Annotated[Duration, bounded_duration(timedelta(seconds=1), timedelta(days=30))] = timedelta(hours=24)
    """Of the running job, queueing left out."""
    serve: Serving | None = None

    @field_validator("command")
    @classmethod
    def _something_to_run(cls, command: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if not command and "image" in info.data and info.data["image"] is None:
            raise PydanticCustomError("nothing_to_run", "a job needs an image, a command, or both")
        return command


class OutputFile(ContractModel):
    """One file that a job left, as its manifest names it."""

    path: str
    bytes: int
    sha256: str


JobPhase = Literal["Pending", "Running", "Serving", "Succeeded", "Failed", "Cancelled", "Interrupted"]

_UNFINISHED = frozenset({"Pending", "Running", "Serving"})


class ServingStatus(ContractModel):
    """How a job that serves stands, and who uses it."""

    family: str
    model: str
    """The model's name in requests."""
    address: str | None = None
    """The base URL that calls go to, while it runs."""
    answering: bool = False
    """Whether its last health check answered."""
    since: UTCTime | None = None
    """Since when it answers, or does not any more."""
    users: tuple[str, ...] = ()
    """Groups, and jobs as `job/NAME`, that are at work and name its family; where there are none, running sweeps whose next cells do, as
    `sweep/NAME`.
    """
    stops_at: UTCTime | None = None
    """When it is stopped if nobody comes to use it."""
    restarts: int = 0
    """How often it was started again after it had ended by itself."""


class JobStatus(ContractModel):
    """What the backend knows of a Job."""

    phase: JobPhase
    reason: str | None = None
    """`WaitingForMachine`, `WaitingForDevice`, `DiskAlmostFull`, `NonZeroExit`, `NotStarted`, `MaxCostReached`, `Timeout`, `Killed`,
    `BudgetExceeded`, `InfrastructureFailure` or `Interrupted`; of one that serves also `WaitingForUsers`, `WaitingForPort`, `Restarting`,
    `Starting`, `NotAnswering`, `StartTimeout`, `ServerEnded` or `NoLongerUsed`.
    """
    message: str = ""
    """For people: what it waits for, or how it ended."""
    until: UTCTime | None = None
    """When what it waits for comes free, where that is known."""
    until_kind: UntilKind = "Exact"
    """How sure that is."""
    exit_code: int | None = None
    working_dir: str | None = None
    """The folder of the backend's machine that `workingDir` comes to there; null for an image, and for a job in a folder of its own."""
    cost_usd: USD
    """Of all its attempts."""
    earlier_usd: USD = Decimal(0)
    """The part of it that attempts before this one cost."""
    cap_usd: USD | None = None
    """The cap in force, where it is not the spec's any more."""
    attempt: int = 1
    """It is the so-many-th; a retry begins the next."""
    devices: tuple[str, ...] = ()
    """The devices that it was given, by uuid; told when it has ended, too."""
    device_names: tuple[str, ...] = ()
    """The same for people, in that order: the driver's number and name as they were then, such as `0 NVIDIA L4`."""
    hardware: str = ""
    """The name of the price list that they were given under; empty before, and without any. `CPU` where it accepts that too."""
    energy_wh: float | None = None
    """Watt hours that its devices took, where their electricity is what they cost; booked when it has ended."""
    progress: float | None = None
    """0 to 1 where its output tells."""
    outputs: tuple[OutputFile, ...] = ()
    rate_usd: USD = Decimal(0)
    """An hour of its hardware: before its start of the dearest that it accepts, from then on of what it was given. Where devices cost their
    electricity, at their power limit: no less than what is booked in the end.
    """
    notes: tuple[str, ...] = ()
    """Sentences about what is weaker than asked for, and what was not kept."""
    created_at: UTCTime
    started_at: UTCTime | None = None
    ended_at: UTCTime | None = None
    deadline_at: UTCTime | None = None
    """While it runs: when its cap or its timeout ends it, if it does not end before."""
    serving: ServingStatus | None = None
    """Of a job that serves."""

    @property
    def ended(self) -> bool:
        """Whether it will never do anything again."""
        return self.phase not in _UNFINISHED


class JobLog(ContractModel):
    """A part of what a job wrote, its standard output and its errors together. It is data: it goes to a screen through safe_text only."""

    job: str
    offset: int
    """The place of its first byte in the whole log."""
    next_offset: int
    """Where to read on."""
    size: int
    """Bytes of the whole log so far."""
    skipped: int = 0
    """Bytes before `offset` that were asked for and are not kept: of a long log the beginning and the end are."""
    text: str
    """Bytes that are no UTF-8 stand as replacement characters."""
    ended: bool
    """Whether nothing comes after it any more."""


class Job(Resource):
    """An image or a command that runs to its end on given hardware."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["Job"] = "Job"
    spec: JobSpec
    status: JobStatus | None = None
