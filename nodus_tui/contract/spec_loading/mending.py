"""Mending a faulty document for checking: what is wrong gets a valid stand-in, so that the rest can be checked against a workspace.

It knows the resource classes only through their own field descriptions. What it makes is never applied.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any, Literal, get_args, get_origin

from annotated_types import MinLen
from msgspec import Struct, field
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.spec_loading.fault_order import MAX_FAULTS
from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.spec_loading.paths import Path
from nodus_tui.contract.spec_loading.shapes import Shape, fields_by_name, locate
from nodus_tui.contract.spec_loading.yaml_reader import SourceDocument

_ROUNDS = 16
"""Mending one value can show the next fault, but not for ever."""

_STAND_INS: dict[object, tuple[object, ...]] = {
    # A name, a reference, an address, a path, an e-mail address, a variable: each kind of text takes one of them.
    str: ("stand-in", "stand-in@0", "stand-in://0", "/stand-in", "stand-in@example.com", "STAND_IN"),
    bool: (False, True),
    Decimal: ("1.00",),
    timedelta: ("10m", "1h", "24h", "7d", "30d"),
}


class Mended(Struct, frozen=True):
    """A valid resource, not all of which was written."""

    resource: Resource
    stand_ins: frozenset[Path]
    """The fields whose values are made up."""


class _Drop:
    """In the place of a value: take the field out."""


class _Mending(Struct):
    model: type[Resource]
    value: object
    tries: Counter[Path] = field(default_factory=Counter)
    stand_ins: set[Path] = field(default_factory=set)
    astray: set[str] = field(default_factory=set)
    """Names of fields that were taken out because nothing there has them, and the names that they may stand for."""

    def take_out_astray(self, detail: ErrorDetails) -> Path:
        """Note the name of an unknown field; gives its path."""
        place = locate(self.model, detail["loc"])
        name = str(place.path[-1])
        self.astray |= {name, nearest(name, list(fields_by_name(place.parent)) if place.parent else [])}
        return place.path

    def mend(self, paths: set[Path]) -> bool:
        """Give each of these values its next stand-in; False when there is none left. What lies in another one is left to it."""
        outermost = [path for path in paths if not any(start in paths for start in accumulate((step,) for step in path[:-1]))]
        return all(self._mend(path) for path in outermost)

    def _mend(self, path: Path) -> bool:
        while path:
            options = _options(self.model, self.value, path)[self.tries[path] :]
            self.tries[path] += 1
            if options:
                self._replace(path, options[0])
                return True
            path = path[:-1]
        return False

    def _replace(self, path: Path, new: object) -> None:
        self.value = _put(self.value, path, new)
        self.stand_ins.add(path)
        for inner in [each for each in self.tries if each[: len(path)] == path and each != path]:
            del self.tries[inner]


def mend(model: type[Resource], content: Mapping[str, object], source: SourceDocument) -> Mended | None:
    """The resource that a document would be, were its faulty values valid; None when no stand-ins make it one."""
    mending = _Mending(model, content)
    wrong: set[Path] = set(source.spoiled)
    for _ in range(_ROUNDS):
        if not mending.mend(wrong):
            return None
        try:
            resource = model.model_validate(mending.value, strict=True, by_alias=True, by_name=False)
        except ValidationError as error:
            if error.error_count() > MAX_FAULTS:
                return None  # A document that is nothing but faults is not worth the work.
            details = error.errors(include_url=False, include_context=False)
            wrong = {
                mending.take_out_astray(each) if each["type"] == "extra_forbidden" else locate(model, each["loc"]).path for each in details
            }
        else:
            doubtful = _not_written(resource, source, mending.astray)
            return Mended(resource, frozenset(mending.stand_ins | source.twice | doubtful))
    return None


def _not_written(resource: Resource, source: SourceDocument, astray: set[str]) -> set[Path]:
    """Fields that have their defaults only because what was meant for them stands elsewhere, or was not read."""
    if not astray and not source.incomplete:
        return set()
    return {
        path
        for path in _paths(resource.to_document(), ())
        if path not in source.positions and (path[-1] in astray or path[:-1] in source.incomplete)
    }


def _paths(value: object, path: Path) -> list[Path]:
    found = [path] if path else []
    if isinstance(value, dict):
        for name, part in value.items():
            found += _paths(part, (*path, name))
    return found


def _options(model: type[BaseModel], value: object, path: Path) -> list[object]:
    """What can take the place of the value at a path, best first. It depends on what is around the value, not on the value."""
    shape, inside = Shape.of(model), value
    for step in path[:-1]:
        shape, inside = _below(shape, inside, step)
    owner = _member(shape, inside).model
    info = fields_by_name(owner).get(str(path[-1])) if owner else None
    can_go = not isinstance(inside, tuple) and (info is None or not info.is_required())
    return [_Drop()] * can_go + _stand_ins(_below(shape, inside, path[-1])[0])


def _below(shape: Shape, value: object, step: str | int) -> tuple[Shape, object]:
    """The shape and the value one step further in."""
    annotation = _member(shape, value).annotation
    inner: Shape = Shape.of(object)
    arguments = get_args(annotation)
    model = Shape.of(annotation).model
    if model is not None:
        info = fields_by_name(model).get(str(step))
        inner = Shape.of_field(info) if info else inner
    elif get_origin(annotation) in {dict, tuple} and arguments:
        inner = Shape.of(arguments[1] if get_origin(annotation) is dict else arguments[0])
    if isinstance(value, dict):
        return inner, value.get(str(step))
    return inner, value[step] if isinstance(value, tuple) and isinstance(step, int) and step < len(value) else None


def _member(shape: Shape, value: object) -> Shape:
    """The member of a union that a value says it is, or else the first."""
    members = [Shape.of(each) for each in shape.members]
    tag = value.get(shape.discriminator) if isinstance(value, dict) else None
    for each in members:
        if shape.discriminator and each.model and tag in get_args(fields_by_name(each.model)[shape.discriminator].annotation):
            return each
    return members[0]


def _stand_ins(shape: Shape) -> list[object]:
    """Values of a shape, the plainest first. Not all of them keep every rule."""
    annotation = _member(shape, None).annotation
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if get_origin(annotation) is tuple:
        item = _stand_ins(Shape.of(get_args(annotation)[0]))[0]
        least = next((each.min_length for each in shape.metadata if isinstance(each, MinLen)), 0)
        return [tuple([item] * count) for count in sorted({least, least + 1})]
    if get_origin(annotation) is dict:
        key, part = get_args(annotation)
        return [{}, *({name: _stand_ins(Shape.of(part))[0]} for name in _stand_ins(Shape.of(key)))]
    model = Shape.of(annotation).model
    if model is not None:
        return [_least(model)]
    if annotation in {int, float}:
        low = shape.limits()[0]
        return [annotation(low) + step if isinstance(low, int | float) else annotation(step) for step in (0, 1)]
    return list(_STAND_INS.get(annotation, ()))


def _least(model: type[BaseModel]) -> dict[str, Any]:
    """The fields without which there is no such mapping."""
    needed = {name: info for name, info in fields_by_name(model).items() if info.is_required()}
    return {name: next(iter(_stand_ins(Shape.of_field(info))), None) for name, info in needed.items()}


def _put(value: object, path: Path, new: object) -> object:
    """The value with another one at a path; unchanged where the path leads nowhere."""
    if not path:
        return new
    step, *rest = path
    if isinstance(value, dict):
        if isinstance(new, _Drop) and (not rest or step not in value):
            return {name: part for name, part in value.items() if name != step}
        return {**value, step: _put(value.get(step), tuple(rest), new)}
    if isinstance(value, tuple) and isinstance(step, int) and step < len(value):
        return (*value[:step], _put(value[step], tuple(rest), new), *value[step + 1 :])
    return value
