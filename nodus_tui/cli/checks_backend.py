"""What `doctor` asks the backend: whether it opens, who runs the scheduler, what makes sandboxes, which models there are at which price."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from msgspec import Struct

from nodus_tui.cli.checks import Check, Level
from nodus_tui.cli.session import opened
from nodus_tui.contract.backend_info import BackendInfo, ModelFact
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.evaluation import HARNESS, EvaluationFact
from nodus_tui.contract.hardware_view import HardwareView
from nodus_tui.contract.sandboxes import SandboxEngineFact

_GIB = 1 << 30


class BackendFindings(Struct, frozen=True):
    """What the backend said."""

    checks: tuple[Check, ...]
    """All but those of the models."""
    models: tuple[ModelFact, ...] = ()
    sandbox: SandboxEngineFact | None = None
    """Null where it did not say."""


def backend_checks() -> BackendFindings:
    """Every check that needs a backend on this machine; one failed check where it does not open."""
    try:
        info, _ = asyncio.run(_ask(machine=False))
    except NodusError as error:
        return BackendFindings((_unopened(error, "see the checks above"),))
    return BackendFindings(
        (_backend(info), _prices(), sandbox_check(info.sandbox), evaluation_check(info.evaluation)), info.models, info.sandbox
    )


def remote_checks() -> BackendFindings:
    """What the API of another machine says of that machine; one failed check where it does not answer."""
    try:
        info, machine = asyncio.run(_ask(machine=True))
    except NodusError as error:
        remedy = "`nodus-tui serve` starts it there; the address is that of --connect or NODUS_URL, the token that of NODUS_TOKEN"
        return BackendFindings((_there(_unopened(error, remedy)),))
    checks = (
        _backend(info),
        *(_machine_checks(machine) if machine is not None else ()),
        sandbox_check(info.sandbox),
        evaluation_check(info.evaluation),
    )
    return BackendFindings(tuple(map(_there, checks)), info.models, info.sandbox)


def _there(check: Check) -> Check:
    return check.model_copy(update={"where": "there"})


def _unopened(error: NodusError, remedy: str) -> Check:
    text = "; ".join([error.detail, *(fault.sentence() for fault in error.faults)])
    return Check(check="backend", level=Level.FAIL, message=text, remedy=remedy)


async def _ask(*, machine: bool) -> tuple[BackendInfo, HardwareView | None]:
    async with opened("look") as backend:
        hardware = await backend.gpus() if machine else None
        try:
            return await backend.info(probe=True), hardware
        except NodusError as error:
            if error.code is not ErrorCode.FORBIDDEN:
                raise
        # A viewer may not start anything there, and learns what is known already.
        return await backend.info(), hardware


def _machine_checks(view: HardwareView) -> tuple[Check, ...]:
    machine = view.machine
    parts = [machine.host]
    parts += [f"{machine.cpus} CPUs"] if machine.cpus is not None else []
    parts += [f"{machine.memory_total_bytes / _GIB:.1f} GiB of memory"] if machine.memory_total_bytes is not None else []
    if machine.disk_total_bytes is not None and machine.disk_used_bytes is not None:
        parts.append(f"{(machine.disk_total_bytes - machine.disk_used_bytes) / _GIB:.1f} GiB free for the workspace")
    names = Counter(device.name or "unknown" for device in view.devices)
    gpus = ", ".join(f"{count} × {name}" for name, count in names.items()) or "none"
    return (
        Check(check="machine", level=Level.OK, message=", ".join(parts)),
        Check(check="GPUs", level=Level.OK, message="; ".join([gpus, *view.notes])),
    )


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


_NO_SANDBOX = "mend what is said there: until then no agent with tools, no program grader and no Sandbox can run"
"""What is to be done depends on the reason, which says it: a wrong setting asks for something else than a missing engine."""


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


def model_checks(models: Sequence[ModelFact]) -> list[Check]:
    """One check a family; those that lack the same key are told together, for one thing is to be done."""
    lacking: dict[str, list[ModelFact]] = {}
    for model in models:
        if model.missing_key:
            lacking.setdefault(model.missing_key, []).append(model)
    return [
        *(model_check(model) for model in models if not model.missing_key),
        *(_keyless(variable, lacking[variable]) for variable in lacking),
    ]


def _keyless(variable: str, models: Sequence[ModelFact]) -> Check:
    if len(models) == 1:
        return model_check(models[0])
    families = ", ".join(model.family for model in models)
    providers = ", ".join(dict.fromkeys(model.provider for model in models))
    remedy = f"set {variable} to your key where the work is done, to use them; other families need nothing of it"
    return Check(check=f"models {families}", level=Level.WARN, message=f"{variable} is not set ({providers})", remedy=remedy)


def evaluation_check(fact: EvaluationFact | None) -> Check:
    """What TrainingJobs run with. Without it everything else works."""
    if fact is None:
        return Check(check="evaluate", level=Level.WARN, message="the backend does not say whether it can run TrainingJobs")
    if fact.problem:
        what, _, remedy = fact.problem.partition(": ")
        return Check(check="evaluate", level=Level.WARN, message=f"no TrainingJob can run: {what}", remedy=remedy)
    if fact.image and not fact.harness:
        return Check(check="evaluate", level=Level.OK, message=f"{HARNESS} in the image {fact.image}, which the first TrainingJob fetches")
    torch = f"torch {fact.torch}" if fact.torch else "no torch, so that only served models can be scored"
    return Check(check="evaluate", level=Level.OK, message=f"{HARNESS} {fact.harness}, {torch}: {fact.python} ({fact.source})")


def model_check(model: ModelFact) -> Check:
    """One family: who serves it, at what price, and what keeps it from being used."""
    simulated = " (simulated)" if model.simulated else ""
    place = f" at {model.base_url}" if model.base_url else ""
    price = model.price_source if model.price in model.price_source else " from ".join(filter(None, [model.price, model.price_source]))
    text = f"{model.provider}: {model.name}{place}{simulated}, {price}"
    level = Level.OK if model.usable else Level.WARN
    return Check(check=f"model {model.family}", level=level, message=text, remedy="" if model.usable else model.problem)
