"""From a sweep's matrix to its cells: their order, their names, their values on the axes, and the spec that each one has. Pure."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

from msgspec import Struct, field
from pydantic import ValidationError

from nodus_tui.contract.resources.agent_group import AgentGroupSpec
from nodus_tui.contract.resources.job import JobSpec
from nodus_tui.contract.resources.sweep import Scalar, SweepSpec, scalar_text
from nodus_tui.contract.resources.training_job import TrainingJobSpec
from nodus_tui.contract.spec_loading.sentences import findings

CellSpec = AgentGroupSpec | JobSpec | TrainingJobSpec
Path = tuple[str | int, ...]

LONGEST_CELL_NAME = 50
"""Letters; the names of a group's runs are built on it."""

_MODELS: dict[str, type[CellSpec]] = {"AgentGroup": AgentGroupSpec, "Job": JobSpec, "TrainingJob": TrainingJobSpec}
_TEMPLATE: Path = ("template", "spec")


class Cell(Struct, frozen=True):
    """One cell before it is launched."""

    place: int
    """From 1, in the order in which cells start."""
    name: str
    kind: str
    axes: dict[str, Scalar]
    spec: CellSpec
    origins: Mapping[Path, Path]
    """Where in the sweep's spec the parts of this cell's spec come from that are not the template's own."""

    def origin(self, path: Path) -> Path:
        """The path in the sweep's spec of a path in this cell's spec."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        return (*_TEMPLATE, *path)


class CellFault(Struct, frozen=True):
    """Why a matrix makes no cells: a value that its kind does not allow."""

    path: Path
    """In the sweep's spec."""
    message: str
    suggestion: str = ""


