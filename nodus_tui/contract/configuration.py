"""The user's configuration file: the model catalogue, hourly rates, and the console's own settings. One schema for both sides."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from nodus_tui.contract.addresses import EmailAddress
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.contract.durations import Duration, bounded_duration, parse_duration
from nodus_tui.contract.money import parse_usd, usd_text
from nodus_tui.contract.resources.hardware import HardwareName, Mount
from nodus_tui.contract.resources.meta import EnvironmentVariable, Name
from nodus_tui.contract.spec_loading.scalars import SourceFloat


def _price_from_outside(value: Any) -> Any:
    if isinstance(value, SourceFloat):
        return parse_usd(value.text)
    if isinstance(value, int) and not isinstance(value, bool):
        return parse_usd(str(value))
    if isinstance(value, str):
        return parse_usd(value)
    if isinstance(value, Decimal):
        return value
    raise PydanticCustomError("price_type", "a price is a decimal number of US dollars, such as 0.80")


Price = Annotated[
    Decimal,
    BeforeValidator(_price_from_outside),
    PlainSerializer(usd_text, return_type=str, when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}], "examples": ["0.80"]}),
]
"""A price in US dollars. An unquoted number is read by its digits, never through a float."""


class TokenPrice(ContractModel):
    """A model's price for a million tokens."""

    input_per_m_tok: Price
    output_per_m_tok: Price
    cached_input_per_m_tok: Price | None = None
    """Absent means that cached input costs as much as other input."""
    cache_write_per_m_tok: Price | None = None
    notional: bool = False
    """Made up, for a demonstration or a test of caps: shown as such, paid by nobody."""


Probability = Annotated[float, Field(ge=0, le=1)]


def _plain_json(value: Any) -> Any:
    """Lists and floats as JSON has them: the reader of files gives tuples, and floats that remember their text."""
    if isinstance(value, dict):
        return {name: _plain_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_json(part) for part in value]
    return float(value) if isinstance(value, SourceFloat) else value


class ScriptedCall(ContractModel):
    """A tool that a script calls."""

    name: str = Field(min_length=1, max_length=64)
    arguments: Annotated[dict[str, JsonValue] | str, BeforeValidator(_plain_json)] = Field(default_factory=dict)
    """As the tool takes them; a text is sent as it is, for a model that writes no JSON."""


class ScriptedTurn(ContractModel):
    """One reply of a script: words, tool calls, or both."""

    text: str = Field(default="", max_length=1_000_000)
    tools: tuple[ScriptedCall, ...] = Field(default=(), max_length=64)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.text.strip() and not self.tools:
            raise PydanticCustomError("scripted_turn", "a turn of a script needs `text`, `tools` or both")
        return self


Script = Annotated[tuple[ScriptedTurn, ...], Field(max_length=1000)]


class SimulatedBehaviour(ContractModel):
    """How a simulated model behaves. It is deterministic by the case and its seed, and labelled simulated wherever it shows."""

    accuracy: Probability = 0.7
    invalid: Probability = 0
    """Share of replies that no grader can read."""
    latency_seconds: float = Field(default=0, ge=0, le=3600)
    latency_spread: Probability = 0
    """Share by which the latency of one call varies either way."""
    output_tokens: int = Field(default=100, ge=0, le=1_000_000)
    output_spread: Probability = 0
    rate_limited: Probability = 0
    """Share of calls that are first refused with a pause."""
    retry_after_seconds: float = Field(default=1, ge=0, le=3600)
    failures: Probability = 0
    """Share of calls whose outcome stays unknown."""
    seed: int = Field(default=0, ge=0, le=2_147_483_647)
    tool_calls: int = Field(default=2, ge=0, le=50)
    """Tool calls before the answer, where the agent has tools."""
    script: Script = ()
    """What it says and calls, turn by turn, for every task. After it the answer follows, unless its last turn submitted or only spoke."""
    scripts: dict[str, Script] = Field(default_factory=dict, max_length=1000)
    """Scripts of single tasks by the task's id; the others play `script`."""


