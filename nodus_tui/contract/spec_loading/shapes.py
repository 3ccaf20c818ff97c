"""What a resource class says of the field at a path: its limits, its names, what it expects. Reads pydantic's own field descriptions."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from msgspec import Struct, field
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from nodus_tui.contract.spec_loading.paths import Path
from nodus_tui.contract.wording import alternatives

_LEAVES: dict[object, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Decimal: "an amount of US dollars",
    timedelta: "a duration such as 10m",
}
KEY_MARK = "[key]"
"""What pydantic puts at the end of the place of a fault in a mapping's key."""


class Shape(Struct, frozen=True):
    """The type at a place, without what is wrapped around it."""

    annotation: Any
    metadata: tuple[object, ...] = ()
    discriminator: str = ""
    optional: bool = False

    @classmethod
    def of_field(cls, info: FieldInfo) -> "Shape":
        """The shape of a model's field."""
        discriminator = info.discriminator if isinstance(info.discriminator, str) else ""
        return cls.of(info.annotation, tuple(info.metadata), discriminator)

    @classmethod
    def of(cls, annotation: Any, metadata: tuple[object, ...] = (), discriminator: str = "") -> "Shape":
        """The shape of an annotation: Annotated taken apart, None taken out of a union."""
        optional = False
        while True:
            if get_origin(annotation) is Annotated:
                annotation, *more = get_args(annotation)
                metadata = (*more, *metadata)
                for each in more:
                    if isinstance(each, FieldInfo) and isinstance(each.discriminator, str):
                        discriminator = each.discriminator
                continue
            members = [each for each in union_members(annotation) if each is not NoneType]
            optional = optional or NoneType in union_members(annotation)
            if len(members) != 1 or members[0] is annotation:
                return cls(annotation, metadata, discriminator, optional)
            annotation = members[0]

    @property
    def members(self) -> tuple[Any, ...]:
        """What the value may be, None left out: several for a union, else the type alone."""
        return tuple(each for each in union_members(self.annotation) if each is not NoneType)

    @property
    def model(self) -> type[BaseModel] | None:
        """The model that the value is, where it is one."""
        return as_model(self.annotation)

    def expected(self) -> str:
        """What can stand there, in words."""
        return alternatives(word for each in self.members for word in _expected_words(each))

    def choices(self) -> tuple[str, ...]:
        """The values of a literal, or the tags of a discriminated union."""
        if self.discriminator:
            return tuple(tag for each in self.members for tag in _tags(each, self.discriminator))
        return tuple(str(value) for each in self.members if get_origin(each) is Literal for value in get_args(each))

    def limits(self) -> tuple[object, object]:
        """The lowest and the highest allowed number; None where there is no such limit."""
        low = high = None
        for each in _flat(self.metadata):
            match each:
                case Ge(ge=value) | Gt(gt=value):
                    low = value
                case Le(le=value) | Lt(lt=value):
                    high = value
                case _:
                    pass
        return low, high

    def above(self) -> bool:
        """Whether the lowest limit itself is not allowed."""
        return any(isinstance(each, Gt) for each in _flat(self.metadata))


class Place(Struct):
    """Where a fault lies: its path in the document, without the labels that pydantic adds for unions."""

    path: Path
    shape: Shape
    parent: type[BaseModel] | None = None
    """The model that the last name of the path belongs to."""
    unions: dict[Path, Shape] = field(default_factory=dict)
    """The unions without a discriminator that were passed on the way."""
    is_key: bool = False
    """The fault is in the key itself."""


def locate(model: type[BaseModel], location: Path) -> Place:
    """The place that a pydantic error's location means."""
    place = Place((), Shape.of(model))
    for index, part in enumerate(location):
        if part == KEY_MARK and index == len(location) - 1 and index:
            place.is_key = True
        else:
            _step(place, part)
    return place


def _step(place: Place, part: str | int) -> None:
    shape = place.shape
    if len(shape.members) > 1:
        if not shape.discriminator:
            place.unions[place.path] = shape
        place.shape = _member(shape, str(part))
        return
    place.path = (*place.path, part)
    place.parent = shape.model
    if shape.model is not None:
        info = fields_by_name(shape.model).get(str(part))
        place.shape = Shape.of_field(info) if info else Shape.of(object)
        return
    arguments = get_args(shape.annotation)
    place.shape = Shape.of(object)
    if get_origin(shape.annotation) is dict:
        place.shape = Shape.of(arguments[1])
    elif get_origin(shape.annotation) is tuple and arguments:
        place.shape = Shape.of(arguments[min(int(part), len(arguments) - 1)] if arguments[-1] is not ... else arguments[0])


def _member(shape: Shape, label: str) -> Shape:
    """The member of a union that pydantic's label names."""
    for each in shape.members:
        inner = Shape.of(each)
        name = getattr(inner.annotation, "__name__", "")
        if label in _tags(each, shape.discriminator) or label == name or label.endswith(f"[{name}]"):
            return inner
    return Shape.of(object)


def fields_by_name(model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """A model's fields by the names that documents use."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def union_members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation alone."""
    return get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)


def as_model(annotation: Any) -> type[BaseModel] | None:
    """The annotation where it is a model."""
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _tags(annotation: Any, discriminator: str) -> tuple[str, ...]:
    model = as_model(Shape.of(annotation).annotation)
    info = fields_by_name(model).get(discriminator) if model and discriminator else None
    return tuple(str(value) for value in get_args(info.annotation)) if info else ()


def _expected_words(annotation: Any) -> list[str]:
    plain = Shape.of(annotation).annotation
    origin = get_origin(plain)
    if origin is Literal:
        return [str(value) for value in get_args(plain)]
    if origin is tuple:
        return ["a list"]
    if origin is dict or as_model(plain):
        return ["a mapping of fields"]
    return [_LEAVES.get(plain, "another value")]


def _flat(metadata: tuple[object, ...]) -> list[object]:
    """All metadata, what lies inside a nested Field included."""
    flat: list[object] = []
    for each in metadata:
        flat.extend(each.metadata if isinstance(each, FieldInfo) else [each])
    return flat
