"""What the runner of a TrainingJob is told: one JSON text on its command line. It holds no key and no answer."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from local_backend.environments.interface import ResolvedEnvironment
from local_backend.handed_over import taken
from nodus_tui.contract.configuration import EvaluateSettings
from nodus_tui.values import fields_of

OUTPUTS = "outputs"
"""Below the work folder: what is kept of it."""
RESULTS_FILE = "results.json"
PROVENANCE_FILE = "provenance.json"
MANIFEST_FILE = "manifest.json"


class OrderedModel(Struct, frozen=True):
    """The model."""

    kind: Literal["hub", "local", "served"]
    place: str
    """The hub's repository, an absolute path, or the base URL of a server."""
    revision: str = ""
    """Of a hub's repository; empty means the newest of its main branch."""
    name: str = ""
    """Of a served model: its name in requests."""
    family: str = ""
    dialect: Literal["completions", "chat"] = "completions"
    key_variable: str = ""
    """Of a served model: the environment variable with its key."""
    concurrency: int = 1
    """Of a served model: requests at once, at most."""


class OrderedEnvironment(Struct, frozen=True):
    """The Environment whose held-out tasks are scored."""

    name: str
    version: str
    source: str
    options: dict[str, Any]
    draw: int
    """Tasks of the seed's order that are looked at."""
    engine: str | None = None
    """Which engine makes the sandboxes that answers are graded in; None for graders of words."""

    @property
    def resolved(self) -> ResolvedEnvironment:
        """As the graders take it."""
        return ResolvedEnvironment(self.name, self.version, self.source, self.options)

    @property
    def reference(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"


class OrderedImage(Struct, frozen=True):
    """The image that the harness runs in."""

    reference: str
    memory_bytes: int
    mounts: tuple[tuple[str, str, str], ...] = ()
    """What it sees beside the job's own: source on this machine, target, and `ro` or `rw`."""


def mounted(settings: EvaluateSettings) -> tuple[tuple[str, str, str], ...]:
    """Source on this machine, target, and `ro` or `rw` of each of its mounts."""
    return tuple((str(Path(each.source).expanduser()), each.target, "ro" if each.read_only else "rw") for each in settings.mounts)


class EvaluationOrder(Struct, frozen=True):
    """One evaluation."""

    job: str
    workspace: str
    uri: str
    python: str
    """The one that has the harness; of an image, the image's own."""
    model: OrderedModel
    parameters: dict[str, Any]
    """As the spec has them, with their defaults."""
    tasks: tuple[str, ...] = ()
    environment: OrderedEnvironment | None = None
    include_paths: tuple[str, ...] = ()
    devices: int = 1
    cpus: float = 1
    fetching_variables: tuple[str, ...] = field(default=())
    """Names of environment variables that only the fetching gets."""
    image: OrderedImage | None = None
    """None where the harness runs on this machine itself."""

    def to_text(self) -> str:
        """As JSON, which is a part of the job's record: it is the same whatever version writes it."""
        return json.dumps(fields_of(self))

    @classmethod
    def from_text(cls, text: str) -> "EvaluationOrder":
        """What `to_text` made, now or before an update. Raises OtherCodeError where it is not understood."""
        with taken(text) as values:
            values["model"] = OrderedModel(**values["model"])
            if environment := values.get("environment"):
                values["environment"] = OrderedEnvironment(**environment)
            if image := values.get("image"):
                values["image"] = OrderedImage(**{**image, "mounts": tuple(tuple(each) for each in image.get("mounts", ()))})
            for name in ("tasks", "include_paths", "fetching_variables"):
                values[name] = tuple(values.get(name, ()))
            return cls(**values)

    def number(self, name: str) -> int | None:
        """A parameter that is a whole number, by its name in the spec; None where it is not given."""
        value = self.parameters.get(name)
        return None if value is None else int(value)

    @property
    def seed(self) -> int:
        """For everything that is drawn."""
        return self.number("seed") or 0

    @property
    def task_filter(self) -> Mapping[str, Any]:
        """The metadata that a task must have."""
        return self.parameters.get("taskFilter") or {}


def matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a task's metadata has all these values; `true` is not 1, and a number is the same however it is written."""
    return all(name in metadata and _same(metadata[name], value) for name, value in wanted.items())


def _same(value: object, wanted: object) -> bool:
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