class ModelEntry(ContractModel):
    """One family of the catalogue: who serves it, under which name, and at what price."""

    family: Name
    provider: Literal["anthropic", "openai", "simulated"]
    """The protocol, whoever serves it: `openai` is any OpenAI-compatible chat endpoint."""
    name: str = Field(min_length=1, max_length=200)
    """The model's name at the provider."""
    base_url: str | None = None
    """Absent means the provider's own public endpoint."""
    api_key_env: EnvironmentVariable | None = None
    """The environment variable that holds the key; never the key itself."""
    price: Literal["free"] | TokenPrice | None = None
    """Absent means the price database; a model that it does not know is refused."""
    timeout: Annotated[Duration, bounded_duration(timedelta(seconds=1), timedelta(hours=24))] = parse_duration("10m")
    """Of one call, from its start to its last byte."""
    max_tries: int = Field(default=6, ge=1, le=20)
    """Tries of one call that fail without cost, the first included."""
    max_concurrency: int = Field(default=64, ge=1, le=1000)
    """Calls in flight at once, at most; it shrinks by itself while the provider says 429."""
    simulated: SimulatedBehaviour | None = None

    @field_validator("simulated")
    @classmethod
    def _simulated_fits(cls, behaviour: SimulatedBehaviour | None, info: ValidationInfo) -> SimulatedBehaviour | None:
        if behaviour is not None and info.data.get("provider", "simulated") != "simulated":
            raise PydanticCustomError("simulated", "`simulated` belongs to provider simulated only")
        return behaviour


def _families_differ(entries: tuple[ModelEntry, ...]) -> tuple[ModelEntry, ...]:
    counts = Counter(entry.family for entry in entries)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise ValueError(f"two entries have the family {', '.join(twice)}")
    return entries


MOST_SHARED_HOLDERS = 64
"""Of one device."""

IdleExit = Annotated[Duration, bounded_duration(timedelta(minutes=1), timedelta(days=30))]


class SchedulerSettings(ContractModel):
    """The detached scheduler's settings."""

    idle_exit: Literal["never"] | IdleExit = parse_duration("30m")
    """How long it stays without unfinished work and without anybody attached; the next verb that needs it starts it again."""
    stop_grace: Annotated[Duration, bounded_duration(timedelta(seconds=1), timedelta(hours=1))] = parse_duration("10s")
    """How long calls in flight may take to end when it is asked to stop; after it they are charged their worst case."""


class SandboxSettings(ContractModel):
    """How sandboxes are made here."""

    engine: Literal["auto", "docker", "bubblewrap"] = "auto"
    """`auto`: Docker where an engine answers and passes a probe run, else bubblewrap. NODUS_SANDBOX_ENGINE overrides it."""
    max_running: int | None = Field(default=None, ge=1, le=10_000)
    """Episode sandboxes at once, over all groups; absent means two for each processor, and at least four."""
    keep_files_mib: int = Field(default=64, ge=0, le=1_000_000, alias="keepFilesMiB")
    """The agent's files are kept with the run up to this size; what is larger is not kept, and the run says so."""


DevicePattern = Annotated[str, Field(min_length=1, max_length=200)]
"""A driver's name for a device, in any case of letters; `*` stands for any letters, `?` for one."""


class HardwareSettings(ContractModel):
    """How accelerators are given out here."""

    devices: dict[HardwareName, DevicePattern] = Field(default_factory=dict, max_length=200)
    """Which devices a name means, by the name that the driver gives them; names that are not here are compared with it."""
    shared_holders: int = Field(default=4, ge=2, le=MOST_SHARED_HOLDERS)
    """How many may use a device at once, of those that share."""
    idle_memory_mib: int = Field(default=512, ge=0, le=1_000_000, alias="idleMemoryMiB")
    """A device on which more memory is in use without a process that explains it is somebody else's."""


class ElectricitySettings(ContractModel):
    """What a kilowatt hour costs: devices cost the electricity that they take, and not an hourly rate."""

    usd_per_kwh: Price = Field(alias="usdPerKWh")


