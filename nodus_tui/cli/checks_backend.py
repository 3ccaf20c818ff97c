"""What `doctor` asks the backend: whether it opens, who runs the scheduler, and which models can be used at which price."""

import asyncio
from importlib.metadata import PackageNotFoundError, version

from nodus_tui.cli.checks import Check, Level
from nodus_tui.cli.session import opened
from nodus_tui.contract.backend import BackendInfo, ModelFact
from nodus_tui.contract.errors import NodusError


def backend_checks() -> list[Check]:
    """Every check that needs a backend; one failed check where it does not open."""
    try:
        info = asyncio.run(_ask())
    except NodusError as error:
        text = "; ".join([error.detail, *(fault.sentence() for fault in error.faults)])
        return [Check(check="backend", level=Level.FAIL, message=text, remedy="see the checks above")]
    return [_backend(info), _prices(), *map(model_check, info.models)]


async def _ask() -> BackendInfo:
    async with opened("look") as backend:
        return await backend.info()


def _backend(info: BackendInfo) -> Check:
    who = (
        "another process runs the scheduler"
        if info.scheduler_elsewhere
        else "no scheduler is running; `run`, `wait` and the console start one"
    )
    return Check(check="backend", level=Level.OK, message="; ".join([f"{info.name} {info.version}, {info.workspace}", who, *info.notes]))


def _prices() -> Check:
    try:
        return Check(
            check="prices",
            level=Level.OK,
            message=f"price database genai-prices {version('genai-prices')}, offline; the configuration file overrides it",
        )
    except PackageNotFoundError:
        return Check(check="prices", level=Level.FAIL, message="the price database is not installed", remedy="pip install genai-prices")


def model_check(model: ModelFact) -> Check:
    """One family: who serves it, at what price, and what keeps it from being used."""
    simulated = " (simulated)" if model.simulated else ""
    place = f" at {model.base_url}" if model.base_url else ""
    price = model.price_source if model.price in model.price_source else " from ".join(filter(None, [model.price, model.price_source]))
    text = f"{model.provider}: {model.name}{place}{simulated}, {price}"
    level = Level.OK if model.usable else Level.WARN
    return Check(check=f"model {model.family}", level=level, message=text, remedy="" if model.usable else model.problem)
