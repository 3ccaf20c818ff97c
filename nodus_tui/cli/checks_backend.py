"""What `doctor` asks the backend: whether it opens, who runs the scheduler, what makes sandboxes, which models there are at which price."""

import asyncio
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from nodus_tui.cli.checks import Check, Level
from nodus_tui.cli.session import opened
from nodus_tui.contract.backend import BackendInfo, ModelFact
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandboxes import SandboxEngineFact


@dataclass(frozen=True)
class BackendFindings:
    """What the backend said."""

    checks: tuple[Check, ...]
    sandbox: SandboxEngineFact | None
    """Null where it did not say."""


def backend_checks() -> BackendFindings:
    """Every check that needs a backend; one failed check where it does not open."""
    try:
        info = asyncio.run(_ask())
    except NodusError as error:
        text = "; ".join([error.detail, *(fault.sentence() for fault in error.faults)])
        return BackendFindings((Check(check="backend", level=Level.FAIL, message=text, remedy="see the checks above"),), None)
    return BackendFindings((_backend(info), _prices(), sandbox_check(info.sandbox), *map(model_check, info.models)), info.sandbox)


async def _ask() -> BackendInfo:
    async with opened("look") as backend:
        try:
            return await backend.info(probe=True)
        except NodusError as error:
            if error.code is not ErrorCode.FORBIDDEN:
                raise
        # A viewer may not start anything there, and learns what is known already.
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


_NO_SANDBOX = "install bubblewrap (with user namespaces), or start a Docker engine that this user may use"


def sandbox_check(fact: SandboxEngineFact | None) -> Check:
    """Which engine makes sandboxes, why, and how strong it is. Without one only agents without tools can run."""
    if fact is None:
        text = "the backend does not say which engine makes sandboxes"
        return Check(check="sandbox", level=Level.WARN, message=text, remedy="ask the workspace's scheduler: `nodus-tui scheduler start`")
    if fact.isolation == "none":
        return Check(check="sandbox", level=Level.WARN, message=f"none: {fact.reason}", remedy="; ".join(fact.weaknesses) or _NO_SANDBOX)
    engine = " ".join(part for part in (fact.engine, fact.version) if part)
    text = f"{engine}, {fact.isolation} isolation: {fact.reason}"
    level = Level.OK if fact.isolation == "full" else Level.WARN
    return Check(check="sandbox", level=level, message=text, remedy="; ".join(fact.weaknesses))


def model_check(model: ModelFact) -> Check:
    """One family: who serves it, at what price, and what keeps it from being used."""
    simulated = " (simulated)" if model.simulated else ""
    place = f" at {model.base_url}" if model.base_url else ""
    price = model.price_source if model.price in model.price_source else " from ".join(filter(None, [model.price, model.price_source]))
    text = f"{model.provider}: {model.name}{place}{simulated}, {price}"
    level = Level.OK if model.usable else Level.WARN
    return Check(check=f"model {model.family}", level=level, message=text, remedy="" if model.usable else model.problem)
