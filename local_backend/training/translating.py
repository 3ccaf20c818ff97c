"""From a TrainingJob to the Job that the engine of jobs runs. Pure."""

from collections.abc import Mapping
from typing import Any

from local_backend.models.catalogue import ResolvedModel
from local_backend.training.model_uri import HubModel, LocalModel, ServedModel
from local_backend.training.order import OUTPUTS, EvaluationOrder, OrderedImage, OrderedModel, mounted
from nodus_tui.contract.configuration import EvaluateSettings
from nodus_tui.contract.resources.job import JobSpec
from nodus_tui.contract.resources.training_job import TrainingJobSpec
from nodus_tui.values import replace

CPU = "CPU"
_GIB = 1 << 30

_RUNNER = "local_backend.training.runner"
_PASSED = (
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_DATASETS_CACHE",
    "HF_ENDPOINT",
    "XDG_CACHE_HOME",
    "NODUS_CACHE",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
)
"""Variables that say where things lie and how the network is reached: passed on where they are set. No key is among them."""
_ENGINE = (
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_TLS",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
    "XDG_RUNTIME_DIR",
)
"""What graders need to find the engine of their sandboxes, and what finds the engine of the harness's image."""


def unserved(source: HubModel | LocalModel) -> OrderedModel:
    """A model that the harness loads itself."""
    if isinstance(source, HubModel):
        return OrderedModel("hub", source.repository, revision=source.revision)
    return OrderedModel("local", source.path)


def served(source: ServedModel, model: ResolvedModel, *, environment: bool) -> OrderedModel:
    """A model that a server has. Where the address leaves it open, benchmarks ask for completions, and an Environment for a chat's."""
    return OrderedModel(
        "served",
        model.base_url,
        name=model.name,
        family=source.family,
        dialect=source.dialect or ("chat" if environment else "completions"),
        key_variable=model.api_key_env or "",
        concurrency=model.max_concurrency,
    )


def parameters_of(spec: TrainingJobSpec) -> dict[str, Any]:
    """The parameters that are given, with their defaults, under their names in a spec."""
    return {name: value for name, value in spec.parameters.to_document().items() if value is not None}


def work_of(spec: TrainingJobSpec, order: EvaluationOrder, settings: EvaluateSettings, environ: Mapping[str, str], program: str) -> JobSpec:
    """The Job. `program` is the Python of this program itself."""
    resources, first = spec.resources, spec.resources.hardware[0]
    secret = [name for name in settings.env_from if name in environ]
    named = [*_PASSED, *(_ENGINE if _uses_engine(order, settings) else ())]
    order = replace(order, image=_image(spec, settings))
    passed = [name for name in named if environ.get(name)]
    key = [order.model.key_variable] if order.model.key_variable else []
    order = replace(order, fetching_variables=tuple(secret))
    return JobSpec.model_validate(
        {
            "hardware": first,
            "accelerators": 0 if first == CPU else resources.accelerators,
            "cpus": resources.all_cpus,
            "memoryGiB": resources.all_memory_gib,
            # The runner fetches; the harness itself is cut off from the network.
            "network": True,
            "envFrom": tuple(dict.fromkeys([*passed, *secret, *key])),
            "command": (program, "-P", "-m", _RUNNER, order.to_text()),
            "outputs": (OUTPUTS,),
            "maxCostUSD": spec.max_cost_usd,
            "timeout": spec.timeout,
        }
    )


def _uses_engine(order: EvaluationOrder, settings: EvaluateSettings) -> bool:
    return settings.image is not None or (order.environment is not None and order.environment.engine is not None)


def _image(spec: TrainingJobSpec, settings: EvaluateSettings) -> OrderedImage | None:
    if settings.image is None:
        return None
    return OrderedImage(settings.image, round(spec.resources.all_memory_gib * _GIB), mounted(settings))


def order_in(work: Mapping[str, Any]) -> EvaluationOrder:
    """The order of a Job that `work_of` made."""
    return EvaluationOrder.from_text(work["command"][-1])
