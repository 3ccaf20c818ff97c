"""Every model of the contract can be built: they are built when first used, and a fault of one is to be found before that."""

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import nodus_tui.contract
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.resources.registry import KINDS


def models() -> list[type[ContractModel]]:
    for module in pkgutil.walk_packages(nodus_tui.contract.__path__, "nodus_tui.contract."):
        importlib.import_module(module.name)
    return sorted(set(_below(ContractModel)), key=lambda model: f"{model.__module__}.{model.__qualname__}")


def _below(model: type[ContractModel]) -> Iterator[type[ContractModel]]:
    for each in model.__subclasses__():
        if each.__module__.startswith("nodus_tui.contract."):
            yield each
        yield from _below(each)


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__qualname__)
def test_every_model_builds(model: type[ContractModel]) -> None:
    model.model_rebuild(force=True, raise_errors=True)
    assert model.__pydantic_complete__


def test_every_kind_is_where_the_registry_says() -> None:
    assert set(KINDS.values()) <= set(models())
    assert "Nothing" not in KINDS
    assert KINDS.get("Nothing") is None