class CellFaultsError(Exception):
    """The matrix makes cells that their kind does not allow."""

    def __init__(self, faults: tuple[CellFault, ...]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults


class _Draft(Struct):
    """A cell's spec in the making, as a document of its kind."""

    document: dict[str, Any]
    axes: dict[str, Scalar] = field(default_factory=dict)
    origins: dict[Path, Path] = field(default_factory=dict)

    def put(self, path: tuple[str, ...], value: object, origin: Path) -> None:
        """Let a value take the place of the template's."""
        *parents, last = path
        part = self.document
        for name in parents:
            part[name] = dict(part.get(name) or {})
            part = part[name]
        part[last] = value
        self.origins[path] = origin


_Change = Callable[[_Draft], None]


def axes_of(spec: SweepSpec) -> dict[str, tuple[Scalar, ...]]:
    """The axes that the spec names, with their values: shards and repetitions where there is more than one."""
    matrix = spec.matrix
    axes: dict[str, tuple[Scalar, ...]] = {}
    if matrix.accelerators:
        axes["accelerator"] = matrix.accelerators
    if matrix.agents:
        axes["agent"] = matrix.agents
    axes |= matrix.parameters
    if matrix.shards > 1:
        axes["shard"] = tuple(range(1, matrix.shards + 1))
    if spec.repetitions > 1:
        axes["repetition"] = tuple(range(1, spec.repetitions + 1))
    return axes


def cell_names(sweep: str, count: int) -> list[str]:
    """The names of a sweep's cells, in order, which is also the order of the alphabet."""
    digits = len(str(count))
    return [f"{sweep}-{place:0{digits}d}" for place in range(1, count + 1)]


def cells_of(sweep: str, spec: SweepSpec) -> tuple[Cell, ...]:
    """All cells, in the order in which they start: each combination of the other axes on the first shard before any on the second, and all
    of the first repetition before the second. So whatever a sweep comes to, its variants have been asked nearly the same.

    Raises CellFaultsError with every fault, each once.
    """
    names = cell_names(sweep, spec.cells)
    model, order = _MODELS[spec.template.kind], axes_of(spec)
    cells: list[Cell] = []
    faults: dict[CellFault, None] = {}
    for place, draft in enumerate(_drafts(spec), start=1):
        axes = {name: draft.axes[name] for name in order}
        cell = Cell(place, names[place - 1], spec.template.kind, axes, spec.template.spec, draft.origins)
        try:
            made = model.model_validate(_tuples(draft.document), strict=True, by_alias=True, by_name=False)
        except ValidationError as error:
            faults |= {CellFault(cell.origin(each.path), each.message, each.suggestion): None for each in findings(error, model)}
        else:
            cells.append(Cell(place, cell.name, cell.kind, cell.axes, made, cell.origins))
    faults |= dict.fromkeys(_seeds_twice(spec))
    if faults:
        raise CellFaultsError(tuple(faults))
    return tuple(cells)


def _seeds_twice(spec: SweepSpec) -> list[CellFault]:
    if spec.repetitions == 1 or spec.template.kind != "TrainingJob" or "seed" not in spec.matrix.parameters:
        return []
    return [
        CellFault(("repetitions",), "repetitions of a TrainingJob count its seed up, and seed is an axis already: leave one of them out")
    ]


def _drafts(spec: SweepSpec) -> Iterator[_Draft]:
    matrix = spec.matrix
    changes: list[list[_Change]] = [
        [partial(_put_repetition, spec=spec, repetition=number) for number in range(1, spec.repetitions + 1)],
        [partial(_put_shard, spec=spec, shard=number) for number in range(1, matrix.shards + 1)],
        [partial(_put_accelerator, spec=spec, place=place) for place in range(len(matrix.accelerators))],
        [partial(_put_agent, spec=spec, place=place) for place in range(len(matrix.agents))],
    ]
    for name, values in matrix.parameters.items():
        changes.append([partial(_put_parameter, spec=spec, name=name, place=place) for place in range(len(values))])
    for chosen in product(*filter(None, changes)):
        draft = _Draft(spec.template.spec.to_document())
        for change in chosen:
            change(draft)
        yield draft


def _put_accelerator(draft: _Draft, spec: SweepSpec, place: int) -> None:
    name, origin = spec.matrix.accelerators[place], ("matrix", "accelerators", place)
    if spec.template.kind == "TrainingJob":
        draft.put(("resources", "hardware"), (name,), origin)
    else:
        draft.put(("hardware",), name, origin)
    draft.axes["accelerator"] = name


def _put_agent(draft: _Draft, spec: SweepSpec, place: int) -> None:
    name = spec.matrix.agents[place]
    draft.put(("agent",), name, ("matrix", "agents", place))
    draft.axes["agent"] = name


def _put_parameter(draft: _Draft, spec: SweepSpec, name: str, place: int) -> None:
    value, origin = spec.matrix.parameters[name][place], ("matrix", "parameters", name, place)
    if spec.template.kind == "Job":
        draft.put(("env", name), scalar_text(value), origin)
    else:
        draft.put(("parameters", name), value, origin)
    draft.axes[name] = value


def _put_shard(draft: _Draft, spec: SweepSpec, shard: int) -> None:
    of, origin = spec.matrix.shards, ("matrix", "shards")
    if of == 1:
        return
    if spec.template.kind == "Job":
        draft.put(("env", "NODUS_SHARD"), str(shard), origin)
        draft.put(("env", "NODUS_SHARDS"), str(of), origin)
    else:
        draft.put(("evaluation", "shard"), {"index": shard, "of": of}, origin)
    draft.axes["shard"] = shard


def _put_repetition(draft: _Draft, spec: SweepSpec, repetition: int) -> None:
    if spec.repetitions == 1:
        return
    if spec.template.kind == "Job":
        draft.put(("env", "NODUS_REPETITION"), str(repetition), ("repetitions",))
    elif isinstance(spec.template.spec, TrainingJobSpec) and repetition > 1:
        draft.put(("parameters", "seed"), spec.template.spec.parameters.seed + repetition - 1, ("repetitions",))
    draft.axes["repetition"] = repetition


def _tuples(value: object) -> Any:
    """A document as the reader of specs gives it: lists are tuples."""
    if isinstance(value, dict):
        return {name: _tuples(part) for name, part in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value
