"""All kinds by name, and the apiVersion that each has. A kind's module is loaded when the kind is first asked for."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from nodus_tui.contract.resources.meta import Resource

_MODULES = {
    "Agent": "agent",
    "AgentRun": "agent_run",
    "AgentGroup": "agent_group",
    "Environment": "environment",
    "Budget": "budget",
    "Sandbox": "sandbox",
    "Sweep": "sweep",
    "Job": "job",
    "TrainingJob": "training_job",
}


class _Kinds(Mapping[str, type[Resource]]):
    def __getitem__(self, kind: str) -> type[Resource]:
        module = import_module(f"nodus_tui.contract.resources.{_MODULES[kind]}")
        found: type[Resource] = getattr(module, kind)
        return found

    def __contains__(self, kind: object) -> bool:
        return kind in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


class _Versions(Mapping[str, str]):
    def __getitem__(self, kind: str) -> str:
        return str(KINDS[kind].model_fields["api_version"].default)

    def __contains__(self, kind: object) -> bool:
        return kind in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


KINDS: Mapping[str, type[Resource]] = _Kinds()
"""The resource class of each kind."""

API_VERSIONS: Mapping[str, str] = _Versions()
"""The apiVersion that a document of each kind names."""
