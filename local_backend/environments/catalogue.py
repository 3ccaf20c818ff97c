"""Which environments there are: the catalogue's own, the datasets of reasoning-gym, the user's. Cheap: it loads no tasks and no package."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from local_backend.environments.client import EnvironmentFacts, check
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.environments.names import CODE_NAME, CODE_SIZE, CODE_VERSION
from local_backend.environments.reasoning_gym_names import INSTALL_HINT, MODULES, PREFIX, SIZE
from local_backend.environments.reasoning_gym_names import VERSION as REASONING_GYM_VERSION
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.wording import quoted

if TYPE_CHECKING:
    from pydantic import JsonValue

    from nodus_tui.contract.resources.environment import Environment

ARITHMETIC_NAME = "nodus/arithmetic-v2"
ARITHMETIC_VERSION = "2.0.0"
SPLITS = ("train", "test")
WEAKER = "the tests of task folders run as the same user as what the agent wrote, which could read them and forge their outcome"
WEAKER_WITH_NETWORK = f"{WEAKER}; and they may reach the network, so that it could as well"


class UnknownEnvironmentError(NodusError):
    """No environment has this name, version or split; `suggestion` is the nearest that exists, or empty."""

    def __init__(self, detail: str, suggestion: str = "") -> None:
        super().__init__(ErrorCode.NOT_FOUND, detail)
        self.suggestion = suggestion


class CatalogueEntry(Struct, frozen=True):
    """One environment that comes with this program, for lists."""

    name: str
    version: str
    description: str
    splits: tuple[str, ...]
    size: int | None
    """Tasks of one seed in each split; None where there is no end."""
    source: str
    problem: str = ""
    """Why it cannot be used here, and what to do; empty when it can."""
    grader: str = ""
    """How answers are judged, in a few words."""
    in_sandbox: bool = False
    """Whether judging needs sandboxes."""


class EnvironmentCatalogue:
    """Finds environments by their references."""

    def entries(self) -> tuple[CatalogueEntry, ...]:
        """Everything that comes with this program, the arithmetic first, then the datasets by name."""
        problem = _reasoning_gym_problem()
        arithmetic = CatalogueEntry(
            ARITHMETIC_NAME,
            ARITHMETIC_VERSION,
            "whole-number arithmetic in seven families, from single digits to two-step stories",
            SPLITS,
            None,
            "catalogue",
            grader="the number of the reply's last Answer line, or its last number",
        )
        code = CatalogueEntry(
            CODE_NAME,
            CODE_VERSION,
            "Python functions and programs to write and modules to repair, judged by hidden tests in sandboxes",
            SPLITS,
            CODE_SIZE,
            "catalogue",
            grader="hidden tests, as another user than the judged code",
            in_sandbox=True,
        )
        datasets = (
            CatalogueEntry(
                PREFIX + dataset,
                REASONING_GYM_VERSION,
                f"{dataset.replace('_', ' ')} ({module.partition('.')[0]}, reasoning-gym)",
                SPLITS,
                SIZE,
                "reasoning-gym",
                problem,
                grader="the dataset's own scoring of the reply",
            )
            for dataset, module in MODULES.items()
        )
        return (arithmetic, code, *datasets)

    def resolve(
        self, reference: str, split: str, *, own: Callable[[str], Environment | None], own_names: Iterable[str] = ()
    ) -> ResolvedEnvironment:
        """The environment of `name@version`.

        `own` finds a user's Environment, whose file must be an absolute path, by its name; `own_names` are for suggestions only. Raises
        UnknownEnvironmentError for an unknown name, version or split, and NodusError (Configuration) when reasoning-gym is not installed.
        """
        name, at, version = reference.rpartition("@")
        if not at or not name or not version:
            raise UnknownEnvironmentError(f"{quoted(reference)} is not name@version, such as {ARITHMETIC_NAME}@{ARITHMETIC_VERSION}")
        resolved = self._found(name, version, own, own_names)
        if split not in SPLITS:
            near = _nearest(split, SPLITS)
            raise UnknownEnvironmentError(f"{reference} has no split {quoted(split)}; its splits are train and test", near)
        return resolved

    async def facts(self, resolved: ResolvedEnvironment) -> EnvironmentFacts:
        """What there is to know of it; a task file is read whole, in a process of its own. Raises NodusError with every fault in it."""
        return await check(resolved)

    def _found(self, name: str, version: str, own: Callable[[str], Environment | None], own_names: Iterable[str]) -> ResolvedEnvironment:
        if name == ARITHMETIC_NAME:
            _check_version(name, version, ARITHMETIC_VERSION)
            return ResolvedEnvironment(name, version, "catalogue", {})
        if name == CODE_NAME:
            _check_version(name, version, CODE_VERSION)
            return ResolvedEnvironment(name, version, "catalogue", {"gradedInSandbox": True})
        dataset = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and dataset in MODULES:
            _check_version(name, version, REASONING_GYM_VERSION)
            problem = _reasoning_gym_problem()
            if problem:
                raise NodusError(ErrorCode.CONFIGURATION, f"{name}@{version} cannot be used: {problem}")
            return ResolvedEnvironment(name, version, "reasoning-gym", {"dataset": dataset})
        environment = own(name)
        if environment is not None:
            _check_version(name, version, environment.spec.version)
            return own_environment(environment)
        names = (ARITHMETIC_NAME, CODE_NAME, *(PREFIX + each for each in MODULES), *own_names)
        near = _nearest(name, names)
        known = {ARITHMETIC_NAME: ARITHMETIC_VERSION, CODE_NAME: CODE_VERSION} | {PREFIX + each: REASONING_GYM_VERSION for each in MODULES}
        mine = own(near) if near and near not in known else None
        suggestion = f"{near}@{mine.spec.version if mine else known.get(near, version)}" if near else ""
        raise UnknownEnvironmentError(f"there is no environment {quoted(name)}", suggestion)


def own_environment(environment: Environment) -> ResolvedEnvironment:
    """A user's Environment, which need not be stored yet. Raises NodusError (InvalidSpec) when a path in it is not absolute."""
    for path, value in environment.spec.local_paths().items():
        if not Path(value).is_absolute():
            raise NodusError(
                ErrorCode.INVALID_SPEC,
                f"{'.'.join(path)} of environment {quoted(environment.name)} is a relative path and nothing says relative to which folder: "
                "give an absolute path, or apply a spec file that lies beside it",
            )
    options: dict[str, JsonValue] = {"spec": environment.spec.to_document()}
    if environment.spec.folder is None:
        return ResolvedEnvironment(environment.name, environment.spec.version, "file", options)
    options["weakerGrader"] = WEAKER_WITH_NETWORK if environment.spec.tests_network else WEAKER
    return ResolvedEnvironment(environment.name, environment.spec.version, "folder", options)


def _check_version(name: str, version: str, known: str) -> None:
    if version != known:
        raise UnknownEnvironmentError(f"{name} has no version {quoted(version)}; it has {known}", f"{name}@{known}")


def _reasoning_gym_problem() -> str:
    if importlib.util.find_spec("reasoning_gym") is None:
        return f"reasoning-gym is not installed: {INSTALL_HINT}"
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - for one source of tasks only

    try:
        installed = version("reasoning-gym")
    except PackageNotFoundError:
        return f"the reasoning-gym here says no version: {INSTALL_HINT}"
    if installed != REASONING_GYM_VERSION:
        return f"reasoning-gym {installed} is installed and makes other tasks than {REASONING_GYM_VERSION}: {INSTALL_HINT}"
    return ""


def _nearest(name: str, names: Iterable[str]) -> str:
    """The nearest known name; the part after the slash is enough."""
    known = tuple(names)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return close[0]
    tails = {each.rpartition("/")[2]: each for each in known}
    close = difflib.get_close_matches(name.rpartition("/")[2], tails, n=1, cutoff=0.75)
    return tails[close[0]] if close else ""