class JobSettings(ContractModel):
    """How jobs are run here."""

    stop_grace: Annotated[Duration, bounded_duration(timedelta(seconds=1), timedelta(minutes=10))] = parse_duration("10s")
    """How long a job may take to end after SIGTERM, before all of it is killed. A small cap leaves it less."""
    max_log_mib: int = Field(default=64, ge=1, le=100_000, alias="maxLogMiB")
    """Of a longer log the beginning and the end are kept."""


class EvaluateSettings(ContractModel):
    """Where TrainingJobs find lm-evaluation-harness, which runs in an environment of its own."""

    python: str | None = Field(default=None, min_length=1, max_length=4096)
    """The Python that has it. Absent means the environment that `nodus-tui evaluate setup` makes; of an image, its `python3`."""
    image: str | None = Field(default=None, min_length=1, max_length=1000)
    """An image of the Docker engine in which the harness runs, instead of on the machine itself. It has lm-eval, and torch for models that
    are loaded."""
    mounts: tuple[Mount, ...] = Field(default=(), max_length=64)
    """What the image sees of the machine beside the model, the tasks and the job's own folder. Sources are absolute."""
    include_paths: tuple[Annotated[str, Field(min_length=1, max_length=4096)], ...] = Field(default=(), max_length=16)
    """Folders with benchmark tasks that every TrainingJob may name. Their files may hold code, which runs as the scheduler's user."""
    env_from: tuple[EnvironmentVariable, ...] = Field(default=("HF_TOKEN",), max_length=50)
    """Variables of the scheduler's environment that the fetching of models and data gets where they are set; the scoring gets none."""

    @model_validator(mode="after")
    def _mounts_of_an_image(self) -> Self:
        if self.mounts and self.image is None:
            raise PydanticCustomError("evaluate_mounts", "`mounts` are for an `image`: without one the harness sees the machine's files")
        if relative := [each.source for each in self.mounts if not each.source.startswith(("/", "~/"))]:
            raise PydanticCustomError(
                "evaluate_mounts", "the source of a mount is an absolute path here, and {path} is none", {"path": relative[0]}
            )
        return self


class SmtpSettings(ContractModel):
    """The server through which notices of budgets go by e-mail."""

    host: str = Field(min_length=1, max_length=253)
    port: int = Field(default=587, ge=1, le=65_535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    """`none` sends in the clear: for a server on this machine."""
    sender: EmailAddress
    """The address that notices come from."""
    username: str | None = Field(default=None, max_length=254)
    password_env: EnvironmentVariable | None = None
    """The environment variable that holds the password; never the password itself."""

    @model_validator(mode="after")
    def _whole_login(self) -> Self:
        if (self.username is None) != (self.password_env is None):
            raise PydanticCustomError("smtp_login", "`username` and `passwordEnv` go together: both for a login, neither for none")
        return self


class Configuration(ContractModel):
    """The whole file. Everything in it may be absent."""

    models: Annotated[tuple[ModelEntry, ...], AfterValidator(_families_differ)] = ()
    rates: dict[str, Price] = Field(default_factory=dict)
    """US dollars an hour by hardware; a name here replaces the default price list's."""
    min_free_disk_mib: int = Field(default=200, ge=0, le=1_000_000_000, alias="minFreeDiskMiB")
    """Less free space than this on the workspace's disk stops new runs and calls; 0 looks at no disk."""
    console: ConsoleSettings = ConsoleSettings.model_construct()
    scheduler: SchedulerSettings = SchedulerSettings.model_construct()
    sandboxes: SandboxSettings = SandboxSettings.model_construct()
    jobs: JobSettings = JobSettings.model_construct()
    hardware: HardwareSettings = HardwareSettings.model_construct()
    electricity: ElectricitySettings | None = None
    """Absent means that devices cost their hourly rate."""
    evaluate: EvaluateSettings = EvaluateSettings.model_construct()
    smtp: SmtpSettings | None = None
    """Absent means that no notice goes by e-mail."""
